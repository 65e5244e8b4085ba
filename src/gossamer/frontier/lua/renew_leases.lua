-- Purpose: renews the leases of all claims of a worker in one call.
-- KEYS[1]: bucket tag.
-- ARGV: crawl, length of a lease in ms, token...
-- Returns: the tokens that are no longer leased. The worker must discard its work on the claims with these
--   tokens.
-- Promise: the lease of a requeued or settled claim is never renewed.
-- Cost: 1 us per token.
local lost = {}
for j = 3, #ARGV do
  if call('ZSCORE', C .. 'l', ARGV[j]) then
    call('ZADD', C .. 'l', 'XX', now + ARGV[2], ARGV[j])
  else
    lost[#lost + 1] = ARGV[j]
  end
end
return lost
