-- Purpose: a host of a crawl waits for other workers from now on: those of another lane (with a browser, or its usual ones again), or
--   those that have the files of its sites.
-- KEYS[1]: bucket tag.  ARGV: crawl, host, lane, or `+SITE+SITE`: its own lane, set apart for those.
-- Returns: 1 when it waited elsewhere, else 0.
-- Promise: its region stays, in another lane what it is set apart for, too; where it stands it may be claimed
--   once more, and moves when it is armed.  Cost: 3 us.
local hk = C .. 'h:' .. ARGV[2]
local own = call('HGET', hk, 'y') or 'http'
local lane, sites = string.match(own, '^([^@?+]*)([^@?]*)')
if string.sub(ARGV[3], 1, 1) == '+' then sites = ARGV[3] else lane = ARGV[3] end
local name = lane .. sites .. string.match(own, '^[^@?]*(.*)$')
if name == own then return 0 end
call('HSETNX', hk, 'Y', (string.gsub(own, '%?$', '')))
call('HSET', hk, 'y', name)
call('SADD', C .. 'hs', (string.gsub(name, '%?$', '')))
return 1
