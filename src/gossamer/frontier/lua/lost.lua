-- Purpose: a log-in is over, as an answer tells: it shall be made anew, unless that was of no use of late.
-- KEYS[1]: a site's log-ins  ARGV: account, version that was used, log-ins of no use in a row that are borne, ms after which one
--   more is, 1: it is over for sure (its proxy is gone)
-- Returns: 1: ask again, logged in anew; 0: the page is not for this account, whoever logs in.
-- Promise: one log-in for all who met the same version; pages that are never shown cost a few log-ins, then one in a while.
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
