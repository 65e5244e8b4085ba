-- Purpose: frees the slots of finished requests before their rows are durable. Used by free_slots and claim.
-- Arguments of a request: token, ms since the request began, delay in ms, pace, ms that the host asked to
--   wait, health code of the host (breaker.lua), reason.
-- Promise: each slot is freed once. The later call of settle.lua ends the claim without freeing the slot or
--   storing the pace again.
-- Cost: about 8 us per request.

-- Frees the slots of the requests in ARGV[from] to ARGV[to]. Returns how many of the requests had a leased
-- claim whose slot was not yet free.
local function land(from, to)
  local ours, touched = 0, {}
  for j = from, to, 7 do
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
  arm_all(touched)
  return ours
end
