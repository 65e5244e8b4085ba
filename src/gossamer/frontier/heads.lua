-- Purpose: find the buckets of one server in which something comes due: hosts that may start (r:LANE), leases that run out (l).
-- KEYS[1]: tag of one bucket of the server (it says where to go).
-- ARGV: crawl, name of the sorted set after the crawl's, then the tags of the buckets.
-- Returns: {now, then for each bucket in which the set is there: its place in the list (0 is the first), its least score in ms}.
-- Promise: changes nothing.  Cost: 1.2 us a bucket, for one call instead of one a bucket.
local out = {now}
local name = ARGV[1] .. ':' .. ARGV[2]
for j = 3, #ARGV do
  local head = call('ZRANGE', ARGV[j] .. name, 0, 0, 'WITHSCORES')[2]
  if head then out[#out + 1] = j - 3; out[#out + 1] = tonumber(head) end
end
return out
