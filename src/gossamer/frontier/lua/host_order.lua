-- Purpose: keeps a second order of a heap's hosts, by level, for crawls with URLs of several levels. Must be
--   loaded before heap_of_host.lua.
-- Promise: `r:HEAP` contains every waiting host. `u:HEAP` contains the same hosts, sorted by the level of
--   their next URL and then by time. A host that is missing in `u:HEAP` or has a wrong score there is still
--   claimed by its time, and the claim corrects the score.
-- Cost: a crawl of one level reads one field per script call. A crawl of several levels takes about 1 us more
--   per change of a host.
-- The field `lv` of the hash `g` contains the level of the bucket's first URL. The field ends in `*` if the
-- bucket has had URLs of another level. A score contains the rank of a level: score = time - rank * SPAN. The
-- rank in a score is relative to the rank of the bucket's first level, so `u:HEAP` can begin as a copy of
-- `r:HEAP`.
local SPAN = 4398046511104 -- 2^42; 2^11 ranks and 42 bits of ms fit into a double

-- Returns the rank of a level. The rank of a level up to 256 equals the level. Above 256, the rank grows by 1
-- each time the level grows by about 1 %, up to 1023.
local function rank_of(level)
  local n = math.abs(level)
  if n > 256 then n = math.min(256 + math.floor(64 * math.log(n / 256) / math.log(2)), 1023) end
  return level < 0 and -n or n
end

-- key prefix of a crawl -> {rank of the first level, whether the crawl has several levels}; false: unknown
local orders = {}
local function order_of(c)
  if orders[c] == nil then
    local base, several = string.match(call('HGET', c .. 'g', 'lv') or '', '^(%-?%d+)(%*?)$')
    orders[c] = base and {rank_of(tonumber(base)), several == '*'} or false
  end
  return orders[c]
end

local function several_levels(c)
  local order = order_of(c)
  return order and order[2]
end

-- These functions write the scores of many hosts at once. After `gather_places`, `set_place` only remembers
-- the last score of each host, and `write_places` writes all scores with one call per heap.
-- key of a heap -> host -> score (false: remove the host); nil: `set_place` writes to the store
local gathered
local function gather_places() gathered = gathered or {} end

local function set_place(key, host, at) -- at: the host's score in the heap, or nil to remove the host
  if gathered then
    gathered[key] = gathered[key] or {}
    gathered[key][host] = at or false
  elseif at then
    call('ZADD', key, at, host)
  else
    call('ZREM', key, host)
  end
end

local function write_places()
  local heaps_of_hosts = gathered or {}
  gathered = nil
  for key, hosts in pairs(heaps_of_hosts) do
    local adds, removes = {}, {}
    for host, at in pairs(hosts) do
      if at then adds[#adds + 1] = at; adds[#adds + 1] = host else removes[#removes + 1] = host end
    end
    for j = 1, #adds, 2000 do call('ZADD', key, unpack(adds, j, math.min(j + 1999, #adds))) end
    for j = 1, #removes, 2000 do call('ZREM', key, unpack(removes, j, math.min(j + 1999, #removes))) end
  end
end

-- Copies each heap `r:HEAP` of a bucket to `u:HEAP`, which begins the order by level. All waiting hosts get
-- the rank of the bucket's first level.
local function begin_order(c, base)
  write_places()
  local names = call('SMEMBERS', c .. 'hs')
  names[#names + 1] = 'http'
  for _, name in ipairs(names) do
    for _, heap in ipairs({name, (string.gsub(name, '^[^@]*', '%0!', 1))}) do call('COPY', c .. 'r:' .. heap, c .. 'u:' .. heap, 'REPLACE') end
  end
  call('HSET', c .. 'g', 'lv', base .. '*')
  orders[c] = nil
end

-- Must be called when a host gets its first URL of a level.
local function level_began(level)
  local order = order_of(C)
  if not order then
    call('HSET', C .. 'g', 'lv', level)
    orders[C] = nil
  elseif not order[2] and order[1] ~= rank_of(tonumber(level)) then
    begin_order(C, string.match(call('HGET', C .. 'g', 'lv'), '^%-?%d+'))
  end
end

-- Records when a retry of a host will be due. A due retry may raise the host's rank (claim_order.lua).
local function note_retry(host, due)
  if several_levels(C) then call('ZADD', C .. 'rt', 'LT', due, host) end
end

-- Sets the score of a host in the order by level, or removes the host if `at` is nil. levels: text that
-- begins with the level of the host's next URL.
local function rank_host(c, heap, host, at, levels)
  if not at then set_place(c .. 'u:' .. heap, host); return end
  local rank = rank_of(tonumber(string.match(levels or '', '^%-?%d+')) or 0) - orders[c][1]
  set_place(c .. 'u:' .. heap, host, math.min(at, SPAN - 1) - rank * SPAN)
end

local function remove_host(c, heap, host)
  set_place(c .. 'r:' .. heap, host)
  if several_levels(c) then set_place(c .. 'u:' .. heap, host) end
end
