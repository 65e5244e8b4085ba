-- Purpose: ends claims after the rows of their pages are durable. Stores file lengths, counts, the results of
--   the claims, and links in one atomic step.
-- KEYS[1]: tag of the first bucket. The buckets of one call must all be on one server. A node of a cluster
--   allows a script to access several buckets only if the script has no flags.
-- ARGV: crawl, seen mode, sets of the first generation, page cap of a discovered host, number of hashes that
--   store depths (all as in add.lua), tag of the bucket that stores all file lengths ('': each bucket stores
--   its own), number of buckets, then for each bucket: tag, number of arguments, and these arguments:
--   - the three counts of the other buckets (as in add.lua),
--   - number of files, then (file, committed length, new length) of each,
--   - number of counts, then (count, change) of each. A change above 0 is also added to the total of the same
--     name, unless the name contains a `|` or begins with `own:`.
--   - number of totals about requests, then (total, change) of each. Changes of `requests`, `le` and
--     `seconds` are also added to the crawl's counts,
--   - number of hosts, then (host, bytes) of each (0 hosts unless hosts have limits, host_limits.lua),
--   - number of settled claims, then (token, action, ms since the request began or -1, delay in ms, pace, ms
--     that the host asked to wait, ms to wait before a retry, reason, detail) of each,
--   - number of visited URLs, then (token, hi, lo, depth) of each (0 URLs unless depths are stored,
--     min_depth.lua),
--   - groups of links as in add.lua.
-- An action consists of the letter of a ClaimEnd (model/verdict.py) and the health code of the host
-- (breaker.lua). Letters of a ClaimEnd: `d`: done; `r`: retry after the wait; `x`: dead letter; `k`: refused
-- without a request; `b`: back to the front of the queue.
-- Returns: {'ok', then for each bucket the numbers of new, known and parked URLs, and of new URLs charged to
--   strangers and to singles}. If the call changed nothing: {'stale', then for each token that is no longer
--   leased the position of its bucket (from 1) and the token}, or {'file', file, committed length}.
-- Promise: the call takes effect in all buckets or in none. Each token is settled once. A file length changes
--   only in the call that settles the claims of the new rows.
-- Cost: about 15 us per claim, plus the cost of the links (links.lua).
local keeps, at = ARGV[6], 8
local function take_list(width)
  local n = tonumber(ARGV[at])
  local first = at + 1
  at = first + n * width
  return first, at - 1
end

local function lengths() return (keeps == '' and T or keeps) .. ARGV[1] .. ':f' end
local function turn_to(bucket) T, C, slots, crawls = bucket, bucket .. ARGV[1] .. ':', {}, nil end

local buckets, stale = {}, {'stale'}
for n = 1, tonumber(ARGV[7]) do
  local b = {tag = ARGV[at], last = at + 1 + ARGV[at + 1], shares = at + 2, tokens = {}, records = {}}
  turn_to(b.tag)
  at = at + 5
  b.f1, b.f2 = take_list(3)
  b.d1, b.d2 = take_list(2)
  b.m1, b.m2 = take_list(2)
  b.h1, b.h2 = take_list(2)
  b.s1, b.s2 = take_list(9)
  b.v1, b.v2 = take_list(4)
  b.links, at, buckets[n] = at, b.last + 1, b
  for j = b.f1, b.f2, 3 do
    -- too small if the store lost its last second of writes
    local have = call('HGET', lengths(), ARGV[j]) or '0'
    if tonumber(have) > tonumber(ARGV[j + 1]) or (keeps ~= '' and have ~= ARGV[j + 1]) then return {'file', ARGV[j], have} end
  end
  for j = b.s1, b.s2, 9 do b.tokens[#b.tokens + 1] = ARGV[j] end
  -- The read of `lp` fails if the bucket is on another server.
  if #b.tokens > 0 then b.records = call('HMGET', C .. 'lp', unpack(b.tokens)) else call('EXISTS', C .. 'lp') end
  for j, token in ipairs(b.tokens) do
    if not b.records[j] then stale[#stale + 1] = n; stale[#stale + 1] = token end
  end
end
if #stale > 1 then return stale end

local touched, refused, backs, closed
local function verdict(action, host, level, entry, j)
  local wait, reason = tonumber(ARGV[j + 6]), ARGV[j + 7]
  if action ~= 'b' and string.byte(entry, 2) > 48 then call('HDEL', C .. 'w:' .. host, failure_key(entry)) end
  if action == 'r' then
    call('HSET', C .. 'w:' .. host, failure_key(entry), reason .. '\t' .. ARGV[j + 8])
    local again = string.sub(entry, 1, 1) .. string.char(string.byte(entry, 2) + 1) .. string.sub(entry, 3)
    call('ZADD', C .. 't:' .. host, now + wait, level .. '\t' .. again)
    note_retry(host, now + wait)
    count('retried', 1)
  elseif action == 'x' then
    bury(reason, ARGV[j + 8], host, level, entry)
  elseif action == 'b' then
    backs[#backs + 1] = {host, level, entry}
  else
    if action == 'k' then refused[host] = true end
    closed = closed + 1
  end
end

-- Adds pages and requests to the counts of the current period of 10 s. Also stores the time of the last page.
-- The counts of the last 64 periods are stored.
local function note_recent(pages, requests)
  if pages + requests == 0 then return end
  local key, period = C .. 'rp', math.floor(now / 10000)
  local p, a, b = string.match(call('HGET', key, period % 64) or '', '^(%d+),(%d+),(%d+)$')
  if tonumber(p) ~= period then a, b = 0, 0 end
  call('HSET', key, period % 64, string.format('%.0f,%.0f,%.0f', period, a + pages, b + requests))
  if pages > 0 then call('HSET', key, 'at', now) end
end

-- Adds pages to the count of the current period for workers of the same lanes and region. `lane`: the name of
-- a total, `lane|LANES|REGION`.
local function note_lane(lane, pages)
  local key, period = C .. 'rl', math.floor(now / 10000)
  local field = string.sub(lane, 6) .. '|' .. period % 64
  local p, a = string.match(call('HGET', key, field) or '', '^(%d+),(%d+)$')
  if tonumber(p) ~= period then a = 0 end
  call('HSET', key, field, string.format('%.0f,%.0f', period, a + pages))
end

local function settle(b)
  local tokens, paces, by_token = b.tokens, {}, {}
  touched, refused, backs, closed = {}, {}, {}, 0
  for j = b.f1, b.f2, 3 do call('HSET', lengths(), ARGV[j], ARGV[j + 2]) end
  local recent = {}
  for j = b.d1, b.d2, 2 do
    local name, by = ARGV[j], tonumber(ARGV[j + 1])
    count(name, by)
    if by > 0 and not string.find(name, '|', 1, true) and string.sub(name, 1, 4) ~= 'own:' then total(name, by) end
    recent[name] = by
  end
  note_recent(recent.pages or 0, recent.requests or 0)
  for j = b.m1, b.m2, 2 do
    local what = string.match(ARGV[j], '^[^|]*')
    total(ARGV[j], tonumber(ARGV[j + 1]))
    if what == 'requests' or what == 'le' or what == 'seconds' then count(ARGV[j], tonumber(ARGV[j + 1])) end
    if what == 'lane' and ARGV[j] ~= 'lane|http|' then note_lane(ARGV[j], tonumber(ARGV[j + 1])) end
  end
  for j = b.h1, b.h2, 2 do call('HINCRBY', C .. 'h:' .. ARGV[j], 'B', ARGV[j + 1]) end
  for t, record in ipairs(b.records) do
    local j = b.s1 + 9 * (t - 1)
    local host, level, kind, n0, n1, entry = parts(record)
    local action = ARGV[j + 1]
    verdict(string.sub(action, 1, 1), host, level, entry, j)
    if kind ~= 'landed' then
      if #action > 1 then felt(slot(host), string.sub(action, 2), ARGV[j + 7]) end
      release(host, n0, n1, tonumber(ARGV[j + 2]), tonumber(ARGV[j + 3]), tonumber(ARGV[j + 5]))
      if ARGV[j + 4] ~= '' then paces[host] = {ARGV[j + 4], ARGV[j + 3]} end
    end
    touched[host] = true
    by_token[tokens[t]] = record
  end
  for j = b.v1, b.v2, 4 do visited(ARGV[j + 1], ARGV[j + 2], tonumber(ARGV[j + 3]), tonumber(ARGV[5]), by_token[ARGV[j]]) end
  if #tokens > 0 then
    call('HDEL', C .. 'lp', unpack(tokens))
    call('ZREM', C .. 'l', unpack(tokens))
    count('open', -closed)
  end
  for host, pace in pairs(paces) do paced(host, pace[1], pace[2]) end
  for j = #backs, 1, -1 do -- pushes the last entry first, to preserve the order
    local host, level, entry = unpack(backs[j])
    enqueue(host, level, {entry}, true)
    if not refused[host] then call('HDEL', T .. 'h:' .. host, 'z') end
  end
  for host in pairs(refused) do call('HSET', T .. 'h:' .. host, 'z', 1) end -- the host's next claim is a gate
  arm_all(touched)
  if b.links > b.last then return {0, 0, 0, 0, 0} end
  call('SADD', T .. 'c', ARGV[1])
  return add(ARGV, b.links, b.last, b.shares)
end

local out = {'ok'}
for _, b in ipairs(buckets) do
  turn_to(b.tag)
  for _, n in ipairs(settle(b)) do out[#out + 1] = n end
end
return out
