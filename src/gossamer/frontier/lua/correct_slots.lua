-- Purpose: corrects the slots of hosts that no lease holds, and the sizes of their queues.
-- KEYS[1]: bucket tag.
-- ARGV: '', `correct` (1: corrects, 0: only looks), hosts of the bucket.
-- Returns: for each host that is wrong: host, requests in flight, leases, 1 if a lease for robots.txt is
--   missing, crawls whose number of queued URLs is wrong.
-- Promise: every script changes leases, slots and queues together, so a host that is wrong stays wrong until
--   it is corrected here.
-- Cost: 2 us per host, plus 1 us per lease of the bucket.
local names, leased, robots = call('SMEMBERS', T .. 'c'), {}, {}
for _, name in ipairs(names) do
  local records = call('HGETALL', T .. name .. ':lp')
  for j = 1, #records, 2 do
    local host, _, kind = parts(records[j + 1])
    if kind ~= 'landed' then leased[host] = (leased[host] or 0) + 1 end
    if kind == 'robots' then robots[host] = true end
  end
end

-- Returns how many crawls have a wrong number of queued URLs of the host.
local function check_queues(host, correct)
  local wrong = 0
  for _, name in ipairs(names) do
    local hk = T .. name .. ':h:' .. host
    local v, queued = call('HMGET', hk, 'q', 'L'), 0
    for level in string.gmatch(v[2] or '', '[^,]+') do
      queued = queued + call('LLEN', T .. name .. ':q:' .. host .. ':' .. level)
    end
    if queued ~= num(v[1], 0) then
      wrong = wrong + 1
      if correct then call('HSET', hk, 'q', queued) end
    end
  end
  return wrong
end

local out, correct = {}, ARGV[2] == '1'
for j = 3, #ARGV do
  local host = ARGV[j]
  local s = slot(host)
  local held = leased[host] or 0
  local alone, queues = s.rb and not robots[host], check_queues(host, correct)
  if s.i ~= held or alone or queues > 0 then
    for _, x in ipairs({host, s.i, held, alone and 1 or 0, queues}) do out[#out + 1] = x end
    if correct then
      if alone then call('HDEL', T .. 'h:' .. host, 'rb'); s.rb = nil end
      s.i = held
      arm(host, true)
    end
  end
end
return out
