-- Purpose: decides to which ready heap a host belongs: `LANE` or `LANE@REGION`, with `!` after the lane for
--   hard hosts. The lane includes the sites whose files a worker needs (`+SITE`, move_host.lua). Must be
--   loaded after breaker.lua.
-- Promise: a host keeps the lane and region with which it was first added, but single requests of the host
--   may require another region.
-- Cost: none for hosts in the lane http that are not hard, because no script calls this code for such hosts.

-- Returns the region that a queue entry requires.
local function region_of(entry)
  local extra = cmsgpack.unpack(string.sub(entry, 4))[4]
  return extra and extra.region
end

-- Returns `heap` with its region replaced by the region that an entry requires. If the entry requires no
-- region, returns `heap` unchanged.
local function sent_to(heap, entry)
  local region = region_of(entry)
  return region and string.match(heap, '^[^@]*') .. '@' .. region or heap
end

-- Returns the heap of a host for its next request: the heap assigned to the host (`y`), with `!` after the
-- lane if the host is hard. A `?` at the end of `y` means that the host's requests may require regions. `Y`
-- is the heap that currently contains the host.
local function heap_of(c, host, y, s)
  local hk, name = c .. 'h:' .. host, y or 'http'
  if string.sub(name, -1) == '?' then
    name = string.sub(name, 1, -2)
    local level = string.match(call('HGET', hk, 'L') or '', '^[^,]+')
    local entry = level and call('LINDEX', c .. 'q:' .. host .. ':' .. level, 0)
    entry = entry or string.match(call('ZRANGE', c .. 't:' .. host, 0, 0)[1] or '', '\t(.*)$')
    if entry then name = sent_to(name, entry) end
  end
  if s.t and s.t.hard ~= '' then name = string.gsub(name, '^[^@]*', '%0!', 1) end
  local was = call('HGET', hk, 'Y') or (y and string.gsub(y, '%?$', '') or 'http')
  if was ~= name then
    remove_host(c, was, host)
    call('HSET', hk, 'Y', name)
    call('SADD', c .. 'hs', (string.gsub(name, '!', '')))
  end
  return name
end

-- Sets the lane and region of a host when it is first added. A `?` at the end of `lane` means that the host's
-- requests may require regions.
local function house(host, lane)
  local hk, asks = C .. 'h:' .. host, string.sub(lane, -1) == '?'
  local own, at_home = call('HGET', hk, 'y'), call('HEXISTS', hk, 'q') == 1
  if own and (not asks or string.sub(own, -1) == '?') then return end
  if own then lane = own .. '?' elseif at_home then lane = asks and 'http?' or 'http' end
  if lane == 'http' then return end
  call('HSET', hk, 'y', lane)
  call('SADD', C .. 'hs', (string.gsub(lane, '%?$', '')))
end
