-- Purpose: records a response that shows that an account is no longer logged in. The account must log in
--   again, unless recent log-ins had no effect.
-- KEYS[1]: a site's log-ins.
-- ARGV: account, the version of the log-in that the request used, maximum number of log-ins in a row without
--   effect, ms after which one more log-in is permitted, 1 if the log-in has certainly ended (its proxy is
--   gone).
-- Returns: 1 if the page must be requested again after a new log-in, or 0 if the account cannot see the page
--   even after a log-in.
-- Promise: workers that used the same version of a log-in cause only one new log-in. Pages that an account
--   can never see cause a few log-ins at first and rare log-ins later.
-- Cost: O(1).
local key, name = KEYS[1], ARGV[1]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local f = redis.call('HMGET', key, 'v:' .. name, 'j:' .. name, 'x:' .. name, 't:' .. name)
if f[1] ~= ARGV[2] or not f[2] then return 1 end
if ARGV[5] ~= '1' then
    if tonumber(f[3] or 0) >= tonumber(ARGV[3]) and now - tonumber(f[4] or 0) < tonumber(ARGV[4]) then return 0 end
    redis.call('HINCRBY', key, 'x:' .. name, 1)
end
redis.call('HDEL', key, 'j:' .. name)
return 1
