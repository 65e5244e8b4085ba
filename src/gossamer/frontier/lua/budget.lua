-- Purpose: how many pages a discovered host may have; put before links.
-- Promise: what hosts of little standing get together are shares of the whole crawl, however many buckets the store has.
-- Cost: 2 us a group of links to a discovered host.

-- Pages a discovered host may still have: its budget grows with the domains in good standing that link to it. One link alone
-- may be spam: such a host has 5 pages and a thousandth of what the crawl has fetched, and beyond them all such hosts share 50
-- pages and a hundredth. Hosts that nobody vouches for share a hundredth, for each costs its robots.txt, too.
-- cap < 0: -cap for everybody. Returns the room, and the count of the crawl that what is taken goes to.
local elsewhere = {0, 0, 0} -- pages, strangers, singles of the other buckets (shares.py)
local pools = {strangers = 0, singles = 0} -- what this add took of the shares
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
  if n == 0 then return 5 + math.floor(pages / 100) - c[2], 'strangers' end
  local own, shared = 5 + math.floor(pages / 1000) - used, 50 + math.floor(pages / 100) - c[3]
  return math.min(math.max(own, 0) + math.max(shared, 0), math.ceil(cap * 0.02) - used), 'singles'
end
