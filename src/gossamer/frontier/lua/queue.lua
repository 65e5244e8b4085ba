-- Purpose: manages the queues of a host, one list per level. Shared by the scripts that fill or empty queues.
--   Must be loaded after the prelude.
-- Promise: the fields `q` and `L` of the crawl's host hash always match the contents of the lists. `q` is the
--   number of queued URLs. `L` lists the levels (priorities) that have URLs, highest first, for example
--   "5,0,-3".
local function with_level(levels, level)
  if not levels or levels == '' then return level end
  local list, l = {}, tonumber(level)
  for x in string.gmatch(levels, '[^,]+') do
    local n = tonumber(x)
    if n == l then return levels end
    if l and l > n then list[#list + 1] = level; l = nil end
    list[#list + 1] = x
  end
  list[#list + 1] = l and level
  return table.concat(list, ',')
end

local began = {} -- hosts that got a new level, so that their next URL may have changed
-- Adds entries to the end of a host's queue. If `front` is true, pushes the entries one by one to the front.
-- Returns how many URLs are queued for the host.
local function enqueue(host, level, entries, front)
  local hk = C .. 'h:' .. host
  if call(front and 'LPUSH' or 'RPUSH', C .. 'q:' .. host .. ':' .. level, unpack(entries)) == #entries then
    call('HSET', hk, 'L', with_level(call('HGET', hk, 'L'), level))
    began[host] = true
    level_began(level)
  end
  return call('HINCRBY', hk, 'q', #entries)
end

-- Marks the host for refill if the level has URLs in the cold store (cold.py) and only few URLs in the queue.
local function want(host, level, left)
  if left < num(call('HGET', C .. 'g', 'hot'), 0) / 2 and call('HEXISTS', C .. 'k:' .. host, level) == 1 then
    call('SADD', C .. 'rf', host)
  end
end

local function without_level(host, level)
  local rest = {}
  for x in string.gmatch(call('HGET', C .. 'h:' .. host, 'L') or '', '[^,]+') do
    if x ~= level then rest[#rest + 1] = x end
  end
  rest = table.concat(rest, ',')
  call('HSET', C .. 'h:' .. host, 'L', rest)
  return rest
end

-- Returns the field under which the key `w:HOST` keeps the last failure of a URL that waits for a retry.
local function failure_key(entry) return redis.sha1hex(string.sub(entry, 1, 1) .. string.sub(entry, 4)) end

-- Moves up to 64 due retries of a host to the end of the queues of their levels.
local function promote(host)
  local key = C .. 't:' .. host
  for _, member in ipairs(call('ZRANGE', key, '-inf', now, 'BYSCORE', 'LIMIT', 0, 64)) do
    local level, entry = string.match(member, '^([^\t]*)\t(.*)$')
    call('ZREM', key, member)
    enqueue(host, level, {entry})
  end
end

-- Removes up to n entries of a host from its queues, and returns them as {level, entry}. Every 16th entry
-- comes from the lowest level, and the others come from the highest level.
local function pop(host, n, turn)
  local hk, got = C .. 'h:' .. host, {}
  local levels, cold = unpack(call('HMGET', hk, 'L', 'k'))
  while #got < n and levels and levels ~= '' do
    local high, low = string.match(levels, '^[^,]+'), string.match(levels, '[^,]+$')
    local level = (turn + #got) % 16 == 15 and low or high
    local list = C .. 'q:' .. host .. ':' .. level
    for _, entry in ipairs(call('LPOP', list, high == low and n - #got or 1) or {}) do got[#got + 1] = {level, entry} end
    local left = call('LLEN', list)
    if left == 0 then levels = without_level(host, level) end
    if cold then want(host, level, left) end
  end
  if #got > 0 then call('HINCRBY', hk, 'q', -#got) end
  return got
end
