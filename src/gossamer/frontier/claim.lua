-- Purpose: hand out URLs of hosts whose time has come, under a lease.
-- KEYS[1]: bucket tag.
-- ARGV: crawl, lane, k, lease ms, fixed delay ms (-1: the host's own), delay ms of an unknown host, at once a host,
--   obey robots (1|0), page limit (-1), byte limit (-1), requests a second of the crawl (0: no cap), width of a gate,
--   run id of the server ('': it has never changed).
-- Returns: {now, ms when the next host is ready or -1, limit reached (pages|bytes|''), then flat claims:
--   token, host, level, kind (page|gate|robots), robots version (robots: tries so far), pace, delay ms, crawl-delay ms,
--   operator's delay ms or -1, vouchers, entry}.
-- Promise: at most `at once` claims of a host are out; while one of one is out the host has no next start; a host whose robots.txt is
--   unknown or old is claimed for robots.txt alone; every 8th claim comes from the lowest level; change.lua.
-- Cost: reads ready hosts only: O(log hosts + k); about 15 us a claim.
local lane, k, lease, fixed, default = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6]
local per_host, obey, rate, gate = tonumber(ARGV[7]), ARGV[8] == '1', tonumber(ARGV[11]), tonumber(ARGV[12])
local heap, out = C .. 'r:' .. lane, {now, -1, ''}
local tat
k, out[3], tat, out[2] = allowance(k, tonumber(ARGV[9]), tonumber(ARGV[10]), rate)
if k <= 0 then return out end

local function grant(host, hv, delay, got, kind, versions)
  local n1, vouchers = now + delay, call('HGET', C .. 'h:' .. host, 'v') or ''
  local last, leases, records = math.max(num(call('HGET', C .. 'n', 'token'), 0), now * 1000) + #got, {}, {}
  call('HSET', C .. 'n', 'token', string.format('%.0f', last))
  for j, one in ipairs(got) do
    local token = last - #got + j; leases[2 * j - 1], leases[2 * j] = now + lease, token
    records[2 * j - 1], records[2 * j] = token, table.concat({host, one[1], kind, hv[3] or 0, n1, one[2]}, '\t')
    for _, x in ipairs({token, host, one[1], kind, versions[string.lower(string.sub(one[2], 1, 1))], hv[5] or '', delay, obey and hv[8] or 0,
      hv[7] or -1, vouchers, one[2]}) do out[#out + 1] = x end
  end
  call('ZADD', C .. 'l', unpack(leases))
  call('HSET', C .. 'lp', unpack(records))
  return last
end

local function visit(host, hk, hv, free, share)
  local expiry = {h = num(hv[11], 0), s = num(hv[13], 0)}
  local delay = num(hv[7], fixed >= 0 and fixed or num(hv[6], default))
  if obey then delay = math.max(delay, num(hv[8], 0)) end
  if held(host, delay) then return 0 end
  promote(host)
  local turn, robots = num(hv[14], 0), nil
  local got = pop(host, delay == 0 and math.min(free, share) or hv[15] and gate or 1, turn)
  for j = obey and #got or 0, 1, -1 do
    if expiry[string.lower(string.sub(got[j][2], 1, 1))] <= now then
      robots = {got[j][1], string.lower(string.sub(got[j][2], 1, 1)) .. string.sub(got[j][2], 2, 3)}
      enqueue(host, robots[1], {table.remove(got, j)[2]}, true)
    end
  end
  local s, n = slot(host), #got
  if n > 0 then
    grant(host, hv, delay, got, delay > 0 and n > 1 and 'gate' or 'page', obey and {h = hv[10], s = hv[12]} or {h = 0, s = 0})
  elseif robots then
    local tries = call('HGET', hk, 'a' .. string.sub(robots[2], 1, 1)) or 0
    s.rb = grant(host, hv, delay, {robots}, 'robots', {h = tries, s = tries})
    call('HSET', hk, 'rb', s.rb)
    n = 1
  end
  if n > 0 then
    s.i, s.n = s.i + n, now + delay
    call('HSET', hk, 'k', (turn + n) % 8, 'M', per_host)
    call('PEXPIRE', hk, 172800000)
  end
  arm(host, n > 0)
  return n
end

local hosts, claimed = call('ZRANGE', heap, '-inf', now, 'BYSCORE', 'LIMIT', 0, k), 0
local share = math.ceil(k / math.max(1, #hosts))
if #hosts > 0 then look_for_change(ARGV[13]) end
for _, host in ipairs(hosts) do
  local hk = T .. 'h:' .. host
  local hv = call('HMGET', hk, 'i', 'm', 'n', 'p', 'c', 'd', 'D', 'cd', 'rb', 'vh', 'eh', 'vs', 'es', 'k', 'z', 'w')
  local s = {i = num(hv[1], 0), m = num(hv[2], per_host), n = num(hv[3], 0), p = num(hv[4], 0), rb = hv[9], w = num(hv[16], 0)}
  slots[host] = s
  if claimed >= k then break end
  if s.rb or s.i >= s.m or math.max(s.n, s.p, s.w) > now then arm(host)
  else claimed = claimed + visit(host, hk, hv, s.m - s.i, math.min(share, k - claimed)) end
end
if rate > 0 then call('HSET', C .. 'n', 'tat', tat + claimed * 1000 / rate) end
out[2] = tonumber(call('ZRANGE', heap, 0, 0, 'WITHSCORES')[2] or -1)
return out
