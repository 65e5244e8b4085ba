-- Purpose: manages a host's slots and times, and its place in the ready heaps. Loaded after breaker.lua and
--   heap_of_host.lua.
-- Promise: a host is in at most one ready heap per crawl, ordered by the time of its next start.

-- A host is read once per script call. Code that changes a host only changes the table `slots`, and `arm`
-- writes the changes.
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

-- Writes a host's slots and trouble. For every crawl that may have URLs of the host, puts the host into the
-- crawl's ready heap at the time of its next start, or removes it from the heap. Must be called after any
-- change. Returns the heap of this crawl.
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

-- Calls `arm(host, true)` for all hosts that are keys of the table.
local function arm_all(touched)
  gather_places()
  for host in pairs(touched) do arm(host, true) end
  write_places()
end

-- Ends a request of the host. Frees the slot and sets the host's next start. since: ms since the request
-- began, or -1 if none was made. If none was made, the next start returns to its value before the claim. It
-- does not if the host has other claims in progress, because a claim of the same gate may be sending a
-- request now. wait: ms that the host asked the crawler to wait.
local function release(host, n0, n1, since, delay, wait)
  local s = slot(host)
  if s.d then delay = math.min(delay, math.max(s.d, s.cd)) end -- the delay may have been fixed during the request
  local start = now - since + delay
  local ours = s.n == tonumber(n1) -- there was no later claim of the host
  if since < 0 then start = ours and s.i <= 1 and tonumber(n0) or s.n elseif not ours then start = math.max(s.n, start) end
  if wait > 0 then start = math.max(start, now + wait) end
  s.i, s.n = math.max(s.i - 1, 0), start
end

-- Stores a host's pace and the delay that follows from it. A delay that an operator fixed is not stored as
-- the learned delay.
local function paced(host, pace, delay)
  local hk = T .. 'h:' .. host
  if slot(host).d then call('HSET', hk, 'c', pace) else call('HSET', hk, 'c', pace, 'd', delay) end
end
