-- Purpose: hand out URLs of hosts whose time has come, under a lease.
-- KEYS[1]: bucket tag.
-- ARGV: crawl, lane, k, lease ms, fixed delay ms (-1: the host's own), delay ms of an unknown host, at once a host,
--   obey robots (1|0), page limit (-1), byte limit (-1), requests a second of the crawl (0: no cap), width of a gate.
-- Returns: {now, ms when the next host is ready or -1, limit reached (pages|bytes|''), then flat claims:
--   token, host, level, kind (page|gate|robots), robots version (robots: tries so far), pace, delay ms, crawl-delay ms,
--   operator's delay ms or -1, vouchers, entry}.
-- Promise: at most `at once` claims of a host are out; while one of one is out the host has no next start; a host whose
--   robots.txt is unknown or old is claimed for robots.txt alone; every 8th claim comes from the lowest level.
-- Cost: reads ready hosts only: O(log hosts + k); about 15 us a claim.
local lane, k, lease, fixed, default = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6]
local per_host, obey, rate, gate = tonumber(ARGV[7]), ARGV[8] == '1', tonumber(ARGV[11]), tonumber(ARGV[12])
local heap, out, tat = C .. 'r:' .. lane, {now, -1, ''}, nil

local counts = call('HMGET', C .. 'n', 'pages', 'bytes', 'tat')
local left, size = tonumber(ARGV[9]), tonumber(ARGV[10])
if left >= 0 then
  left = left - num(counts[1], 0)
  if left <= 0 then out[3] = 'pages' end
  k = math.min(k, left - call('ZCARD', C .. 'l')) -- a claim that is out may become a page
end
if size >= 0 and num(counts[2], 0) >= size then out[3], k = 'bytes', 0 end
if rate > 0 then -- a tenth of a second of the cap may come at once
  tat = math.max(num(counts[3], 0), now - 100)
  k = math.min(k, math.floor((now - tat) * rate / 1000 + 1e-9))
  if k <= 0 then out[2] = math.ceil(tat + 1000 / rate) end
end
if k <= 0 then return out end

local function grant(host, hv, delay, got, kind, version)
  local token = call('HINCRBY', C .. 'n', 'token', 1)
  call('ZADD', C .. 'l', now + lease, token)
  call('HSET', C .. 'lp', token, table.concat({host, got[1], kind, hv[3] or 0, now + delay, got[2]}, '\t'))
  for _, x in ipairs({token, host, got[1], kind, version, hv[5] or '', delay, obey and hv[8] or 0, hv[7] or -1,
    got.v or '', got[2]}) do out[#out + 1] = x end
end

local function visit(host, hk, hv, free, share)
  local rules = {h = {hv[10], num(hv[11], 0)}, s = {hv[12], num(hv[13], 0)}} -- scheme -> version, expiry
  local delay = num(hv[7], fixed >= 0 and fixed or num(hv[6], default))
  if obey then delay = math.max(delay, num(hv[8], 0)) end
  promote(host)
  local turn, out_now, robots = num(hv[14], 0), 0, nil
  local got = pop(host, delay == 0 and math.min(free, share) or hv[15] and gate or 1, turn)
  for j = #got, 1, -1 do
    local scheme = string.sub(got[j][2], 1, 1)
    if obey and rules[scheme][2] <= now then
      robots = {got[j][1], string.sub(got[j][2], 1, 3)}
      enqueue(host, got[j][1], {table.remove(got, j)[2]}, true)
    end
  end
  local kind = delay > 0 and #got > 1 and 'gate' or 'page'
  for _, one in ipairs(got) do
    one.v = call('HGET', C .. 'h:' .. host, 'v')
    grant(host, hv, delay, one, kind, obey and rules[string.sub(one[2], 1, 1)][1] or 0)
    out_now = out_now + 1
  end
  if robots and out_now == 0 then
    grant(host, hv, delay, robots, 'robots', call('HGET', hk, 'a' .. string.sub(robots[2], 1, 1)) or 0)
    call('HSET', hk, 'rb', num(call('HGET', C .. 'n', 'token'), 0))
    out_now = 1
  end
  if out_now > 0 then
    call('HSET', hk, 'i', num(hv[1], 0) + out_now, 'n', now + delay, 'k', (turn + out_now) % 8, 'M', per_host)
    call('PEXPIRE', hk, 172800000)
  end
  arm(host)
  return out_now
end

local hosts, claimed = call('ZRANGE', heap, '-inf', now, 'BYSCORE', 'LIMIT', 0, k), 0
local share = math.ceil(k / math.max(1, #hosts))
for _, host in ipairs(hosts) do
  local hk = T .. 'h:' .. host
  local hv = call('HMGET', hk, 'i', 'm', 'n', 'p', 'c', 'd', 'D', 'cd', 'rb', 'vh', 'eh', 'vs', 'es', 'k', 'z')
  local free, at = num(hv[2], per_host) - num(hv[1], 0), math.max(num(hv[3], 0), num(hv[4], 0))
  if claimed >= k then break end
  if hv[9] or free <= 0 or at > now then arm(host)
  else claimed = claimed + visit(host, hk, hv, free, math.min(share, k - claimed)) end
end
if rate > 0 then call('HSET', C .. 'n', 'tat', tat + claimed * 1000 / rate) end
out[2] = tonumber(call('ZRANGE', heap, 0, 0, 'WITHSCORES')[2] or -1)
return out
