-- Purpose: finds the URLs that wait for a retry, and ends their wait (frontier/retry_waits.py).
-- KEYS[1]: bucket tag.
-- ARGV:
--   - crawl,
--   - heaps (ready_heaps.lua),
--   - verb: look|take|hasten,
--   - `take`: maximum number of URLs, length of a lease in ms; `hasten`: host, then the ms to wait before each
--     retry.
-- Returns:
--   - look: {} if a URL can be visited that has not failed, else {number of waiting URLs, number of retries in
--     flight, ms of the next retry, ms of the last retry, open URLs plus active producers}.
--   - take: claims in the form of claim.lua. The field for the failures of the host contains the reason and
--     the detail of the URL's last failure.
--   - hasten: the number of URLs whose retry is now due earlier.
-- Promise: a URL that was taken occupies no slot of its host, so a worker ends the URL without a request. All
--   URLs of a host wait if its robots.txt cannot be read, if its breaker is open, or if it asked for a pause.
-- Cost: `look` reads the hosts until it finds a URL that has not failed. 10 us per host, 15 us per taken URL.
local LONG_PAUSE_MS = 60000

local function hosts_of_crawl()
  local hosts, at, n = {}, {}, 0
  look()
  for _, heap in ipairs(heaps) do
    local found = call('ZRANGE', C .. 'r:' .. heap[1], 0, -1, 'WITHSCORES')
    for j = 1, #found, 2 do
      n = n + 1
      hosts[n], at[found[j]] = found[j], tonumber(found[j + 1])
    end
  end
  return hosts, at
end

local function failed(entry) return string.byte(entry, 2) > 48 end
local function tries(host)
  local v = call('HMGET', T .. 'h:' .. host, 'ah', 'as')
  return num(v[1], 0) + num(v[2], 0)
end

-- Returns whether all URLs of a host wait because the host has failed.
local function down(host)
  local s = slot(host)
  if s.w > now or open(s.t) or tries(host) > 0 then return true end
  if s.n - now <= LONG_PAUSE_MS then return false end
  return num(string.match(call('HGET', T .. 'h:' .. host, 'c') or '', ',(%d+),'), 0) > 0
end

local function levels_of(host)
  return string.gmatch(call('HGET', C .. 'h:' .. host, 'L') or '', '[^,]+')
end

-- Returns whether a host's queue contains a URL that has not failed.
local function fresh(host)
  for level in levels_of(host) do
    local key, first = C .. 'q:' .. host .. ':' .. level, 0
    repeat
      local page = call('LRANGE', key, first, first + 99)
      for _, entry in ipairs(page) do if not failed(entry) then return true end end
      first = first + 100
    until #page < 100
  end
  return false
end

local urls, flying, first, last = 0, 0, nil, nil
local function waits(n, from, to)
  urls = urls + n
  first, last = math.min(first or from, from), math.max(last or to, to)
end

local function look_at(host, at)
  local v = call('HMGET', C .. 'h:' .. host, 'q', 'k')
  local queued, cold = num(v[1], 0), num(v[2], 0)
  if queued + cold > 0 then
    if slot(host).p > now or (not down(host) and (cold > 0 or fresh(host))) then return false end
    waits(queued + cold, at, at)
  end
  local key = C .. 't:' .. host
  local n = call('ZCARD', key)
  if n > 0 then
    waits(n, math.max(at, tonumber(call('ZRANGE', key, 0, 0, 'WITHSCORES')[2])),
      math.max(at, tonumber(call('ZRANGE', key, -1, -1, 'WITHSCORES')[2])))
  end
  return true
end

local function look_at_all()
  local hosts, at = hosts_of_crawl()
  for _, host in ipairs(hosts) do
    if not look_at(host, at[host]) then return {} end
  end
  for _, record in ipairs(call('HVALS', C .. 'lp')) do
    local host, _, kind, _, _, entry = parts(record)
    if kind == 'robots' then
      if tries(host) == 0 then return {} end
    elseif not failed(entry) then
      return {}
    else
      flying = flying + 1
    end
    waits(0, now, now)
    if not at[host] then -- a host with the maximum number of requests is in no heap
      at[host] = now
      if not look_at(host, now) then return {} end
    end
  end
  local open_urls = num(call('HGET', C .. 'n', 'open'), 0) + call('ZCOUNT', C .. 'pl', now, '+inf')
  return {urls, flying, first or now, last or now, open_urls}
end

-- Returns the reason and the detail of a URL's last failure.
local function why(host, entry)
  local key = C .. 'w:' .. host
  local own = failed(entry) and call('HGET', key, failure_key(entry))
  if own then return own end
  if tries(host) > 0 then return 'robots-unreachable\trobots.txt could not be read' end
  return call('HVALS', key)[1] or 'expired\tthe wait for its retry was ended'
end

-- Removes up to `room` waiting URLs of a host from the frontier. Adds {host, level, entry} of each to `got`.
local function take_from(host, got, room)
  local hk, key, all, before = C .. 'h:' .. host, C .. 't:' .. host, down(host), #got
  for _, member in ipairs(call('ZRANGE', key, 0, -1)) do
    if #got - before >= room then break end
    local level, entry = string.match(member, '^([^\t]*)\t(.*)$')
    if string.byte(entry, 2) > 48 then
      call('ZREM', key, member)
      got[#got + 1] = {host, level, entry}
    end
  end
  local from_queue = #got
  if not slot(host).rb then
    for level in levels_of(host) do
      local list = C .. 'q:' .. host .. ':' .. level
      for _, entry in ipairs(call('LRANGE', list, 0, 999)) do
        if #got - before >= room then break end
        if all or string.byte(entry, 2) > 48 then
          call('LREM', list, 1, entry)
          got[#got + 1] = {host, level, entry}
        end
      end
      local left = call('LLEN', list)
      if left == 0 then without_level(host, level) end
      want(host, level, left)
    end
  end
  if #got > from_queue then call('HINCRBY', hk, 'q', from_queue - #got) end
  return #got > before
end

local function take_all(k, lease)
  local got, touched, out = {}, {}, {now, -1, '', 0}
  local hosts, at = hosts_of_crawl()
  for _, record in ipairs(call('HVALS', C .. 'lp')) do
    local host = parts(record)
    if all and not at[host] then hosts[#hosts + 1], at[host] = host, now end
  end
  for _, host in ipairs(hosts) do
    if #got >= k then break end
    if take_from(host, got, k - #got) then touched[host] = true end
  end
  if #got == 0 then return out end
  local token, leases, records = math.max(num(call('HGET', C .. 'n', 'token'), 0), now * 1000), {}, {}
  for _, one in ipairs(got) do
    local host, level, entry = unpack(one)
    token = token + 1
    leases[#leases + 1], leases[#leases + 2] = now + lease, token
    records[#records + 1], records[#records + 2] = token, table.concat({host, level, 'landed', 0, 0, entry}, '\t')
    for _, x in ipairs({token, host, level, 'gate', 0, '', 0, 0, -1, '', '0,0,,' .. why(host, entry), entry}) do out[#out + 1] = x end
  end
  call('HSET', C .. 'n', 'token', string.format('%.0f', token))
  call('ZADD', C .. 'l', unpack(leases))
  call('HSET', C .. 'lp', unpack(records))
  for host in pairs(touched) do arm(host) end
  return out
end

-- Makes the retries of a host due no later than the given waits from now. Also ends a longer wait for the
-- host's robots.txt.
local function hasten(host)
  local key, moved = C .. 't:' .. host, 0
  local function due(attempt) return now + tonumber(ARGV[math.min(4 + attempt, #ARGV)]) end
  local found = call('ZRANGE', key, 0, -1, 'WITHSCORES')
  for j = 1, #found, 2 do
    local entry = string.match(found[j], '^[^\t]*\t(.*)$')
    local at = due(string.byte(entry, 2) - 48)
    if tonumber(found[j + 1]) > at then
      call('ZADD', key, at, found[j])
      note_retry(host, at)
      moved = moved + 1
    end
  end
  local s, n = slot(host), tries(host)
  if n > 0 and s.w > due(n) then
    s.w = due(n)
    call('HSET', T .. 'h:' .. host, 'w', s.w)
    moved = moved + 1
  end
  if moved > 0 then arm(host) end
  return moved
end

if ARGV[3] == 'look' then return look_at_all() end
if ARGV[3] == 'take' then return take_all(tonumber(ARGV[4]), tonumber(ARGV[5])) end
return hasten(ARGV[4])
