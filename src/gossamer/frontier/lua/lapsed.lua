-- Purpose: find the other crawls of a server's buckets whose leases ran out long ago: nobody runs those crawls.
-- KEYS[1]: tag of one bucket of the server (it says where to go).
-- ARGV: crawl (our own, left out), ms that a lease must be over, then the tags of the buckets.
-- Returns: {for each bucket and crawl with one: the bucket's place in the list (0 is the first), the crawl}.
-- Promise: changes nothing.  Cost: 1.2 us a bucket and crawl.
local out = {}
for j = 3, #ARGV do
  for _, crawl in ipairs(call('SMEMBERS', ARGV[j] .. 'c')) do
    local at = crawl ~= ARGV[1] and tonumber(call('ZRANGE', ARGV[j] .. crawl .. ':l', 0, 0, 'WITHSCORES')[2])
    if at and at < now - ARGV[2] then out[#out + 1] = j - 3; out[#out + 1] = crawl end
  end
end
return out
