-- Purpose: decides how many pages a discovered host may have. Must be loaded before links.lua.
-- Promise: the hosts without enough vouchers together get a fixed share of the whole crawl's pages, which
--   does not depend on the number of buckets.
-- Cost: 2 us per group of links to a discovered host.

-- Returns how many more pages a discovered host may have. The budget grows with the number of vouchers. A
-- voucher is a domain in good standing that links to the host. A single link may be spam, so a host with one
-- voucher (a single) has 5 pages plus 0.1 % of the crawl's fetched pages. In addition, all singles share 25
-- pages plus 1 % of the fetched pages. All hosts without a voucher (strangers) share 5 pages plus 0.5 % of
-- the fetched pages, because each stranger also costs a robots.txt request. A negative cap gives every host
-- the same budget of -cap pages. The second result is the name of the count to which the pages are charged.
local elsewhere = {0, 0, 0} -- pages of the other buckets: all, strangers', singles' (multi_bucket.py)
local pools = {strangers = 0, singles = 0} -- pages that this call charged to strangers and to singles
local function room(host, voucher, cap)
  local n, v = 0, call('HMGET', C .. 'h:' .. host, 'u', 'v')
  if voucher ~= '' and num(v[2], 0) < 10 and call('SADD', C .. 'v:' .. host, voucher) == 1 then
    v[2] = call('HINCRBY', C .. 'h:' .. host, 'v', 1)
  end
  n = num(v[2], 0)
  if cap < 0 then return -cap - num(v[1], 0) end
  if n > 1 then return math.ceil(cap * (n > 2 and 1 or 0.1)) - num(v[1], 0) end
  local c = call('HMGET', C .. 'n', 'pages', 'strangers', 'singles')
  for j = 1, 3 do c[j] = num(c[j], 0) + elsewhere[j] end
  local pages, used = c[1], num(v[1], 0)
  if n == 0 then return 5 + math.floor(pages / 200) - c[2], 'strangers' end
  local own, shared = 5 + math.floor(pages / 1000) - used, 25 + math.floor(pages / 100) - c[3]
  return math.min(math.max(own, 0) + math.max(shared, 0), math.ceil(cap * 0.02) - used), 'singles'
end
