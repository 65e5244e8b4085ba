-- Purpose: the first entries of the outbox are in the cold store, on its disk: take them out.
-- KEYS[1]: bucket tag.  ARGV: crawl, how many were read, number of the last of them.
-- Returns: how many were taken out.
-- Promise: an entry that was not read stays, whoever else empties the outbox meanwhile.  Cost: O(entries).
local n, last = tonumber(ARGV[2]), tonumber(ARGV[3])
local function number(record) return tonumber(string.match(record, '^%d+')) end
local at = call('LINDEX', C .. 'o', n - 1)
if not at or number(at) ~= last then -- somebody took some of them
  local gone = 0
  for _, record in ipairs(call('LRANGE', C .. 'o', 0, n - 1)) do
    if number(record) > last then break end
    gone = gone + 1
  end
  n = gone
end
if n > 0 then call('LTRIM', C .. 'o', n, -1) end
return n
