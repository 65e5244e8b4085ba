-- Purpose: finds the hosts that may start now, from all heaps that a worker serves. Used by claim and due_buckets.
-- Promise: heaps alternate, so that none starves another. Hosts that have waited too short a time are left to
--   better workers. If the crawl has URLs of several levels (host_order.lua), hosts with the highest level come
--   first, except that every 8th host is the one that is due longest.
-- ARGV[2]: `EASY HARD HEAP...`: ms that easy and hard hosts must have waited (0: none), and the names of the
--   heaps, or `*` for all heaps.
-- Cost: 1.5 us per heap. With several levels, 3 us per heap, and 2 us for each of its levels that has to be
--   looked at, at most MAX_LEVELS.
local MAX_LEVELS = 64
local served, all = {}, false -- names of the heaps, without `!`
local heaps -- {name, ms that its hosts must have waited}

local function serve(name, easy, hard)
  served[name] = true
  heaps[#heaps + 1] = {name, easy}
  heaps[#heaps + 1] = {(string.gsub(name, '^[^@]*', '%0!', 1)), hard}
end

-- Determines the heaps in the bucket C.
local function look()
  if heaps and not all then return end
  local easy, hard, names = string.match(ARGV[2], '^(%d+) (%d+) (.*)$')
  all, easy, hard, heaps, served = names == '*', tonumber(easy), tonumber(hard), {}, {}
  if all then
    serve('http', easy, hard)
    for _, name in ipairs(call('SMEMBERS', C .. 'hs')) do if name ~= 'http' then serve(name, easy, hard) end end
  else
    for name in string.gmatch(names, '%S+') do serve(name, easy, hard) end
  end
end

-- Returns up to k hosts by the time of their next start, each with the name of its heap.
local function ready_by_time(k)
  local lists, hosts, from, n = {}, {}, {}, 0
  for _, heap in ipairs(heaps) do
    local due = call('ZRANGE', C .. 'r:' .. heap[1], '-inf', now - heap[2], 'BYSCORE', 'LIMIT', 0, k)
    if #due > 0 then lists[#lists + 1] = {due, heap[1]}; n = n + #due end
  end
  if #lists == 1 then
    for j, host in ipairs(lists[1][1]) do hosts[j] = host; from[j] = lists[1][2] end
    return hosts, from
  end
  local turn, depth = now % math.max(1, #lists), 1
  while #hosts < math.min(n, k) do
    for j = 1, #lists do
      local list = lists[(j + turn) % #lists + 1]
      if list[1][depth] then hosts[#hosts + 1] = list[1][depth]; from[#hosts] = list[2] end
    end
    depth = depth + 1
  end
  return hosts, from
end

-- Returns up to k hosts of one heap that may start now, as {rank, host}, the highest ranks first. Ranks below `floor`
-- are left out.
local function ready_by_rank(heap, k, base, floor)
  local key, found, from = C .. 'u:' .. heap[1], {}, '-inf'
  for _ = 1, MAX_LEVELS do
    local first = tonumber(call('ZRANGE', key, from, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')[2])
    if not first then break end
    local start = math.floor(first / SPAN) * SPAN -- the score of this level at time 0
    local rank = base - start / SPAN
    if rank < floor then break end
    if first <= start + now - heap[2] then
      for _, host in ipairs(call('ZRANGE', key, start, start + now - heap[2], 'BYSCORE', 'LIMIT', 0, k - #found)) do
        found[#found + 1] = {rank, host}
      end
    end
    if #found >= k then break end
    from = start + SPAN
  end
  return found
end

-- The same over all heaps, which alternate within a rank, as {rank, host, name of the heap}.
local function ready_of_ranks(k, base, floor)
  local all, lists = {}, 0
  for h, heap in ipairs(heaps) do
    local found = ready_by_rank(heap, k, base, floor)
    if #found > 0 then lists = lists + 1 end
    local depth = 0
    for d, one in ipairs(found) do
      depth = d > 1 and found[d - 1][1] == one[1] and depth + 1 or 0
      one[3], one[4] = heap[1], depth * #heaps + (h + now) % #heaps
      all[#all + 1] = one
    end
  end
  if lists > 1 then
    table.sort(all, function(a, b) if a[1] ~= b[1] then return a[1] > b[1] end return a[4] < b[4] end)
  end
  return all
end

-- Returns up to k hosts, each with the name of its heap, and if the crawl has several levels with its rank.
-- order: `TURN FLOOR`: how many hosts the caller has claimed so far, modulo 8 (-: none of them is taken by its time),
-- and the lowest rank to claim (-: all).
local function ready(k, order)
  look()
  adopt_order(C)
  if not several_levels(C) then return ready_by_time(k) end
  local turn, floor = string.match(order, '^(%S+) (%S+)$')
  turn, floor = tonumber(turn), tonumber(floor)
  local ranked, hosts, from, ranks, taken, r, t = ready_of_ranks(k, orders[C][1], floor or -math.huge), {}, {}, {}, {}, 1, 1
  local timed, heap_of_timed = {}, {}
  if turn or not floor then timed, heap_of_timed = ready_by_time(k) end
  while #hosts < k do
    while ranked[r] and taken[ranked[r][2]] do r = r + 1 end
    while timed[t] and taken[timed[t]] do t = t + 1 end
    local n, best = #hosts + 1, ranked[r]
    if timed[t] and (turn and (turn + n) % 8 == 0 or not floor and not best) then
      best = {-math.huge, timed[t], heap_of_timed[t]}
    end
    if not best then break end
    ranks[n], hosts[n], from[n] = best[1], best[2], best[3]
    taken[hosts[n]] = true
  end
  return hosts, from, ranks
end

-- Returns the ms when the next host may start, or -1 if no host waits, and the rank of the first host then.
local function next_start()
  local at, first, heap_of_first = -1, nil, nil
  for _, heap in ipairs(heaps) do
    local host, score = unpack(call('ZRANGE', C .. 'r:' .. heap[1], 0, 0, 'WITHSCORES'))
    score = tonumber(score)
    if score and (at < 0 or score + heap[2] < at) then at, first, heap_of_first = score + heap[2], host, heap[1] end
  end
  if at < 0 then return at, 0 end
  local base = (order_of(C) or {0})[1]
  if not several_levels(C) then return at, base end
  local rank
  if at <= now then
    for _, heap in ipairs(heaps) do
      local best = ready_by_rank(heap, 1, base, -math.huge)[1]
      if best then rank = math.max(rank or best[1], best[1]) end
    end
    local retry = call('ZRANGE', C .. 'rt', '-inf', now, 'BYSCORE', 'LIMIT', 0, 1)[1] -- a claim will raise its host
    if retry then
      local level = string.match(call('ZRANGE', C .. 't:' .. retry, 0, 0)[1] or '', '^[^\t]*')
      if level ~= '' then rank = math.max(rank or -math.huge, rank_of(tonumber(level))) end
    end
  end
  local score = not rank and tonumber(call('ZSCORE', C .. 'u:' .. heap_of_first, first))
  return at, rank or score and base - math.floor(score / SPAN) or base
end
