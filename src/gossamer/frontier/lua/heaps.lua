-- Purpose: which ready heap a host stands in: `LANE`, `LANE@REGION`, and with `!` behind the lane for hard hosts; after trouble.
--   To a lane belongs what the host is set apart for (`+SITE`, handover.lua).
-- Promise: a host's own lane and region are those it was first added with; a request may ask for a region of its own.
-- Cost: hosts of the lane http that are not hard never get here.

-- What a queue entry asks for by itself.
local function region_of(entry)
  local extra = cmsgpack.unpack(string.sub(entry, 4))[4]
  return extra and extra.region
end

-- The name of a heap with the region that an entry asks for, else as it is.
local function sent_to(heap, entry)
  local region = region_of(entry)
  return region and string.match(heap, '^[^@]*') .. '@' .. region or heap
end

-- The name of the heap of a host for its next request: its own (`y`; `?`: requests ask for regions by themselves), `!` behind the
-- lane when it is hard. `Y` is where it stands: what is usual never gets here.
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
    call('ZREM', c .. 'r:' .. was, host)
    call('HSET', hk, 'Y', name)
    call('SADD', c .. 'hs', (string.gsub(name, '!', '')))
  end
  return name
end

-- A host was added: its lane and region are settled the first time (`lane`; with `?`: these requests ask for regions).
local function house(host, lane)
  local hk, asks = C .. 'h:' .. host, string.sub(lane, -1) == '?'
  local own, at_home = call('HGET', hk, 'y'), call('HEXISTS', hk, 'q') == 1
  if own and (not asks or string.sub(own, -1) == '?') then return end
  if own then lane = own .. '?' elseif at_home then lane = asks and 'http?' or 'http' end
  if lane == 'http' then return end
  call('HSET', hk, 'y', lane)
  call('SADD', C .. 'hs', (string.gsub(lane, '%?$', '')))
end
