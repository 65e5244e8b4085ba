-- Purpose: contains the code that all scripts share. The prelude is loaded before each script.
-- KEYS[1]: the bucket's tag.
-- ARGV[1]: the crawl ('' if the script does not concern a crawl).
-- Promise: all times are in milliseconds and come from the store's clock. Keys: see store/keys.py.
local T, C = KEYS[1], KEYS[1] .. ARGV[1] .. ':'
local call = redis.call
local clock = call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

local function num(x, default) return x and tonumber(x) or default end

local function parts(record) -- returns host, level, kind, n0, n1 and entry of a lease record
  return string.match(record, '^([^\t]*)\t([^\t]*)\t([^\t]*)\t([^\t]*)\t([^\t]*)\t(.*)$')
end

local function count(field, by)
  if by ~= 0 then call('HINCRBY', C .. 'n', field, by) end
end

-- Increases a total over all crawls. Totals never decrease. Metrics export the totals
-- (observability/totals.py).
local function total(field, by)
  if by ~= 0 then call('HINCRBY', T .. '@totals', field, by) end
end

-- Returns whether an entry is infrastructure, which does not count as a page: a sitemap, a feed, or a page
-- that is only read again (uppercase scheme letter). A file counts as a page.
local function infrastructure(entry)
  if string.byte(entry, 1) < 97 then return true end
  local extra = cmsgpack.unpack(string.sub(entry, 4))[4]
  return extra and string.byte(extra.use or '', 1) == 64 and extra.use ~= '@file' or false
end

-- Infrastructure entries are counted in `infra`. They are counted in `found` only while they are dead
-- letters.
local function apart(entry, by)
  if infrastructure(entry) then count('infra', by); count('found', -by) end
end

local function bury(reason, detail, host, level, entry) -- turns an entry into a dead letter
  local id = call('HINCRBY', C .. 'n', 'letter', 1)
  call('HSET', C .. 'x', id, table.concat({reason, detail, host, level, now, entry}, '\t'))
  count('open', -1); count('dead', 1); count('err:' .. reason, 1)
  total('dead|' .. reason, 1)
  apart(entry, -1)
end
