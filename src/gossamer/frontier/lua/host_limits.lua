-- Purpose: enforces limits on the bytes and the time of one host in a crawl. Used by claim, loaded after the
--   queue.
-- Promise: no URL of a host is claimed once its byte limit or its time limit is reached. Its queued URLs and
--   its retries are parked and counted as skip `budget`. `regain` returns them to the queue.
-- Cost: nothing if there are no such limits. Otherwise 1 us per host, and 1.5 us per parked URL, at most 500
--   per call.

-- limits: `BYTES MS IDLE`; -1 means no limit. IDLE: for how many ms since its start the crawl was not
-- running. `B` of the host hash contains the bytes so far, and `F` the time of the first claim.
local most, longest, idle = string.match(ARGV[13], '^(%-?%d+) (%-?%d+) (%d+)$')
most, longest, idle = num(most, -1), num(longest, -1), num(idle, 0)

local function enough(host)
  if most < 0 and longest < 0 then return false end
  local v = call('HMGET', C .. 'h:' .. host, 'B', 'F')
  return most >= 0 and num(v[1], 0) >= most or longest >= 0 and now - idle - num(v[2], now - idle) >= longest
end

-- Called at each claim. The first claim of a host starts its time.
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
