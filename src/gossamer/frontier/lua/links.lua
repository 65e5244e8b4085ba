-- Purpose: adds URLs. Shared by add and settle. Must be loaded after the prelude and seen.lua.
-- Promise: a URL is added only once, even if several producers offer it at the same moment. Each rejection is
--   counted.
-- A group of links consists of host, level, lane, flags, voucher, marks and one string of all entries. The
-- marks are msgpack: hi, lo and entry length of each link. A mark with the length 0 is a second mark of the
-- preceding entry, and is only added to the seen set. All entries are in one string, because most links are
-- known and need no string of their own.
-- Cost: about 1 us per known URL, 5 us per new URL. The data of a host are read and written once per group of
--   links.

-- Queues entries of a host, and parks the entries that exceed the host's page budget. If a new voucher raises
-- the budget, parked URLs return to the queue.
local function take(host, level, lane, entries, front, own, voucher, cap)
  local hk, pk, parked = C .. 'h:' .. host, C .. 'p:' .. host, 0
  if not own then
    local free, pool = room(host, voucher, cap)
    free = math.max(free, 0)
    for j = #entries, free + 1, -1 do call('RPUSH', pk, table.remove(entries)); parked = parked + 1 end
    if parked == 0 and free > #entries then
      for _, entry in ipairs(call('LPOP', pk, free - #entries) or {}) do entries[#entries + 1] = entry; parked = parked - 1 end
    end
    call('HINCRBY', hk, 'u', #entries)
    if pool then call('HINCRBY', C .. 'n', pool, #entries); pools[pool] = pools[pool] + #entries end
  end
  if #entries > 0 then
    if lane ~= 'http' then house(host, lane) end
    local first
    if front then first = enqueue(host, level, entries, true) == #entries else first = join(host, level, entries) end
    if first or began[host] or string.sub(lane, -1) == '?' then arm(host); began[host] = nil end
  end
  return parked
end

local before = {strangers = 0, singles = 0} -- pages that earlier calls of `add`, for other buckets, charged

-- Adds the groups of links that are the elements j to `last` of `list`. ARGV[2] to ARGV[5] are as in add.lua.
-- `shares`: the index in ARGV of the three counts of the other buckets. Returns the counts of new, known and
-- parked URLs, and of new URLs charged to strangers and to singles (page_budget.lua).
local function add(list, j, last, shares)
  local cap, depths = tonumber(ARGV[4]), tonumber(ARGV[5])
  before.strangers, before.singles = before.strangers + pools.strangers, before.singles + pools.singles
  elsewhere = {ARGV[shares], ARGV[shares + 1] + before.strangers, ARGV[shares + 2] + before.singles}
  pools = {strangers = 0, singles = 0}
  generations(ARGV[2], tonumber(ARGV[3]))
  bound = gens.hot or 0
  local new, known, parked, infra, late, revisits, marked, recent = 0, 0, 0, 0, 0, 0, 0, 0
  while j <= last do
    local host, flags, marks, entries, nearby = list[j], list[j + 3], cmsgpack.unpack(list[j + 5]), {}, {}
    local function is(flag) return string.find(flags, flag, 1, true) ~= nil end
    if is('h') and not call('HGET', C .. 'h:' .. host, 's') then
      hold(host, list[j + 1], list[j + 2], marks, list[j + 6])
      marks = {}
    end
    local at, n, again, unmarked, entry = 1, #marks / 3, is('v'), marked, nil
    for e = 1, #marks, 3 do
      local hi, lo, first = marks[e], marks[e + 1], at
      at = at + marks[e + 2]
      local fresh = again or not seen(hi, lo, true)
      local second = at == first -- a second mark of the preceding entry
      if second then
        n, marked = n - 1, marked + (fresh and 1 or 0)
      else
        entry = (fresh or depths > 0) and string.sub(list[j + 6], first, at - 1)
        if fresh then entries[#entries + 1] = entry end
      end
      if depths > 0 and entry and not again then
        if fresh then put_depth(hi, lo, entry, depths)
        elseif not second then nearby[#nearby + 1] = nearer(hi, lo, entry, depths) end
      end
    end
    if marked > unmarked and is('y') then recent = recent + marked - unmarked end
    local taken = #entries
    new, revisits = new + taken, revisits + (again and taken or 0)
    if is('i') then infra = infra + taken elseif not is('r') then known = known + n - taken end
    if is('h') then late = late + n end
    if is('s') then count('seeds', taken) end
    local own = is('o') or is('i')
    -- a link to a known URL may still be a voucher, which raises the budget of the host
    local raises = not own and list[j + 4] ~= '' and call('EXISTS', C .. 'p:' .. host) == 1
    if taken > 0 or raises then
      parked = parked + take(host, list[j + 1], list[j + 2], entries, is('f'), own, list[j + 4], cap)
    end
    if #nearby > 0 then take(host, list[j + 1], list[j + 2], nearby, false, true) end
    count('open', #nearby); count('infra', #nearby)
    j = j + 7
  end
  if new + marked > revisits then remembered(new + marked - revisits) end
  count('added', new); count('open', new - parked); count('infra', infra)
  count('found', new + known - infra - late); count('skip:scope', -late); count('revisits', revisits)
  count('skip:duplicate', known); count('skip:budget', parked)
  if recent > 0 then count('found', recent); count('skip:recent', recent); total('skip:recent', recent) end
  total('added', new); total('skip:duplicate', known); total('skip:budget', parked)
  return {new, known, parked, pools.strangers, pools.singles}
end
