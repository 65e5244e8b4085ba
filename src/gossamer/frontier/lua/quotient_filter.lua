-- Purpose: implements the seen set for `--seen bloom`, a quotient filter in pages (filter_pages.lua). Must be
--   loaded before seen.lua.
-- Promise: the filter uses about 2.8 bytes per URL at any size. A lookup reads one page.
-- Cost: 3 us per known URL and 6 us per new URL, including rewrites and splits of pages.
local filter_risk = 0 -- expected number of new URLs that this call mistakes for known URLs
local filter_pages = 1

-- Returns the node of a URL's page in the tree of pages (the children of n are 2n and 2n + 1), and the 24
-- bits that identify the URL in the page.
local function place(pages, hi, lo)
  local _, level = math.frexp(pages)
  level = level - 1
  if floor(hi / 2 ^ (32 - level)) < pages - 2 ^ level then level = level + 1 end
  local whole = hi * 2097152 + floor(lo % 4294967296 / 2048)
  return 2 ^ level + floor(hi / 2 ^ (32 - level)), floor(whole / 2 ^ (30 - level)) % 8388608 * 2 + 1
end

-- Adds a URL to a page of the filter. Uses the free space of the page, or rewrites the page if it is full.
local function remember(key, page, word)
  local free = page and find(page, '\0\0\0', HEAD + 2 * pair(page, 1) + 1, true)
  if free then return call('SETRANGE', key, free - 1, word) end
  page = page and merged(page) or written({byte(string.rep('\0', 256), 1, 256)}, '')
  local at = HEAD + 2 * pair(page, 1)
  call('SET', key, sub(page, 1, at) .. word .. sub(page, at + 4))
end

local function in_filter(_, hi, lo, put)
  local node, word = place(filter_pages, hi, lo)
  local key, cell, v = C .. 'b:' .. node, floor(word / 65536), word % 65536
  local page, clear = call('GET', key), 1
  word = char(cell) .. two(v)
  if page then
    local group = cell - cell % 8
    local at = pair(page, 3 + group / 4)
    for c = group, cell - 1 do at = at + byte(page, 67 + c) end
    at = HEAD + 2 * at + 1
    for j = at, at + 2 * byte(page, 67 + cell) - 2, 2 do
      local m = pair(page, j)
      local last = bit.band(m, -m)
      if bit.band(bit.bxor(m, v), bit.bnot(2 * last - 1)) == 0 then return true end
      clear = clear * (1 - last / 32768)
    end
    local room = HEAD + 2 * pair(page, 1) + 1
    at = room
    repeat
      at = find(page, word, at, true)
      if at and (at - room) % 3 == 0 then return true end
      at = at and at + 1
    until not at
  end
  if put then remember(key, page, word) end
  filter_risk = filter_risk + 1 / clear - 1
  return false
end
