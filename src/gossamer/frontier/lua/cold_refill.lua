-- Purpose: moves cold URLs of one host and level to the end of their queue in one step. URLs with a changed
--   priority move to the queue of another level.
-- KEYS[1]: bucket tag.
-- ARGV: crawl, host, level, the cursor that the caller read (number of the last entry that was moved back),
--   new cursor, number of entries that were counted as cold and are lost, then pairs: the new level of an
--   entry ('': unchanged), and the entry.
-- Returns: the number of cold URLs left in the level, or -1 if the cursor has another value than the caller
--   read. Then nothing changes.
-- Promise: each URL is moved back only once, even if several callers try. The host stays marked for refill
--   until every level with cold URLs has at least half of the limit `hot` in its queue.
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
