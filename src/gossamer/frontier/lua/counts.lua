-- Purpose: reads counts of a crawl in many buckets of one server.
-- KEYS[1]: tag of one bucket of the server (selects the server).
-- ARGV: crawl, n, n names of counts, then the tags of the buckets. The last name may be `leases` (number of
--   open claims) or `producers` (number of active producers).
-- Returns: the n counts of each bucket, in the order of the buckets. A missing count is 0.
-- Promise: changes nothing. All counts of one server are from the same moment.
-- Cost: 1 us per bucket.
local out, fields, n = {}, {}, tonumber(ARGV[2])
local last = ARGV[2 + n]
local own = last == 'leases' or last == 'producers'
for j = 3, 2 + n - (own and 1 or 0) do fields[#fields + 1] = ARGV[j] end
for j = 3 + n, #ARGV do
  local key = ARGV[j] .. ARGV[1]
  for _, value in ipairs(call('HMGET', key .. ':n', unpack(fields))) do out[#out + 1] = num(value, 0) end
  if last == 'leases' then out[#out + 1] = call('ZCARD', key .. ':l') end
  if last == 'producers' then out[#out + 1] = call('ZCOUNT', key .. ':pl', now, '+inf') end
end
return out
