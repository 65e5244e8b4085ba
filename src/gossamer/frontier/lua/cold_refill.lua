-- Purpose: returns cold URLs of one host and level to the end of their queue, in one step. URLs whose
--   priority was changed go to other levels.
-- KEYS[1]: bucket tag.
-- ARGV: crawl, host, level, cursor (number of the last entry that was brought back, as the caller read it),
--   new cursor, how many counted entries were lost, then pairs: the level to which an entry goes ('': the end
--   of its queue), and the entry.
-- Returns: the number of cold URLs left in the level, or -1 if the cursor has moved, in which case nothing
--   changes.
-- Promise: a URL is brought back only once, even if several callers try. The host stays marked for refill
--   until each of its levels with cold URLs has enough URLs in the queue.
-- Cost: 2 us per URL.
local host, level, lost, by_level, order = ARGV[2], ARGV[3], tonumber(ARGV[6]), {}, {}
local kk, hk = C .. 'k:' .. host, C .. 'h:' .. host
if call('HGET', kk, 'c' .. level) ~= ARGV[4] or num(call('HGET', kk, level), 0) < (#ARGV - 6) / 2 + lost then return -1 end
local n = (#ARGV - 6) / 2
for j = 7, #ARGV, 2 do
  local to = ARGV[j]
  if not by_level[to] then by_level[to] = {}; order[#order + 1] = to end
  table.insert(by_level[to], ARGV[j + 1])
end
local left = call('HINCRBY', kk, level, -n - lost)
if left == 0 then call('HDEL', kk, level, 'c' .. level) else call('HSET', kk, 'c' .. level, ARGV[5]) end
if call('HINCRBY', hk, 'k', -n - lost) == 0 then call('HDEL', hk, 'k') end
call('HINCRBY', C .. 'g', 'out', -n - lost)
if lost > 0 then
  count('open', -lost); count('failed', lost); count('err:expired', lost)
end
for _, to in ipairs(order) do
  if to == '' then enqueue(host, level, by_level[to]) else join(host, to, by_level[to]) end
end
if n > 0 then arm(host) end
local wanted = false
for _, field in ipairs(call('HKEYS', kk)) do
  if string.sub(field, 1, 1) ~= 'c' and call('LLEN', C .. 'q:' .. host .. ':' .. field) < limit() / 2 then wanted = true end
end
if not wanted then call('SREM', C .. 'rf', host) end
return left
