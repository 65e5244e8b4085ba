-- Purpose: selects the hosts of a claim, in order. Used by claim. Must be loaded after queue.lua and
--   ready_ranks.lua.
-- Promise: hosts with the highest level come first, except that every 16th host is the host that has been due
--   for longest. If a crawl has only one level, hosts are claimed in the order of their next start.
-- Cost: see ready_heaps.lua and ready_ranks.lua.

-- Updates the ranks of hosts with a due retry.
local function raise_hosts()
  for _, host in ipairs(call('ZRANGE', C .. 'rt', '-inf', now, 'BYSCORE', 'LIMIT', 0, 64)) do
    call('ZREM', C .. 'rt', host)
    promote(host)
    arm(host)
    local next = call('ZRANGE', C .. 't:' .. host, 0, 0, 'WITHSCORES')[2]
    if next then note_retry(host, next) end
  end
end

-- Returns up to k hosts of each heap that may start now, as {rank, host, name of the heap}, in descending
--   order of rank. Hosts of equal rank are taken from the heaps in turn. The second result is true if some
--   levels were not examined.
local function ready_of_ranks(k, base, floor)
  local all, lists, beyond = {}, 0, false
  for h, heap in ipairs(heaps) do
    local found, more = ready_by_rank(heap, k, base, floor)
    local depth = 0
    if #found > 0 then lists = lists + 1 end
    beyond = beyond or more
    for d, one in ipairs(found) do
      depth = d > 1 and found[d - 1][1] == one[1] and depth + 1 or 0
      one[3], one[4] = heap[1], depth * #heaps + (h + now) % #heaps
      all[#all + 1] = one
    end
  end
  if lists > 1 then
    table.sort(all, function(a, b) if a[1] ~= b[1] then return a[1] > b[1] end return a[4] < b[4] end)
  end
  return all, beyond
end

-- Returns three lists: up to k hosts, the name of each host's heap, and each host's rank (nil if the crawl
--   has only one level). order: `TURN FLOOR`. TURN: the number of hosts that the caller has claimed so far,
--   modulo 16 (-: the 16th host is also selected by rank). FLOOR: the lowest rank to claim (-: every rank).
local function ready(k, order)
  look()
  if not several_levels(C) then return ready_by_time(k) end
  raise_hosts()
  local turn, floor = string.match(order, '^(%S+) (%S+)$')
  turn, floor = tonumber(turn), tonumber(floor)
  local ranked, beyond = ready_of_ranks(k, orders[C][1], floor or -math.huge)
  local hosts, from, ranks, taken, r, t = {}, {}, {}, {}, 1, 1
  local fill = beyond or not floor -- whether the remaining places are filled with hosts by time
  local timed, heap_of_timed = {}, {}
  if turn or fill then timed, heap_of_timed = ready_by_time(k) end
  while #hosts < k do
    while ranked[r] and taken[ranked[r][2]] do r = r + 1 end
    while timed[t] and taken[timed[t]] do t = t + 1 end
    local n, best = #hosts + 1, ranked[r]
    if timed[t] and (turn and (turn + n) % 16 == 0 or fill and not best) then
      best = {-math.huge, timed[t], heap_of_timed[t]}
    end
    if not best then break end
    ranks[n], hosts[n], from[n] = best[1], best[2], best[3]
    taken[hosts[n]] = true
  end
  return hosts, from, ranks
end

-- Returns the number of URLs that one call may claim from a host. If the host has a higher rank than the last
-- host of the call, all URLs of the host's highest level may be claimed.
local function share_of(host, free, ranks, j, share)
  if free <= share or ranks[j] <= ranks[#ranks] then return share end
  local level = string.match(call('HGET', C .. 'h:' .. host, 'L') or '', '^[^,]+')
  return level and math.max(share, call('LLEN', C .. 'q:' .. host .. ':' .. level)) or share
end
