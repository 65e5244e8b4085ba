-- Purpose: the pages in which `--seen bloom` keeps 23 bits of each fingerprint: how they are written, and split; before filter.lua.
-- Promise: pages split one by one, in order (linear hashing), so that they hold 768 URLs on average, however many there are.
-- Cost: 0.1 ms to write a page anew, 1 ms to split one.
-- A page is a string: members in it (u16), members before each group of 8 cells (u16), members of each of 256 cells (u8), the
-- members by cell (2 bytes each), then room for new ones (3 bytes each: cell and member). A member is the 15 bits that follow those
-- of its page and cell, and a 1; a split moves each one bit to the left, so what stands below the last 1 is unknown and matches anything.
local floor, byte, char, sub, find = math.floor, string.byte, string.char, string.sub, string.find
local HEAD = 322

local function pair(page, at) return byte(page, at) * 256 + byte(page, at + 1) end
local function two(n) return char(floor(n / 256), n % 256) end

-- Members of each cell as a string, those of the room included.
local function cells_of(page)
  local cells, at = {}, HEAD
  for c = 0, 255 do
    local k = 2 * byte(page, 67 + c)
    cells[c], at = sub(page, at + 1, at + k), at + k
  end
  for j = at + 1, #page - 2, 3 do
    local c, a, b = byte(page, j, j + 2)
    if b == 0 then break end
    cells[c] = cells[c] .. char(a, b)
  end
  return cells
end

-- A page of these cells; its room is at least 24 places and what the allocator would give anyway.
local function build(cells)
  local starts, counts, n = {}, {}, 0
  for c = 0, 255 do
    if c % 8 == 0 then starts[#starts + 1] = two(n) end
    local k = #cells[c] / 2
    counts[c + 1], n = char(k), n + k
  end
  local used = HEAD + 2 * n
  local _, power = math.frexp(used + 78 - 1)
  local class = 2 ^ (power - 3)
  local room = floor((math.ceil((used + 78) / class) * class - 6 - used) / 3) * 3
  return table.concat({two(n), table.concat(starts), table.concat(counts), table.concat(cells, '', 0, 255), string.rep('\0', room)})
end

local function split(node)
  local key = C .. 'b:' .. node
  local page, halves = call('GET', key), {{}, {}}
  if not page then return end
  for c = 0, 255 do halves[1][c], halves[2][c] = '', '' end
  for c, members in pairs(cells_of(page)) do
    local half, to = halves[c < 128 and 1 or 2], c % 128 * 2
    for j = 1, #members, 2 do
      local m = pair(members, j)
      local member, right = two(m * 2 % 65536), to + floor(m / 32768)
      if m == 32768 then -- nothing is known of it but its cell: it goes to both
        member = two(m)
        half[to] = half[to] .. member
      end
      half[right] = half[right] .. member
    end
  end
  call('DEL', key)
  for j = 1, 2 do
    local half = build(halves[j])
    if pair(half, 1) > 0 then call('SET', C .. 'b:' .. 2 * node + j - 1, half) end
  end
end
