-- Purpose: decides which proxy a session uses. The proposal of the first caller applies to all workers until
--   the session ends.
-- KEYS[1]: the session.
-- ARGV: the proxy that the caller proposes, the proxy to replace ('': none), length of the session in ms.
-- Returns: the proxy that the session uses.
-- Promise: all callers get the same proxy until the session ends or a caller names this proxy as the proxy to
--   replace.
-- Cost: O(1).
local now = redis.call('GET', KEYS[1])
if now and now ~= ARGV[2] then return now end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
return ARGV[1]
