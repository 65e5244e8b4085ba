-- Purpose: claims URLs of hosts that may start now, and grants a lease on each.
-- KEYS[1]: bucket tag.
-- ARGV:
--   - crawl,
--   - heaps that the worker serves (ready_heaps.lua),
--   - k: the maximum number of claims,
--   - length of a lease in ms,
--   - delay of all hosts in ms (-1: each host has its own delay), delay of a host without a learned delay in
--     ms,
--   - maximum number of claims per host at once,
--   - whether robots.txt is obeyed (1|0),
--   - page limit of the crawl (-1: none), byte limit (-1: none), rate cap in requests per second (0: none),
--   - width of a gate (the claim of several URLs of a host, if many of these URLs may end without a request):
--     the maximum number of URLs,
--   - limits of a host (host_limits.lua),
--   - order of the hosts (`TURN FLOOR`, see `ready` in claim_order.lua),
--   - any number of finished requests (ended_requests.lua). The hosts of these requests may be claimed in the
--     same call,
--   - run ID of the server ('': the server never changes). The connection sets this argument, so it must be
--     the last.
-- Returns: {now, ms when the next host is ready or -1, limit reached (pages|bytes|''), rank of that host
--   (host_order.lua), then claims}. A claim contains these values:
--   - token, host, level,
--   - kind (page|gate|robots),
--   - version of the host's robots rules (if the kind is robots: number of earlier tries),
--   - pace, delay in ms, Crawl-delay in ms, the delay that the operator set in ms or -1,
--   - number of the host's vouchers (page_budget.lua),
--   - failures of the host: '', or four values with commas between them: ms since the first fault (0: breaker
--     closed), share of failed visits in thousandths, `!` if the host is hard, reason if the host was given
--     up,
--   - queue entry.
-- Promise: a host never has more open claims than its maximum. A host with the maximum number of claims is in
--   no ready heap. If the robots.txt of an origin is unknown or expired, only robots.txt is claimed. Every
--   16th claim of a host comes from its lowest level. After the bucket's server has changed, failover.lua
--   delays the hosts. Hosts are claimed in the order of claim_order.lua.
-- Cost: O(log hosts + k), because the script reads only hosts that may start now. About 15 us per claim.
local k, fixed, default = tonumber(ARGV[3]), tonumber(ARGV[5]), ARGV[6]
local per_host, obey, rate, gate = tonumber(ARGV[7]), ARGV[8] == '1', tonumber(ARGV[11]), tonumber(ARGV[12])
local out, tat = {now, -1, '', 0}, nil
land(15, #ARGV - 1)
k, out[3], tat, out[2] = allowance(k, tonumber(ARGV[9]), tonumber(ARGV[10]), rate)
if k <= 0 then return out end

local function visit(host, hk, hv, free, share)
  local expiry = {h = num(hv[11], 0), s = num(hv[13], 0)}
  local delay = num(hv[7], fixed >= 0 and fixed or num(hv[6], default))
  if obey then delay = math.max(delay, num(hv[8], 0)) end
  if held(host, delay) then return 0 end
  if enough(host) then park(host); return 0 end
  promote(host)
  local turn, robots, s = num(hv[14], 0), nil, slot(host)
  local gone, own = given_up(s.t), call('HMGET', C .. 'h:' .. host, 'v', 'y')
  local got = pop(host, gone and gate or delay == 0 and math.min(free, share) or hv[15] and gate or 1, turn)
  local popped = #got
  got = ours(host, own[2], got)
  for j = obey and not gone and #got or 0, 1, -1 do
    if expiry[string.lower(string.sub(got[j][2], 1, 1))] <= now then
      robots = {got[j][1], string.lower(string.sub(got[j][2], 1, 1)) .. string.sub(got[j][2], 2, 3)}
      enqueue(host, robots[1], {table.remove(got, j)[2]}, true)
    end
  end
  local n = #got
  if n > 0 then
    local versions = obey and {h = hv[10] or 0, s = hv[12] or 0} or {h = 0, s = 0}
    grant(out, host, hv, delay, got, n > 1 and (gone or delay > 0) and 'gate' or 'page', versions, own[1])
  elseif robots then
    local tries = call('HGET', hk, 'a' .. string.sub(robots[2], 1, 1)) or 0
    s.rb = grant(out, host, hv, delay, {robots}, 'robots', {h = tries, s = tries}, own[1])
    call('HSET', hk, 'rb', s.rb)
    n = 1
  end
  if n > 0 then
    s.i, s.n = s.i + n, now + delay
    call('HSET', hk, 'k', (turn + n) % 16, 'M', per_host)
    -- `F`: the delay that applies after the operator's delay is removed
    if hv[7] then call('HSET', hk, 'F', fixed >= 0 and fixed or num(hv[6], default)) end
    if not (hv[2] or hv[7]) then call('PEXPIRE', hk, 172800000) end
    begun(host)
  elseif popped > 0 then
    -- These entries are for other workers. The next turn may read another level, with entries for this
    -- worker.
    call('HSET', hk, 'k', (turn + 1) % 16)
  end
  return n
end

local hosts, from, ranks = ready(k, ARGV[14])
local share, claimed = math.ceil(k / math.max(1, #hosts)), 0
if #hosts > 0 then look_for_change(ARGV[#ARGV]) end
gather_places()
for j, host in ipairs(hosts) do
  if claimed >= k then break end
  local hk = T .. 'h:' .. host
  local hv = call('HMGET', hk, 'i', 'm', 'n', 'p', 'c', 'd', 'D', 'cd', 'rb', 'vh', 'eh', 'vs', 'es', 'k', 'z', 'w', 'b')
  local s = slot(host, {hv[1], hv[2], hv[3], hv[4], hv[9], per_host, hv[16], hv[17], hv[7], hv[8]})
  local n, most = 0, probed(s.t) and 1 or s.m
  if not (s.rb or s.i >= most or math.max(s.n, s.p, s.w) > now or open(s.t)) then
    n = visit(host, hk, hv, most - s.i, math.min(ranks and share_of(host, most - s.i, ranks, j, share) or share, k - claimed))
  end
  local heap = arm(host, n > 0)
  if heap and heap ~= from[j] then remove_host(C, from[j], host) end
  claimed = claimed + n
end
write_places()
if rate > 0 then call('HSET', C .. 'n', 'tat', tat + claimed * 1000 / rate) end
out[2], out[4] = next_start()
return out
