-- Purpose: taking URLs in, shared by add and settle; put after the prelude and the seen-set.
-- Promise: a URL is taken once however many producers offer it at the same moment; each refusal is counted.
-- Cost: about 1 us a known URL, 5 us a new one; a group of links shares the reads and writes of its host.

-- Pages a discovered host may still have: its budget grows with the domains in good standing that link to it. One link alone
-- may be spam: such a host has 5 pages and a thousandth of what the crawl has fetched, and beyond them all such hosts share 50
-- pages and a hundredth. Hosts that nobody vouches for share a hundredth, for each costs its robots.txt, too.
-- cap < 0: -cap for everybody. Returns the room, and the count of the crawl that what is taken goes to.
local function room(host, voucher, cap)
  local n, v = 0, call('HMGET', C .. 'h:' .. host, 'u', 'v')
  if voucher ~= '' and num(v[2], 0) < 10 and call('SADD', C .. 'v:' .. host, voucher) == 1 then
    v[2] = call('HINCRBY', C .. 'h:' .. host, 'v', 1)
  end
  n = num(v[2], 0)
  if cap < 0 then return -cap - num(v[1], 0) end
  if n > 1 then return math.ceil(cap * (n > 2 and 1 or 0.1)) - num(v[1], 0) end
  local c = call('HMGET', C .. 'n', 'pages', 'strangers', 'singles')
  local pages, used = num(c[1], 0), num(v[1], 0)
  if n == 0 then return 5 + math.floor(pages / 100) - num(c[2], 0), 'strangers' end
  local own, shared = 5 + math.floor(pages / 1000) - used, 50 + math.floor(pages / 100) - num(c[3], 0)
  return math.min(math.max(own, 0) + math.max(shared, 0), math.ceil(cap * 0.02) - used), 'singles'
end

-- Queue the entries; what is over the host's budget is parked; a host whose standing grew gets its parked URLs back.
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
    if pool then call('HINCRBY', C .. 'n', pool, #entries) end
  end
  if #entries > 0 then
    if lane ~= 'http' then call('HSET', hk, 'y', lane) end
    if enqueue(host, level, entries, front) == #entries then arm(host) end
  end
  return parked
end

-- ARGV from j on: groups of one host and level (see add.lua). Returns new, known, parked.
local function add(j, cap)
  local new, known, parked, infra = 0, 0, 0, 0
  while j <= #ARGV do
    local host, flags, n, entries = ARGV[j], ARGV[j + 3], tonumber(ARGV[j + 5]), {}
    local function is(flag) return string.find(flags, flag, 1, true) ~= nil end
    for e = j + 6, j + 3 + 3 * n, 3 do
      if not seen(ARGV[e], ARGV[e + 1]) then entries[#entries + 1] = ARGV[e + 2] end
    end
    local taken = #entries
    new = new + taken
    if is('i') then infra = infra + taken elseif not is('r') then known = known + n - taken end
    if taken > 0 then
      parked = parked + take(host, ARGV[j + 1], ARGV[j + 2], entries, is('f'), is('o') or is('i'), ARGV[j + 4], cap)
    end
    j = j + 6 + 3 * n
  end
  if new > 0 then call('HINCRBY', C .. 'g', 'c' .. gens.n, new) end
  count('added', new); count('open', new - parked); count('infra', infra)
  count('found', new + known - infra); count('skip:duplicate', known); count('skip:budget', parked)
  return {new, known, parked}
end
