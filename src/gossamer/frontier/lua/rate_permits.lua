-- Purpose: takes permits from the request rate caps of a lane or of the whole fleet before claims, and
--   returns unused permits.
-- KEYS[1]: gossamer:rates.
-- ARGV: number of permits to take (if negative: to return), names of the caps.
-- Returns: {number of permits taken, ms until one more permit is available (0: all requested permits were
--   taken)}.
-- Promise: all callers together exceed a cap by at most the number of requests that the cap allows in a tenth
--   of a second, or by one request if the cap allows fewer than 10 requests per second.
-- Cost: 3 us.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + clock[2] / 1000
local want, caps, free, wait = tonumber(ARGV[1]), {}, math.max(0, tonumber(ARGV[1])), 0
for j = 2, #ARGV do
  local v = redis.call('HMGET', KEYS[1], ARGV[j], 'tat:' .. ARGV[j])
  local rate = tonumber(v[1])
  if rate then
    local tat = math.max(tonumber(v[2] or 0), now - math.max(100, 1000 / rate))
    free = math.min(free, math.floor((now - tat) * rate / 1000 + 1e-3))
    caps[#caps + 1] = {ARGV[j], rate, tat}
  end
end
free = math.max(0, free)
local used = want < 0 and want or free
for _, cap in ipairs(caps) do
  if used ~= 0 then redis.call('HSET', KEYS[1], 'tat:' .. cap[1], string.format('%.3f', cap[3] + used * 1000 / cap[2])) end
  if free < want then wait = math.max(wait, cap[3] + (free + 1) * 1000 / cap[2] - now) end
end
return {used, math.ceil(wait)}
