-- Purpose: enforces limits on the bytes and the time of one host in a crawl. Used by claim. Must be loaded
--   after queue.lua.
-- Promise: no URL of a host is claimed after the host has reached its byte limit or time limit. The host's
--   queued URLs and retries are parked and counted as `skip:budget`. The script return_parked returns parked
--   URLs to the queue.
-- Cost: nothing if hosts have no limits. With limits, 1 us per host and 1.5 us per parked URL. A call parks
--   at most 500 URLs per host.

-- limits: `BYTES MS IDLE`; -1 means no limit. IDLE: the total ms during which the crawl was not running since
-- its start. Fields of the host hash: `B`: the bytes so far; `F`: ms of the first claim, minus IDLE at that
-- time.
local most, longest, idle = string.match(ARGV[13], '^(%-?%d+) (%-?%d+) (%d+)$')
most, longest, idle = num(most, -1), num(longest, -1), num(idle, 0)

local function enough(host)
  if most < 0 and longest < 0 then return false end
  local v = call('HMGET', C .. 'h:' .. host, 'B', 'F')
  return most >= 0 and num(v[1], 0) >= most or longest >= 0 and now - idle - num(v[2], now - idle) >= longest
end

-- Must be called at each claim. The time limit of a host counts from the host's first claim.
local function begun(host)
  if longest >= 0 then call('HSETNX', C .. 'h:' .. host, 'F', now - idle) end
end

local function park(host)
  local out, infra = {}, 0
  for j, member in ipairs(call('ZPOPMIN', C .. 't:' .. host, 250)) do
    if j % 2 == 1 then out[#out + 1] = member end
  end
  for _, one in ipairs(pop(host, 250, 0)) do out[#out + 1] = one[1] .. '\t' .. one[2] end
  for _, member in ipairs(out) do
    if infrastructure(string.match(member, '\t(.*)$')) then infra = infra + 1 end
  end
  if #out > 0 then call('RPUSH', C .. 'e:' .. host, unpack(out)) end
  count('open', -#out); count('infra', -infra); count('skip:budget', #out - infra)
end
