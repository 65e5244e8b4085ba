-- Purpose: records how the scheduler handles the due times of one schedule up to now, by beginning or
--   skipping runs.
-- KEYS[1]: bucket tag.
-- ARGV: '', token of the leader, schedule, its revision, its mark (the time up to which due times are
--   handled), the new mark, number of records to keep, number of runs that begin, (field, run) of each,
--   number of records of ended runs, these records, then (count, change) pairs.
-- Returns: 1 if the due times are recorded; 0 if the schedule was changed or another leader recorded them
--   first; -1 if the caller is no longer the leader.
-- Promise: each due time is handled once, because one atomic step checks the mark, moves the mark and stores
--   the runs.
-- Cost: 5 us plus 1 us per run.
local token, name = ARGV[2], ARGV[3]
if string.match(call('GET', T .. '@leader') or '', '^%d+') ~= token then return -1 end
local sk = T .. '@schedule:' .. name
local v = call('HMGET', sk, 'rev', 'mark')
if v[1] ~= ARGV[4] or v[2] ~= ARGV[5] then return 0 end
call('HSET', sk, 'mark', ARGV[6])
local j = 9
for _ = 1, tonumber(ARGV[8]) do
  call('HSETNX', T .. '@open:' .. name, ARGV[j], ARGV[j + 1])
  j = j + 2
end
local ended = tonumber(ARGV[j])
for k = 1, ended do call('LPUSH', T .. '@runs:' .. name, ARGV[j + k]) end
if ended > 0 then call('LTRIM', T .. '@runs:' .. name, 0, ARGV[7] - 1) end
for k = j + ended + 1, #ARGV, 2 do call('HINCRBY', sk, ARGV[k], ARGV[k + 1]) end
return 1
