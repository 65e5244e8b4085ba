-- Purpose: limits how many URLs of a host the store keeps in memory. The other URLs go to the cold store
--   (cold.py). Must be loaded after queue.lua.
-- Promise: if the hash `g` has a limit `hot`, a queue contains at most `hot` URLs per level, and at most four
--   times `hot` URLs per host. New URLs of a level that has cold URLs are added after the cold URLs. The
--   limit does not apply to retries and to URLs for the front of a queue.
-- Cost: 0.4 us per group of links; 2 us per URL moved to the cold store.
local bound
local function limit()
  bound = bound or num(call('HGET', C .. 'g', 'hot'), 0)
  return bound
end

-- Appends entries to the outbox of the cold store. The numbers of the entries come from the store's clock, so
-- no number is repeated even if the store loses its last second of writes.
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

-- Appends entries to a host's queue, and the entries that exceed the limit to the host's cold URLs. Returns
-- whether the queue of the host was empty before.
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
