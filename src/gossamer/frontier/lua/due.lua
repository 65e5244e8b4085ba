-- Purpose: decide the due times of one schedule up to a moment: the runs they make, and what is let go.
-- KEYS[1]: bucket tag.
-- ARGV: '', token of the lead, schedule, its revision, its mark, the new mark, records kept, runs, (field, run)...,
--   ended, record..., (count, by)...
-- Returns: 1 done, 0 somebody changed the schedule or decided before us, -1 the lead is lost.
-- Promise: each due time is decided once, by whoever leads: the mark is compared and set in one step with the runs.
-- Cost: 5 us and 1 us a run.
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
