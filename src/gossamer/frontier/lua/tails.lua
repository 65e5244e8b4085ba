-- Purpose: find the buckets of one server in which the spiller has something to do, or URLs are cold.
-- KEYS[1]: tag of one bucket of the server (it says where to go).
-- ARGV: crawl, then the tags of the buckets.
-- Returns: for each such bucket: its place in the list (0 is the first), entries in its outbox, hosts that run low, cold URLs.
-- Promise: changes nothing.  Cost: 1 us a bucket, for one call instead of three a bucket.
local out = {}
for j = 2, #ARGV do
  local crawl = ARGV[j] .. ARGV[1] .. ':'
  local entries, wanted, cold = call('LLEN', crawl .. 'o'), call('SCARD', crawl .. 'rf'), num(call('HGET', crawl .. 'g', 'out'), 0)
  if entries + wanted + cold > 0 then
    for _, n in ipairs({j - 2, entries, wanted, cold}) do out[#out + 1] = n end
  end
end
return out
