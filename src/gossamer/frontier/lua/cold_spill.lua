-- Purpose: limits how many URLs of a host the store keeps in memory. The rest waits in the cold store
--   (cold.py). Loaded after the queue.
-- Promise: if there is a limit (`hot` of the crawl's `g`), the list of a level holds at most that many URLs,
--   and all lists of a host hold at most four times as many. If a level has cold URLs, new URLs are added
--   after them. Retries and URLs for the front of a queue are not limited.
-- Cost: 0.4 us per group of links; 2 us per URL moved to the cold store.
local bound
local function limit()
  bound = bound or num(call('HGET', C .. 'g', 'hot'), 0)
  return bound
end

-- Appends entries to the outbox. Their numbers come from the store's clock, so no number is repeated even if
-- the store loses its last second of writes.
local function spill(host, level, entries, first)
  local kk, out, n = C .. 'k:' .. host, {}, #entries - first + 1
  local seq = math.max(clock[1] * 1000000 + clock[2], num(call('HGET', C .. 'g', 'seq'), 0) + 1)
  if call('HINCRBY', kk, level, n) == n then call('HSET', kk, 'c' .. level, string.format('%.0f', seq - 1)) end
  for j = first, #entries do
    out[#out + 1] = table.concat({string.format('%.0f', seq + #out), level, host, entries[j]}, '\t')
  end
  call('RPUSH', C .. 'o', unpack(out))
  call('HSET', C .. 'g', 'seq', string.format('%.0f', seq + n - 1))
  call('HINCRBY', C .. 'g', 'out', n)
  call('HINCRBY', C .. 'h:' .. host, 'k', n)
  if call('LLEN', C .. 'q:' .. host .. ':' .. level) < limit() / 2 then call('SADD', C .. 'rf', host) end
end

-- Puts entries at the end of a host's queue, or after its cold URLs. Returns whether the host had no entries
-- before.
local function join(host, level, entries)
  local hot = limit()
  if hot == 0 then return enqueue(host, level, entries) == #entries end
  local v = call('HMGET', C .. 'h:' .. host, 'q', 'k')
  local room = 4 * hot - num(v[1], 0)
  if num(v[2], 0) > 0 and call('HEXISTS', C .. 'k:' .. host, level) == 1 then
    room = 0
  elseif 3 * hot + #entries > room then
    room = math.min(room, hot - call('LLEN', C .. 'q:' .. host .. ':' .. level))
  end
  room = math.max(room, 0)
  if #entries > room then
    local fit = {unpack(entries, 1, room)}
    if room > 0 then room = enqueue(host, level, fit) == #fit and 1 or 0 end
    spill(host, level, entries, #fit + 1)
    return room == 1
  end
  return enqueue(host, level, entries) == #entries
end
