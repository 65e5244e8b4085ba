-- Purpose: a host of a crawl waits for workers of another lane from now on (those with a browser, or its usual ones again).
-- KEYS[1]: bucket tag.  ARGV: crawl, host, lane.
-- Returns: 1 when it was another lane, else 0.
-- Promise: its region stays; where it stands it may be claimed once more, and moves when it is armed.  Cost: 3 us.
local hk = C .. 'h:' .. ARGV[2]
local own = call('HGET', hk, 'y') or 'http'
local name = (string.gsub(own, '^[^@?]*', ARGV[3]))
if name == own then return 0 end
call('HSETNX', hk, 'Y', (string.gsub(own, '%?$', '')))
call('HSET', hk, 'y', name)
call('SADD', C .. 'hs', (string.gsub(name, '%?$', '')))
return 1
