-- Purpose: stores the result of a claim that fetched robots.txt. The result is either the rules of the
--   origin, or the time until the next try if robots.txt could not be read.
-- KEYS[1]: bucket tag.
-- ARGV:
--   - crawl, token, scheme (h|s),
--   - version of the rules (-1: robots.txt is unreachable, so nothing may be fetched),
--   - ms for which the rules are valid (0: the rules are still unknown),
--   - Crawl-delay in ms (0: none), ms since the request began (-1: no request was made), delay in ms, pace,
--   - ms until the next try (only if the rules are still unknown),
--   - trimmed and compressed rules ('': unchanged),
--   - health code of the host and the reason for it (breaker.lua).
-- Returns: 1, or 0 if the token is stale.
-- Promise: all crawls and workers share the rules. No page of the origin is claimed until the rules of the
--   origin are known.
-- Cost: 15 us.
local record = call('HGET', C .. 'lp', ARGV[2])
if not record then return 0 end
local host, _, _, n0, n1 = parts(record)
call('HDEL', C .. 'lp', ARGV[2])
call('ZREM', C .. 'l', ARGV[2])
local hk, scheme, holds = T .. 'h:' .. host, ARGV[3], tonumber(ARGV[5])
call('HDEL', hk, 'rb')
if holds > 0 then
  call('HSET', hk, 'v' .. scheme, ARGV[4], 'e' .. scheme, now + holds, 'cd', ARGV[6])
  call('HDEL', hk, 'a' .. scheme, 'w')
  if ARGV[11] ~= '' then call('SET', T .. 'o:' .. scheme .. ':' .. host, ARGV[11], 'PX', 172800000) end
else
  if tonumber(ARGV[7]) >= 0 then call('HINCRBY', hk, 'a' .. scheme, 1) end
  call('HSET', hk, 'w', now + ARGV[10])
end
if ARGV[9] ~= '' then paced(host, ARGV[9], ARGV[8]) end
felt(slot(host), ARGV[12], ARGV[13])
release(host, n0, n1, tonumber(ARGV[7]), math.max(tonumber(ARGV[8]), tonumber(ARGV[6])), 0)
arm(host, true)
return 1
