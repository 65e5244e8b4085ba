-- Purpose: cookies that answers set: kept for all workers, unless others changed them meanwhile.
-- KEYS[1]: a site's log-ins  ARGV: account, version, revision that the caller knows, state, ms that all is kept
-- Returns: {1, revision} | {0, version, revision, state or ''}: another one is kept, put yours over it.
-- Promise: no change of another worker is lost, none of a log-in that is over is kept.  Cost: O(1).
local key, name = KEYS[1], ARGV[1]
local f = redis.call('HMGET', key, 'v:' .. name, 'c:' .. name, 'j:' .. name)
if f[1] ~= ARGV[2] or f[2] ~= ARGV[3] or not f[3] then
    return {0, tonumber(f[1] or 0), tonumber(f[2] or 0), f[3] or ''}
end
redis.call('HSET', key, 'j:' .. name, ARGV[4])
redis.call('PEXPIRE', key, ARGV[5])
return {1, redis.call('HINCRBY', key, 'c:' .. name, 1)}
