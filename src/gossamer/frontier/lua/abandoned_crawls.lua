-- Purpose: finds abandoned crawls in the buckets of one server. A crawl is abandoned if one of its leases
--   expired long ago, because no process runs the crawl any more.
-- KEYS[1]: tag of one bucket of the server (selects the server).
-- ARGV: the caller's own crawl (never returned), the minimum ms since a lease expired, then the tags of the
--   buckets.
-- Returns: two values for each bucket and abandoned crawl: the bucket's position in the list (from 0), and
--   the crawl.
-- Promise: changes nothing.
-- Cost: 1.2 us per bucket and crawl.
local out = {}
for j = 3, #ARGV do
  for _, crawl in ipairs(call('SMEMBERS', ARGV[j] .. 'c')) do
    local at = crawl ~= ARGV[1] and tonumber(call('ZRANGE', ARGV[j] .. crawl .. ':l', 0, 0, 'WITHSCORES')[2])
    if at and at < now - ARGV[2] then out[#out + 1] = j - 3; out[#out + 1] = crawl end
  end
end
return out
