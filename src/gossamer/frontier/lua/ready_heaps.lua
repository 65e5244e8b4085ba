-- Purpose: finds the hosts that may start now in all heaps that a worker serves. Used by claim and
--   due_buckets.
-- Promise: heaps take turns, so that no heap starves another. A worker with a low score leaves hosts that
--   have not waited long enough to workers with better scores.
-- ARGV[2]: `EASY HARD HEAP...`. EASY and HARD: the minimum ms that easy and hard hosts must have waited.
--   HEAP...: the names of the heaps, or `*` for all heaps.
-- Cost: 1.5 us per heap.
local served, all = {}, false -- the set of heap names, without `!`
local heaps -- {name, ms that its hosts must have waited}

local function serve(name, easy, hard)
  served[name] = true
  heaps[#heaps + 1] = {name, easy}
  heaps[#heaps + 1] = {(string.gsub(name, '^[^@]*', '%0!', 1)), hard}
end

-- Sets `heaps` to the heaps of the current bucket that the worker serves.
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

-- Returns up to k hosts in order of their next start, and the name of each host's heap.
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
