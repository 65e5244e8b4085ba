-- Purpose: decides how many pages a discovered host may have. Loaded before links.
-- Promise: the hosts without enough vouchers together get a fixed share of the whole crawl's pages, which
--   does not depend on the number of buckets.
-- Cost: 2 us per group of links to a discovered host.

-- Returns how many more pages a discovered host may have. The budget grows with the number of vouchers. A
-- voucher is a domain in good standing that links to the host. A single link may be spam, so a host with one
-- voucher (a single) has 5 pages plus a thousandth of the crawl's fetched pages. Beyond that, all singles
-- share 25 pages plus a hundredth of these pages. All hosts without a voucher (strangers) share only 5 pages
-- plus a two-hundredth of these pages, because each stranger also costs a robots.txt request. If the cap is
-- negative, every host may have -cap pages. Also returns the name of the crawl's count to which the pages are
-- charged.
local elsewhere = {0, 0, 0} -- pages, strangers' pages and singles' pages of the other buckets (multi_bucket.py)
local pools = {strangers = 0, singles = 0} -- pages that this call took from the shares
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
