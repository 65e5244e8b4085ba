-- Purpose: writes and splits the pages in which `--seen bloom` stores 23 bits of each fingerprint. Must be
--   loaded before quotient_filter.lua.
-- Promise: pages are split one by one in order (linear hashing). Therefore a page contains 768 URLs on
--   average, whatever the total number of URLs.
-- Cost: 0.05 ms to rewrite a page, 1 ms to split one.
-- A page is a string with these parts in order: the number of members (u16), the number of members before
-- each group of 8 cells (u16 each), the number of members in each of 256 cells (u8 each), the members ordered
-- by cell (2 bytes each), and free space for new members (3 bytes each, for cell and member). The first bits
-- of a fingerprint select the page and the cell. A member consists of the next 15 bits of the fingerprint and
-- a final 1. A split shifts each member one bit to the left. The bits after the last 1 of a member are
-- unknown and match anything.
local floor, byte, char, sub, find = math.floor, string.byte, string.char, string.sub, string.find
local HEAD = 322

local function pair(page, at) return byte(page, at) * 256 + byte(page, at + 1) end
local function two(n) return char(floor(n / 256), n % 256) end

-- Returns a page. `counts`: number of members per cell; `members`: all members in the order of their cells.
--   The page has free space for at least 24 new members. The bytes by which the allocator rounds up are also
--   used as free space.
local function written(counts, members)
  local starts, n = {}, 0
  for c = 1, 256 do
    if c % 8 == 1 then starts[#starts + 1] = two(n) end
    n = n + counts[c]
  end
  local used = HEAD + 2 * n
  local _, power = math.frexp(used + 78 - 1)
  local class = 2 ^ (power - 3)
  local room = floor((math.ceil((used + 78) / class) * class - 6 - used) / 3) * 3
  return table.concat({two(n), table.concat(starts), char(unpack(counts)), members, string.rep('\0', room)})
end

-- Moves the members in the free space of a page to their cells, and returns the new page.
local function merged(page)
  local counts, more, parts, from, at = {byte(page, 67, HEAD)}, {}, {}, HEAD + 1, HEAD
  for j = HEAD + 2 * pair(page, 1) + 1, #page - 2, 3 do
    local c, a, b = byte(page, j, j + 2)
    if b == 0 then break end
    more[c + 1] = (more[c + 1] or '') .. char(a, b)
  end
  for c = 1, 256 do
    at = at + 2 * counts[c]
    if more[c] then
      parts[#parts + 1] = sub(page, from, at) .. more[c]
      from, counts[c] = at + 1, counts[c] + #more[c] / 2
    end
  end
  return written(counts, table.concat(parts) .. sub(page, from, at))
end

local function split(node)
  local key = C .. 'b:' .. node
  local page = call('GET', key)
  if not page then return end
  page = merged(page)
  local at = HEAD
  for half = 0, 1 do
    local counts, members = {}, {}
    for c = 0, 127 do
      local left, right = {}, {}
      for j = at + 1, at + 2 * byte(page, 67 + 128 * half + c), 2 do
        local m = pair(page, j)
        local member, to = two(m * 2 % 65536), m < 32768 and left or right
        if m == 32768 then -- no bits of this member are known, so the member is added to both halves
          member = two(m)
          left[#left + 1] = member
        end
        to[#to + 1], at = member, j + 1
      end
      counts[2 * c + 1], counts[2 * c + 2] = #left, #right
      members[c + 1] = table.concat(left) .. table.concat(right)
    end
    members = table.concat(members)
    if members ~= '' then call('SET', C .. 'b:' .. 2 * node + half, written(counts, members)) end
  end
  call('DEL', key)
end
