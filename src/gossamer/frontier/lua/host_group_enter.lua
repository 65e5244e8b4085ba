-- Purpose: takes a turn (the right to send one request) in a group of hosts. The hosts of a group have the
--   same IP address or the same registered domain.
-- KEYS[1]: the group (`keys.group`).
-- ARGV: token, maximum number of concurrent turns, delay in ms, ms after which the turn of a dead worker
--   expires.
-- Returns: 0 if the turn was granted, otherwise the ms after which to try again.
-- Promise: a token gets one turn, even if the turn is requested several times. The group never has more than
--   the maximum number of concurrent turns, and turns begin at least `delay` apart. Each rejected worker gets
--   a different time to try again, so that the workers do not all return at once.
-- Cost: 8 us. O(turns in progress).
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local at_once, delay, hold = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
-- the turn was granted before, but the reply was lost
if redis.call('HEXISTS', KEYS[1], 't' .. ARGV[1]) == 1 then return 0 end
local v, out, start, last = redis.call('HGETALL', KEYS[1]), 0, 0, 0
for j = 1, #v, 2 do
  local value = tonumber(v[j + 1])
  if v[j] == 'n' then start = value elseif v[j] == 'r' then last = value
  elseif v[j] ~= 'w' and value > now then out = out + 1
  elseif v[j] ~= 'w' then redis.call('HDEL', KEYS[1], v[j]) end
end
if out < at_once and now >= start then
  redis.call('HSET', KEYS[1], 't' .. ARGV[1], now + hold, 'n', now + delay, 'w', ARGV[1])
  redis.call('PEXPIRE', KEYS[1], hold + delay + 60000)
  return 0
end
local step = math.max(delay, 20)
local at = math.max(start, out >= at_once and now + step or 0, last + step)
if at > now + 60000 then return 30000 + clock[2] % 30000 end
redis.call('HSET', KEYS[1], 'r', at)
return math.max(1, at - now)
