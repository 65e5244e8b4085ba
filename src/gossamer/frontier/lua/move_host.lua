-- Purpose: moves a host of a crawl to the workers of another lane (for example, workers with browsers), or to
--   the workers that have the files of the host's sites.
-- KEYS[1]: bucket tag.
-- ARGV: crawl, host, then the new lane, or `+SITE+SITE` to require workers that have the files of these sites
--   (the lane stays).
-- Returns: 1 if the host moved, else 0.
-- Promise: the host keeps its region and, if it moves to another lane, its required sites. The host moves at
--   the next call of `arm` for the host, and may be claimed once more from its old heap until then.
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
