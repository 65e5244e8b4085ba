-- Purpose: adds, changes or removes a schedule while schedulers run.
-- KEYS[1]: bucket tag.
-- ARGV: '', put|drop, schedule, its record, which due times count (1: those from now on; 0: all since the
--   last handled due time).
-- Returns: 1 if a schedule of that name already existed.
-- Promise: the leader notices the change with its next heartbeat.
-- Cost: 5 us.
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
