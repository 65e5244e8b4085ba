-- Purpose: add, change or remove a schedule while schedulers run.
-- KEYS[1]: bucket tag.
-- ARGV: '', put|drop, schedule, its record, 1: its due times count from now on (0: from where they were decided to).
-- Returns: 1 when there was one of that name.
-- Promise: the leader hears of it within its next beat, by the number of the change.  Cost: 5 us.
local name = ARGV[3]
local sk = T .. '@schedule:' .. name
local was = call('EXISTS', sk)
local change = call('INCR', T .. '@changes')
if ARGV[2] == 'drop' then
  call('SREM', T .. '@schedules', name)
  call('UNLINK', sk, T .. '@open:' .. name, T .. '@runs:' .. name)
  return was
end
call('SADD', T .. '@schedules', name)
call('HSET', sk, 'spec', ARGV[4], 'rev', change)
if ARGV[5] == '1' or was == 0 then call('HSET', sk, 'mark', now) end
return was
