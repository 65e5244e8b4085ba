-- Purpose: computes how many claims the limits of the crawl permit. Used by claim.
-- Promise: the page limit is exact with any number of workers, because each open claim counts as a page. Once
--   the crawl has reached the byte limit, no claims are permitted. The rate cap permits as many requests at
--   once as it allows in a tenth of a second, but at least one.
-- Returns: the number of permitted claims, the reached limit ('': none), the theoretical arrival time (TAT)
--   of the rate cap, and the ms to wait for the rate cap or -1.
local function allowance(k, pages, bytes, rate)
  local counts = call('HMGET', C .. 'n', 'pages', 'bytes', 'tat')
  local reached = ''
  if pages >= 0 then
    pages = pages - num(counts[1], 0)
    if pages <= 0 then reached = 'pages' end
    k = math.min(k, pages - call('ZCARD', C .. 'l'))
  end
  if bytes >= 0 and num(counts[2], 0) >= bytes then reached, k = 'bytes', 0 end
  if rate <= 0 then return k, reached, nil, -1 end
  local tat = math.max(num(counts[3], 0), now - math.max(100, 1000 / rate))
  k = math.min(k, math.floor((now - tat) * rate / 1000 + 1e-3))
  return k, reached, tat, k <= 0 and math.ceil(tat + 1000 / rate) or -1
end
