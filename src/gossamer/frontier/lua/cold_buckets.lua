-- Purpose: finds the buckets of one server that have URLs in the cold store, or entries in the outbox of the
--   cold store.
-- KEYS[1]: tag of one bucket of the server (selects the server).
-- ARGV: crawl, then the tags of the buckets.
-- Returns: four values for each bucket found: its position in the list (from 0), the number of entries in its
--   outbox, the number of hosts marked for refill, and the number of cold URLs.
-- Promise: changes nothing.
-- Cost: 1 us per bucket. One call of the script replaces three calls per bucket.
local out = {}
for j = 2, #ARGV do
  local crawl = ARGV[j] .. ARGV[1] .. ':'
  local entries, wanted, cold = call('LLEN', crawl .. 'o'), call('SCARD', crawl .. 'rf'), num(call('HGET', crawl .. 'g', 'out'), 0)
  if entries + wanted + cold > 0 then
    for _, n in ipairs({j - 2, entries, wanted, cold}) do out[#out + 1] = n end
  end
end
return out
