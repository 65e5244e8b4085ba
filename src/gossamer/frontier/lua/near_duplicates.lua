-- Purpose: reads and writes the near-duplicate index. The index consists of three maps with short keys and
--   short values. Each map is stored in parts, which are strings of 1 to 3 KB.
-- KEYS[1]: bucket tag.
-- ARGV: crawl, then any number of (verb, map, key, value). Verbs: `g` gets the value, `p` stores the value
--   unless the key has a value, `w` overwrites the value, `d` deletes the key if it has this value. Maps:
--   `e`: equal pages; `b`: bands; `s`: sketches. Keys are hashes.
-- Returns: {number of keys in the map `e`, then the previous value for each verb ('': none)}.
-- Promise: a value stays until it is deleted or overwritten. The size of a part is bounded, because a map
--   gets more parts as its number of keys grows. Each new part takes its keys from one other part (linear
--   hashing).
-- Cost: 2 us per get, 5 us per put.
-- bytes per key, bytes per value, average keys per part
local WIDTHS = {e = {8, 6, 110}, b = {4, 6, 150}, s = {6, 64, 22}}
local meta, texts, changed, sizes = C .. 'y', {}, {}, {}
local function level(parts) -- returns the largest power of 2 that is not greater than `parts`
  local l = 1
  while l * 2 <= parts do l = l * 2 end
  return l
end

local known = call('HMGET', meta, 'e', 'ep', 'b', 'bp', 's', 'sp')
for j, map in ipairs({'e', 'b', 's'}) do
  local parts = num(known[2 * j], 1)
  sizes[map] = {n = num(known[2 * j - 1], 0), parts = parts, level = level(parts)}
end

local function place(key, size) -- returns the number of the part that contains a key (linear hashing)
  local a, b, c, d = string.byte(key, 1, 4)
  local hash = a + b * 256 + c * 65536 + d * 16777216
  local at = hash % (2 * size.level)
  return at < size.parts and at or hash % size.level
end

local function text_of(name)
  if not texts[name] then texts[name] = call('GET', name) or '' end
  return texts[name]
end

local function put(name, text) texts[name] = text; changed[name] = true end

local function find(text, key, width)
  local at = string.find(text, key, 1, true)
  while at and (at - 1) % width ~= 0 do at = string.find(text, key, at + 1, true) end
  return at
end

local function split(map, size, k, width)
  local to, stay, go = size.parts, {}, {}
  local from = C .. 'y:' .. map .. ':' .. to - size.level
  size.parts, size.level = to + 1, level(to + 1)
  local old = text_of(from)
  for at = 1, #old, width do
    local one = string.sub(old, at, at + width - 1)
    local into = place(one, size) == to and go or stay
    into[#into + 1] = one
  end
  put(from, table.concat(stay))
  put(C .. 'y:' .. map .. ':' .. to, table.concat(go))
end

local out = {0}
for j = 2, #ARGV, 4 do
  local verb, map, key, value = ARGV[j], ARGV[j + 1], ARGV[j + 2], ARGV[j + 3]
  local k, size = WIDTHS[map][1], sizes[map]
  local width, name = k + WIDTHS[map][2], C .. 'y:' .. map .. ':' .. place(key, size)
  local text, at = text_of(name), find(text_of(name), key, width)
  local held = at and string.sub(text, at + k, at + width - 1) or ''
  if verb == 'd' and at and held == value or verb == 'w' and at then
    put(name, string.sub(text, 1, at - 1) .. (verb == 'w' and key .. value or '') .. string.sub(text, at + width))
    if verb == 'd' then size.n = size.n - 1 end
  elseif (verb == 'p' or verb == 'w') and not at then
    put(name, text .. key .. value)
    size.n = size.n + 1
    if size.n > size.parts * WIDTHS[map][3] then split(map, size, k, width) end
  end
  out[#out + 1] = held
end
for name in pairs(changed) do
  if texts[name] == '' then call('DEL', name) else call('SET', name, texts[name]) end
end
if next(changed) then
  local e, b, s = sizes.e, sizes.b, sizes.s
  call('HSET', meta, 'e', e.n, 'ep', e.parts, 'b', b.n, 'bp', b.parts, 's', s.n, 'sp', s.parts)
end
out[1] = sizes.e.n
return out
