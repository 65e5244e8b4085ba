-- Purpose: selects the account of a site for the next request. Of the available accounts, selects the account
--   that has been unused for longest. If the account is not logged in, the caller must log it in.
-- KEYS[1]: a site's log-ins.
-- ARGV: the caller's token, ms within which the caller must finish a log-in, minimum ms between two uses of
--   one account, ms for which the site's log-ins are stored, then for each account: name, fingerprint of its
--   credentials, and the version and revision that the caller knows.
-- Returns: one of
--   - {'go', account, version, revision, state or ''}: the account is logged in.
--   - {'enter', account, version}: the caller must log the account in.
--   - {'wait', ms}: no account can be used yet.
--   - {'refused', account, reason, ms}: the site rejects all accounts. This account is tried again first,
--     after `ms`.
-- Promise: at most one caller at a time logs in with an account. Rejected credentials are not tried again
--   before the `ms` in `refused` have passed.
-- Cost: O(accounts).
local key, me = KEYS[1], ARGV[1]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local best, used, wait, refused

local function later(at)
    wait = math.min(wait or 3600000, math.max(10, at - now))
end

for i = 5, #ARGV, 4 do
    local name, told = ARGV[i], ARGV[i + 1]
    local f = redis.call('HMGET', key, 'l:' .. name, 'r:' .. name, 'w:' .. name, 'n:' .. name, 'o:' .. name)
    local owner, ends = string.match(f[1] or '', '^(%S+) (%d+)$')
    local barred, of, why = string.match(f[2] or '', '^(%d+) (%S+) (.*)$')
    if barred and of == told and tonumber(barred) > now then
        if not refused or tonumber(barred) < refused[2] then refused = {name, tonumber(barred), why} end
    elseif owner and owner ~= me and tonumber(ends) > now then
        later(now + 1000)
    elseif tonumber(f[3] or 0) > now then
        later(tonumber(f[3]))
    elseif tonumber(f[4] or 0) > now then
        later(tonumber(f[4]))
    elseif not best or tonumber(f[5] or 0) < used then
        best, used = i, tonumber(f[5] or 0)
    end
end
if not best then
    if wait or not refused then return {'wait', wait or 1000} end
    return {'refused', refused[1], refused[3], refused[2] - now}
end
local name = ARGV[best]
local f = redis.call('HMGET', key, 'v:' .. name, 'c:' .. name, 'd:' .. name, 'j:' .. name)
local version, revision = tonumber(f[1] or 0), tonumber(f[2] or 0)
redis.call('HSET', key, 'o:' .. name, redis.call('HINCRBY', key, 'turn', 1), 'u:' .. name, now, 'n:' .. name, now + tonumber(ARGV[3]))
if f[4] and f[3] == ARGV[best + 1] then
    local known = version == tonumber(ARGV[best + 2]) and revision == tonumber(ARGV[best + 3])
    return {'go', name, version, revision, known and '' or f[4]}
end
redis.call('HSET', key, 'l:' .. name, me .. ' ' .. now + tonumber(ARGV[2]))
redis.call('HDEL', key, 'n:' .. name)
redis.call('PEXPIRE', key, ARGV[4])
return {'enter', name, version}
