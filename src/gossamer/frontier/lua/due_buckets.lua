-- Purpose: finds the buckets of one server in which hosts may start or leases expire.
-- KEYS[1]: tag of one bucket of the server (selects the server).
-- ARGV: crawl, heaps served (ready_heaps.lua) or `l` for leases, then the tags of the buckets.
-- Returns: {now, then for each bucket with waiting hosts or leases: its position in the list (from 0), time
--   in ms at which the first of them is due}.
-- Promise: changes nothing.
-- Cost: 1.2 us per bucket and set, in one call instead of one per bucket.
local out = {now}
for j = 3, #ARGV do
  C = ARGV[j] .. ARGV[1] .. ':'
  local at
  if ARGV[2] == 'l' then
    at = tonumber(call('ZRANGE', C .. 'l', 0, 0, 'WITHSCORES')[2])
  else
    look()
    at = next_start()
  end
  if at and at >= 0 then out[#out + 1] = j - 3; out[#out + 1] = at end
end
return out
