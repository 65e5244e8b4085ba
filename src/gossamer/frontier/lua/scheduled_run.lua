-- Purpose: makes one step of a scheduled run. A step starts, takes over, confirms or ends the run.
-- KEYS[1]: bucket tag.
-- ARGV: '', token of the leader ('': a person started the run), schedule, field of the run, the record of the
--   run that the caller read ('': none), the new record, number of records of ended runs to keep (0: the run
--   continues; otherwise the run has ended), name of the count to increase at the end of a run.
-- Returns: 1 if the step was made; 0 if the run has changed or its schedule was removed; -1 if the caller is
--   no longer the leader.
-- Promise: only one leader takes a run over, and a former leader cannot overwrite the work of the new leader.
-- Cost: 5 us.
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
