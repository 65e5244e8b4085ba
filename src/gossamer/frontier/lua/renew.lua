-- Purpose: keep the leases of all claims that a worker holds, in one call.
-- KEYS[1]: bucket tag.  ARGV: crawl, lease ms, token...
-- Returns: the tokens that are no longer leased (their work must be dropped).
-- Promise: an ended lease is never revived.  Cost: 1 us a token.
local lost = {}
for j = 3, #ARGV do
  if call('ZSCORE', C .. 'l', ARGV[j]) then
    call('ZADD', C .. 'l', 'XX', now + ARGV[2], ARGV[j])
  else
    lost[#lost + 1] = ARGV[j]
  end
end
return lost
