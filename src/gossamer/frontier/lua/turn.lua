-- Purpose: one step of a run: it is taken in hand, confirmed, ended.
-- KEYS[1]: bucket tag.
-- ARGV: '', token of the lead ('': a person's own run), schedule, field, the run as it was ('': there is none), as it is now,
--   records kept (0: it goes on, else it ended), what is counted.
-- Returns: 1 done, 0 it is not as it was, or its schedule is gone, -1 the lead is lost.
-- Promise: a run is taken in hand by one leader, and a former one cannot write over what the new one did.  Cost: 5 us.
local token, name, field = ARGV[2], ARGV[3], ARGV[4]
if token ~= '' and string.match(call('GET', T .. '@leader') or '', '^%d+') ~= token then return -1 end
local sk, open = T .. '@schedule:' .. name, T .. '@open:' .. name
if call('EXISTS', sk) == 0 or (call('HGET', open, field) or '') ~= ARGV[5] then return 0 end
if ARGV[7] == '0' then
  call('HSET', open, field, ARGV[6])
else
  call('HDEL', open, field)
  call('LPUSH', T .. '@runs:' .. name, ARGV[6])
  call('LTRIM', T .. '@runs:' .. name, 0, ARGV[7] - 1)
  call('HINCRBY', sk, ARGV[8], 1)
end
if token == '' then call('INCR', T .. '@changes') end
return 1
