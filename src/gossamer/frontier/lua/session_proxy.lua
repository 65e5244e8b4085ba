-- Purpose: decides which proxy a session uses. The first worker that calls this decides for all workers,
--   until the session ends.
-- KEYS[1]: the session.
-- ARGV: the proxy that the caller proposes, the proxy to replace ('': none), length of the session in ms.
-- Returns: the proxy that the session uses.
-- Promise: all callers get the same answer until the session ends or a caller replaces exactly this proxy.
-- Cost: O(1).
local now = redis.call('GET', KEYS[1])
if now and now ~= ARGV[2] then return now end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
return ARGV[1]
