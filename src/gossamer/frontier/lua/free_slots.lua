-- Purpose: frees the slots of finished requests before their rows are durable, so that a slow sink does not
--   delay hosts.
-- KEYS[1]: bucket tag.
-- ARGV: crawl, then any number of (token, ms since the request began, delay ms, pace, wait ms requested by
--   the host, health code of the host (breaker.lua), reason).
-- Returns: how many claims were still leased.
-- Promise: frees each slot once. `settle` ends the claim later and does not free the slot again.
-- Cost: about 8 us per claim.
local ours, touched = 0, {}
for j = 2, #ARGV, 7 do
  local record = call('HGET', C .. 'lp', ARGV[j])
  if record then
    local host, level, kind, n0, n1, entry = parts(record)
    if kind ~= 'landed' then
      call('HSET', C .. 'lp', ARGV[j], table.concat({host, level, 'landed', n0, n1, entry}, '\t'))
      felt(slot(host), ARGV[j + 5], ARGV[j + 6])
      release(host, n0, n1, tonumber(ARGV[j + 1]), tonumber(ARGV[j + 2]), tonumber(ARGV[j + 4]))
      if ARGV[j + 3] ~= '' then paced(host, ARGV[j + 3], ARGV[j + 2]) end
      ours, touched[host] = ours + 1, true
    end
  end
end
for host in pairs(touched) do arm(host, true) end
return ours
