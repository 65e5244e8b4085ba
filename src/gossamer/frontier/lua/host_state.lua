-- Purpose: manages a host's request slots and times, and the host's place in the ready heaps. Must be loaded
--   after breaker.lua and heap_of_host.lua.
-- Promise: a host is in at most one ready heap per crawl, ordered by the time of its next start.

-- A script call reads each host once. Changes of a host are made in the table `slots`, and `arm` writes them
-- to the store.
local slots = {}
local function slot(host, v)
  local s = slots[host]
  if v or not s then
    v = v or call('HMGET', T .. 'h:' .. host, 'i', 'm', 'n', 'p', 'rb', 'M', 'w', 'b', 'D', 'cd')
    s = {i = num(v[1], 0), m = num(v[2], num(v[6], 1)), n = num(v[3], 0), p = num(v[4], 0), rb = v[5], w = num(v[7], 0), t = trouble(v[8]), d = num(v[9]), cd = num(v[10], 0)}
    slots[host] = s
  end
  return s
end

-- Writes a host's slots and breaker state. In every crawl that may have URLs of the host, sets the host's
-- time in the ready heap to its next start, or removes the host from the heap. Every change of a host must be
-- followed by a call of `arm`. Returns the name of the host's heap in the current crawl.
local crawls
local function arm(host, changed)
  local s, mine = slot(host), nil
  if changed then call('HSET', T .. 'h:' .. host, 'i', s.i, 'n', s.n) end
  local odd = s.t or s.told
  if s.told then
    local text = written(s.t)
    if text then call('HSET', T .. 'h:' .. host, 'b', text) else call('HDEL', T .. 'h:' .. host, 'b') end
    if not text then s.t = nil end
    s.told = nil
  end
  if s.opened and s.t then
    total(s.t.why == '' and 'breaker|open' or 'breaker|given-up', 1)
    call('LPUSH', T .. '@opened', table.concat({host, s.opened, string.format('%.0f', s.t.ends), s.t.why}, '\t'))
    call('LTRIM', T .. '@opened', 0, 99)
    call('PEXPIRE', T .. '@opened', 3600000)
    s.opened = nil
  end
  crawls = crawls or call('SMEMBERS', T .. 'c')
  for _, name in ipairs(crawls) do
    local c = T .. name .. ':'
    local order = orders[c] or order_of(c)
    local several = order and order[2]
    local v = several and call('HMGET', c .. 'h:' .. host, 'q', 'y', 'L') or call('HMGET', c .. 'h:' .. host, 'q', 'y')
    local levels = v[3]
    local heap, at = 'http', math.max(now, s.n, s.p, s.w)
    if odd or v[2] then heap = heap_of(c, host, v[2], s) end
    if open(s.t) then at = math.max(at, s.t.ends) end
    if num(v[1], 0) <= 0 then
      local first = call('ZRANGE', c .. 't:' .. host, 0, 0, 'WITHSCORES')
      at, levels = first[2] and math.max(at, tonumber(first[2])), first[1]
    end
    local most = probed(s.t) and 1 or s.m
    if s.i >= most or s.rb then at = nil end
    set_place(c .. 'r:' .. heap, host, at)
    if several then rank_host(c, heap, host, at, levels) end
    if c == C then mine = heap end
  end
  return mine
end

-- Calls `arm(host, true)` for each host that is a key of `touched`.
local function arm_all(touched)
  gather_places()
  for host in pairs(touched) do arm(host, true) end
  write_places()
end

-- Ends a request of the host: frees the slot and sets the host's next start. since: ms since the request
-- began, or -1 if no request was made. If no request was made, the next start returns to its value before the
-- claim. However, the next start stays if the host has another or a later claim, because that claim may have
-- sent a request. wait: ms that the host asked the crawler to wait.
local function release(host, n0, n1, since, delay, wait)
  local s = slot(host)
  -- an operator may have fixed the delay during the request
  if s.d then delay = math.min(delay, math.max(s.d, s.cd)) end
  local start = now - since + delay
  local ours = s.n == tonumber(n1) -- the host has no later claim
  if since < 0 then start = ours and s.i <= 1 and tonumber(n0) or s.n elseif not ours then start = math.max(s.n, start) end
  if wait > 0 then start = math.max(start, now + wait) end
  s.i, s.n = math.max(s.i - 1, 0), start
end

-- Stores a host's pace. Also stores the learned delay, unless an operator has fixed the delay.
local function paced(host, pace, delay)
  local hk = T .. 'h:' .. host
  if slot(host).d then call('HSET', hk, 'c', pace) else call('HSET', hk, 'c', pace, 'd', delay) end
end
