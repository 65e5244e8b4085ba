-- Purpose: shares the health of proxies among all workers. Applies the caller's reports, and returns the
--   changes since the caller's last call.
-- KEYS[1]: health records of proxies.
-- KEYS[2]: for each record, the number of its last change.
-- ARGV: number of the last change that the caller received, ms after which an unused record is deleted, then
--   for each report (proxies/proxy_health.py):
--   - the key of the record,
--   - number of good responses, number of bad responses, total seconds of the good responses,
--   - number of faults after the last good response,
--   - number of faults that opens the breaker, first and longest opening in ms.
-- Returns: {now in ms, number of the last returned change, key, record, key, record, ...} with at most 1,000
--   records. If a call returns 1,000 records, call again.
-- Promise: follows the rules of proxies/proxy_health.py. Each call counts each report once.
-- Cost: O((reports + changes) * log(records)).
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local last = tonumber(redis.call('ZREVRANGE', KEYS[2], 0, 0, 'WITHSCORES')[2] or 0)
last = math.max(last, now)

local function felt(text, good, bad, seconds, tail, most, first, longest)
    local f = {}
    for part in string.gmatch(text or '0,0,0,0,0,0,0', '[^,]+') do f[#f + 1] = tonumber(part) end
    local fade = f[7] > 0 and 0.5 ^ (math.max(0, now - f[7]) / 600000) or 1
    f[1], f[2] = f[1] * fade + good, f[2] * fade + bad
    if good > 0 then
        f[3] = f[3] + (seconds / good - f[3]) * good / f[1]
        f[4], f[5], f[6] = 0, 0, 0
    end
    if tail > 0 and f[6] <= now then
        f[4] = f[4] + tail
        if f[4] >= most then
            f[5] = f[5] + 1
            f[6] = now + math.min(first * 2 ^ math.min(f[5] - 1, 20), longest)
            f[4] = most - 1
        end
    end
    return string.format('%.3f,%.3f,%.4f,%d,%d,%.0f,%.0f', f[1], f[2], f[3], f[4], f[5], f[6], now)
end

for i = 3, #ARGV, 8 do
    local n = {}
    for j = 1, 7 do n[j] = tonumber(ARGV[i + j]) end
    last = last + 1
    redis.call('HSET', KEYS[1], ARGV[i], felt(redis.call('HGET', KEYS[1], ARGV[i]) or nil, unpack(n)))
    redis.call('ZADD', KEYS[2], last, ARGV[i])
end
for _, old in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now - ARGV[2], 'LIMIT', 0, 100)) do
    redis.call('HDEL', KEYS[1], old)
    redis.call('ZREM', KEYS[2], old)
end
local out = {now, ARGV[1]}
local told = redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. ARGV[1], '+inf', 'WITHSCORES', 'LIMIT', 0, 1000)
for i = 1, #told, 2 do
    out[2] = told[i + 1]
    out[#out + 1] = told[i]
    out[#out + 1] = redis.call('HGET', KEYS[1], told[i]) or '0,0,0,0,0,0,0'
end
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, ARGV[2]) end
return out
