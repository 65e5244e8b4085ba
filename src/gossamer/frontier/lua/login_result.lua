-- Purpose: records the state of a log-in attempt: it continues (`renew`), it succeeded (`in`), it failed for
--   now (`again`), or the site rejected it (`out`).
-- KEYS[1]: a site's log-ins.
-- ARGV: account, the caller's token, one of the words above, then for
--   - `renew`: ms until the attempt must be finished,
--   - `in`: state, fingerprint of the credentials, ms for which the log-ins are stored,
--   - `again`: ms of the first wait (0: none), ms of the longest wait,
--   - `out`: ms until the next try, fingerprint of the credentials, reason.
-- Returns: the account's version, or 0 if the caller no longer has the right to log in, in which case nothing
--   changes.
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
