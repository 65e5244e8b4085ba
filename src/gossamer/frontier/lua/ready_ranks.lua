-- Purpose: finds the hosts with the highest ranks that may start now, and the time when the next host may
--   start. Used by claim and due_buckets. Must be loaded after host_order.lua and ready_heaps.lua.
-- Promise: each call examines at most MAX_LEVELS levels per heap.
-- Cost: 1.5 us per heap if the crawl has one level. Otherwise 3 us per heap, and 2 us for each level in which
--   no host may start.
local MAX_LEVELS = 64

-- Returns up to k hosts of one heap that may start now, as {rank, host}, in descending order of rank. Hosts
--   with a rank below `floor` are left out. The second result is true if some levels were not examined.
local function ready_by_rank(heap, k, base, floor)
  local key, found, from = C .. 'u:' .. heap[1], {}, '-inf'
  for _ = 1, MAX_LEVELS do
    local first = tonumber(call('ZRANGE', key, from, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')[2])
    if not first then return found, false end
    local start = math.floor(first / SPAN) * SPAN -- the score that a host of this level would have at time 0
    local rank = base - start / SPAN
    if rank < floor then return found, false end
    if first <= start + now - heap[2] then
      for _, host in ipairs(call('ZRANGE', key, start, start + now - heap[2], 'BYSCORE', 'LIMIT', 0, k - #found)) do
        found[#found + 1] = {rank, host}
      end
    end
    if #found >= k then return found, false end
    from = start + SPAN
  end
  return found, true
end

-- Returns the ms when the next host may start, or -1 if no host waits. The second result is the rank of the
--   host that is claimed first at that time.
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
    -- a claim will raise the rank of this host
    local retry = call('ZRANGE', C .. 'rt', '-inf', now, 'BYSCORE', 'LIMIT', 0, 1)[1]
    if retry then
      local level = string.match(call('ZRANGE', C .. 't:' .. retry, 0, 0)[1] or '', '^[^\t]*')
      if level ~= '' then rank = math.max(rank or -math.huge, rank_of(tonumber(level))) end
    end
  end
  local score = not rank and tonumber(call('ZSCORE', C .. 'u:' .. heap_of_first, first))
  return at, rank or score and base - math.floor(score / SPAN) or base
end
