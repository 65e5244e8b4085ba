-- Purpose: records the state of a log-in attempt: the attempt continues (`renew`), succeeded (`in`), failed
--   temporarily (`again`), or was rejected by the site (`out`).
-- KEYS[1]: a site's log-ins.
-- ARGV: account, the caller's token, state of the attempt (renew|in|again|out), then for
--   - `renew`: ms within which the attempt must be finished,
--   - `in`: cookies, fingerprint of the credentials, ms for which the site's log-ins are stored,
--   - `again`: length of the first wait in ms (0: no wait), maximum length of a wait in ms,
--   - `out`: ms until the next try, fingerprint of the credentials, reason.
-- Returns: the new version of the log-in for `in`, otherwise 1. 0 if the caller no longer has the right to
--   log in.
-- Promise: a worker that no longer has the right to log in changes nothing.
-- Cost: O(1).
local key, name, what = KEYS[1], ARGV[1], ARGV[3]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local owner = string.match(redis.call('HGET', key, 'l:' .. name) or '', '^(%S+) ')
if owner ~= ARGV[2] then return 0 end
if what == 'renew' then
    redis.call('HSET', key, 'l:' .. name, owner .. ' ' .. now + tonumber(ARGV[4]))
    return 1
end
redis.call('HDEL', key, 'l:' .. name)
if what == 'in' then
    redis.call('HDEL', key, 'r:' .. name, 'w:' .. name, 'f:' .. name)
    redis.call('HSET', key, 'j:' .. name, ARGV[4], 'd:' .. name, ARGV[5], 'c:' .. name, 1, 't:' .. name, now)
    redis.call('PEXPIRE', key, ARGV[6])
    return redis.call('HINCRBY', key, 'v:' .. name, 1)
end
if what == 'again' and ARGV[4] == '0' then return 1 end
if what == 'again' then
    local failed = redis.call('HINCRBY', key, 'f:' .. name, 1)
    local wait = math.min(tonumber(ARGV[4]) * 2 ^ math.min(failed - 1, 20), tonumber(ARGV[5]))
    redis.call('HSET', key, 'w:' .. name, string.format('%.0f', now + wait))
else
    redis.call('HSET', key, 'r:' .. name, now + tonumber(ARGV[4]) .. ' ' .. ARGV[5] .. ' ' .. ARGV[6])
end
return 1
