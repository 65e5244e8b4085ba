-- Purpose: finds the buckets of one server in which hosts may start or leases expire.
-- KEYS[1]: tag of one bucket of the server (selects the server).
-- ARGV: crawl, the heaps that the worker serves (ready_heaps.lua) or `l` for leases, then the tags of the
--   buckets.
-- Returns: {now, then three values for each bucket that has waiting hosts or leases}: the bucket's position
--   in the list (from 0), the ms when its first host or lease is due, and the rank (host_order.lua) of the
--   host that a claim then gets first (0 for leases).
-- Promise: changes nothing.
-- Cost: 1.2 us per bucket and set, in one call instead of one per bucket.
local out = {now}
for j = 3, #ARGV do
  C = ARGV[j] .. ARGV[1] .. ':'
  local at, rank = nil, 0
  if ARGV[2] == 'l' then
    at = tonumber(call('ZRANGE', C .. 'l', 0, 0, 'WITHSCORES')[2])
  else
    look()
    at, rank = next_start()
  end
  if at and at >= 0 then
    for _, x in ipairs({j - 3, at, rank}) do out[#out + 1] = x end
  end
end
return out
