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

-- The host's slots and times, read once a call. Whoever changes them leaves the writing to `arm`.
local slots = {}
local function slot(host)
  local s = slots[host]
  if not s then
    local v = call('HMGET', T .. 'h:' .. host, 'i', 'm', 'n', 'p', 'rb', 'M', 'w')
    s = {i = num(v[1], 0), m = num(v[2], num(v[6], 1)), n = num(v[3], 0), p = num(v[4], 0), rb = v[5], w = num(v[7], 0)}
    slots[host] = s
  end
  return s
end

-- Write a host's slots, and set its place in the ready heap of every crawl that may have URLs of it: when it may start next,
-- or not at all. Call after any change.
local crawls
local function arm(host, changed)
  local s = slot(host)
  if changed then call('HSET', T .. 'h:' .. host, 'i', s.i, 'n', s.n) end
  crawls = crawls or call('SMEMBERS', T .. 'c')
  for _, name in ipairs(crawls) do
    local c = T .. name .. ':'
    local v = call('HMGET', c .. 'h:' .. host, 'q', 'y')
    local heap, at = c .. 'r:' .. (v[2] or 'http'), math.max(now, s.n, s.p, s.w)
    if num(v[1], 0) <= 0 then
      local first = call('ZRANGE', c .. 't:' .. host, 0, 0, 'WITHSCORES')[2]
      at = first and math.max(at, tonumber(first))
    end
    if at and s.i < s.m and not s.rb then call('ZADD', heap, at, host) else call('ZREM', heap, host) end
  end
end

-- A request of the host is over: free its slot, set its next start. since: ms since the request began, -1 when none was
-- made (then the next start goes back to what it was before the claim, unless others of the host are out: one of the same
-- gate may be asking it right now). wait: ms the host asked us to stay away.
local function release(host, n0, n1, since, delay, wait)
  local s, start = slot(host), now - since + delay
  local ours = s.n == tonumber(n1) -- nobody claimed the host since
  if since < 0 then start = ours and s.i <= 1 and tonumber(n0) or s.n elseif not ours then start = math.max(s.n, start) end
  if wait > 0 then start = math.max(start, now + wait) end
  s.i, s.n = math.max(s.i - 1, 0), start
end

local function count(field, by)
  if by ~= 0 then call('HINCRBY', C .. 'n', field, by) end
end

-- A sitemap or feed, or a page that is only read again (a capital scheme letter), is no page.
local function infrastructure(entry)
  if string.byte(entry, 1) < 97 then return true end
  local extra = cmsgpack.unpack(string.sub(entry, 4))[4]
  return extra and string.byte(extra.use or '', 1) == 64 or false
end

-- It is counted apart (`infra`), and as found only while it is a dead letter.
local function apart(entry, by)
  if infrastructure(entry) then count('infra', by); count('found', -by) end
end

local function bury(reason, detail, host, level, entry) -- make it a dead letter
  local id = call('HINCRBY', C .. 'n', 'letter', 1)
  call('HSET', C .. 'x', id, table.concat({reason, detail, host, level, now, entry}, '\t'))
  count('open', -1); count('dead', 1); count('err:' .. reason, 1)
  apart(entry, -1)
end
