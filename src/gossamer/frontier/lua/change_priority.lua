-- Purpose: changes the priority of queued URLs while the crawl runs.
-- KEYS[1]: bucket tag.
-- ARGV: crawl, host, old level, new level, entry...
-- Returns: the number of moved entries. Only entries that are still queued are moved.
-- Promise: no URL is lost or duplicated. URLs that were claimed before the call keep their priority.
-- Cost: O(length of the level) per entry.
local from, moved = C .. 'q:' .. ARGV[2] .. ':' .. ARGV[3], {}
for j = 5, #ARGV do
  if call('LREM', from, 1, ARGV[j]) == 1 then moved[#moved + 1] = ARGV[j] end
end
if #moved == 0 then return 0 end
local hk = C .. 'h:' .. ARGV[2]
call('HINCRBY', hk, 'q', -#moved)
if call('EXISTS', from) == 0 then without_level(ARGV[2], ARGV[3]) end
join(ARGV[2], ARGV[4], moved)
want(ARGV[2], ARGV[3], call('LLEN', from))
arm(ARGV[2])
return #moved
