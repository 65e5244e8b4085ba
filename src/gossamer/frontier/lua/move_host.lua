-- Purpose: moves a host of a crawl to other workers: to another lane (for example browsers, or back to the
--   usual lane), or to workers with the files of its sites.
-- KEYS[1]: bucket tag.
-- ARGV: crawl, host, and a lane, or `+SITE+SITE` to keep the lane and require workers with the files of these
--   sites.
-- Returns: 1 if the host moved, else 0.
-- Promise: the host keeps its region, and in another lane also its required sites. It may be claimed once
--   more from its old heap, and moves when it is armed next.
-- Cost: 3 us.
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
