-- Purpose: finds the buckets of one server in which hosts may start or leases expire.
-- KEYS[1]: tag of one bucket of the server (selects the server).
-- ARGV: crawl, heaps that the worker serves (ready_heaps.lua) or `l` (leases), then the tags of the buckets.
-- Returns: {now, then three values for each bucket with waiting hosts (`l`: with leases)}. The values are the
--   bucket's position in the list (from 0), the ms when the first host may start (`l`: when the first lease
--   expires), and the rank (host_order.lua) of the host that is claimed first at that time (`l`: 0).
-- Promise: changes nothing.
-- Cost: 1.2 us per bucket and heap. One call of the script replaces one call per bucket.
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
