-- Purpose: stores cookies from responses for all workers, unless another worker has changed the stored
--   cookies since the caller read them.
-- KEYS[1]: a site's log-ins.
-- ARGV: account, version and revision that the caller knows, state (the cookies), ms for which the site's
--   log-ins are stored.
-- Returns: {1, revision} if the cookies were stored. {0, version, revision, state or ''} if another state is
--   stored. The caller must then add its cookies to the returned state.
-- Promise: changes by other workers are never lost. Cookies of an ended log-in are not stored.
-- Cost: O(1).
local key, name = KEYS[1], ARGV[1]
local f = redis.call('HMGET', key, 'v:' .. name, 'c:' .. name, 'j:' .. name)
if f[1] ~= ARGV[2] or f[2] ~= ARGV[3] or not f[3] then
    return {0, tonumber(f[1] or 0), tonumber(f[2] or 0), f[3] or ''}
end
redis.call('HSET', key, 'j:' .. name, ARGV[4])
redis.call('PEXPIRE', key, ARGV[5])
return {1, redis.call('HINCRBY', key, 'c:' .. name, 1)}
