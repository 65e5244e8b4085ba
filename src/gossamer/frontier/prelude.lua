-- Purpose: shared by every verb; put before each script.
-- KEYS[1]: the bucket's tag; ARGV[1]: the crawl ('' where no crawl is meant).
-- Promise: one clock, the store's, in milliseconds. Keys: frontier/keys.py.
local T, C = KEYS[1], KEYS[1] .. ARGV[1] .. ':'
local call = redis.call
local clock = call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

local function num(x, default) return x and tonumber(x) or default end

local function parts(record) -- of a lease: host, level, kind, n0, n1, entry
  return string.match(record, '^([^\t]*)\t([^\t]*)\t([^\t]*)\t([^\t]*)\t([^\t]*)\t(.*)$')
end

-- Set a host's place in the ready heap of one crawl: when it may start next, or not at all.
local function arm_in(c, host, next_start)
  local v = call('HMGET', c .. 'h:' .. host, 'q', 'y')
  local heap = c .. 'r:' .. (v[2] or 'http')
  if num(v[1], 0) > 0 then return call('ZADD', heap, next_start, host) end
  local first = call('ZRANGE', c .. 't:' .. host, 0, 0, 'WITHSCORES')
  if first[2] then return call('ZADD', heap, math.max(next_start, tonumber(first[2])), host) end
  call('ZREM', heap, host)
end

-- Set it in every crawl that may have URLs of the host. Call after any change of i, n, p, rb, m.
local crawls
local function arm(host)
  local v = call('HMGET', T .. 'h:' .. host, 'i', 'm', 'n', 'p', 'rb', 'M')
  crawls = crawls or call('SMEMBERS', T .. 'c')
  local full = v[5] or num(v[1], 0) >= num(v[2], num(v[6], 1))
  for _, name in ipairs(crawls) do
    local c = T .. name .. ':'
    if full then
      call('ZREM', c .. 'r:' .. (call('HGET', c .. 'h:' .. host, 'y') or 'http'), host)
    else
      arm_in(c, host, math.max(now, num(v[3], 0), num(v[4], 0)))
    end
  end
end

-- End a lease; returns its parts, or nil for a stale token.
local function unlease(token)
  local record = call('HGET', C .. 'lp', token)
  if not record then return nil end
  call('HDEL', C .. 'lp', token)
  call('ZREM', C .. 'l', token)
  return parts(record)
end

-- A request of the host is over: free its slot, set its next start. since: ms since the request began, -1 when none was
-- made (then the next start goes back to what it was before the claim). wait: ms the host asked us to stay away.
local function release(host, n0, n1, since, delay, wait)
  local hk = T .. 'h:' .. host
  local v = call('HMGET', hk, 'i', 'n')
  local n, start = num(v[2], 0), now - since + delay
  local ours = n == tonumber(n1) -- nobody claimed the host since
  if since < 0 then start = ours and tonumber(n0) or n elseif not ours then start = math.max(n, start) end
  if wait > 0 then start = math.max(start, now + wait) end
  call('HSET', hk, 'i', math.max(num(v[1], 0) - 1, 0), 'n', start)
end

local function count(field, by)
  if by ~= 0 then call('HINCRBY', C .. 'n', field, by) end
end

local function bury(reason, detail, host, level, entry) -- make it a dead letter
  local id = call('HINCRBY', C .. 'n', 'letter', 1)
  call('HSET', C .. 'x', id, table.concat({reason, detail, host, level, now, entry}, '\t'))
  count('open', -1); count('dead', 1); count('err:' .. reason, 1)
end
