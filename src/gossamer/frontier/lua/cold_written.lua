-- Purpose: removes the first entries of the outbox once the cold store has these entries on its disk.
-- KEYS[1]: bucket tag.
-- ARGV: crawl, how many entries the caller read, number of the last entry read.
-- Returns: how many entries were removed.
-- Promise: an entry that the caller did not read stays, even if other callers remove entries at the same
--   time.
-- Cost: O(entries).
local n, last = tonumber(ARGV[2]), tonumber(ARGV[3])
local function number(record) return tonumber(string.match(record, '^%d+')) end
local at = call('LINDEX', C .. 'o', n - 1)
if not at or number(at) ~= last then -- another caller has removed entries
  local gone = 0
  for _, record in ipairs(call('LRANGE', C .. 'o', 0, n - 1)) do
    if number(record) > last then break end
    gone = gone + 1
  end
  n = gone
end
if n > 0 then call('LTRIM', C .. 'o', n, -1) end
return n
