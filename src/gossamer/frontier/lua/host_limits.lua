-- Purpose: what one host may have of a crawl, bytes and time; used by claim, put after the queue.
-- Promise: no claim of a host once its bytes are reached, or its time is over, whoever asks. What waits of it is parked, also what waits
--   for its retry, and counted as skip `budget`; `regain` takes it back.
-- Cost: nothing where there are no such limits; else 1 us a host, and 1.5 us a URL that is parked, at most 500 a call.

-- limits: `BYTES MS IDLE`, -1: no limit; IDLE: ms that the crawl was not at work since it began. What a host had is in `B` and `F`.
local most, longest, idle = string.match(ARGV[13], '^(%-?%d+) (%-?%d+) (%d+)$')
most, longest, idle = num(most, -1), num(longest, -1), num(idle, 0)

local function enough(host)
  if most < 0 and longest < 0 then return false end
  local v = call('HMGET', C .. 'h:' .. host, 'B', 'F')
  return most >= 0 and num(v[1], 0) >= most or longest >= 0 and now - idle - num(v[2], now - idle) >= longest
end

-- Its time begins with the first claim.
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
