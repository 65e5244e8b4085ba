-- Purpose: ends a turn of a group of hosts when the request of the turn is finished.
-- KEYS[1]: the group.
-- ARGV: token, ms since the request began or -1, delay in ms.
-- Returns: 1, or 0 if the turn had already ended.
-- Promise: the next turn begins at least `delay` after the start of the latest request of the group.
-- Cost: 4 us.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local ours = redis.call('HDEL', KEYS[1], 't' .. ARGV[1])
local start, last = unpack(redis.call('HMGET', KEYS[1], 'n', 'w'))
if start and tonumber(ARGV[2]) >= 0 then
  local next = now - ARGV[2] + ARGV[3]
  redis.call('HSET', KEYS[1], 'n', last == ARGV[1] and next or math.max(tonumber(start), next))
end
return ours
