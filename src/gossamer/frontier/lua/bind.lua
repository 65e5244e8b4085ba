-- Purpose: which proxy a session goes through: the first worker that asks decides, for all and for its whole length.
-- KEYS[1]: the session  ARGV: what is wanted, what is no longer wanted ('' for nothing), ms that the session lasts
-- Returns: what it goes through.
-- Promise: all get the same answer until it ends, or somebody says that just this one is no longer wanted.  Cost: O(1).
local now = redis.call('GET', KEYS[1])
if now and now ~= ARGV[2] then return now end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
return ARGV[1]
