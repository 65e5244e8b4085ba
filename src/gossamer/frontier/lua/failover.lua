-- Purpose: delays the hosts of a bucket after a replica was promoted or the bucket's server restarted. Must
--   be loaded before claim.lua.
-- Promise: no host gets a request before its delay has passed, even if the new server lacks the latest claims
--   or its clock differs. Each host therefore waits its own delay after the first claim on the new server.
-- Cost: 1 us per call that finds hosts.
local since = 0 -- ms of the first claim on the bucket's current server; 0: the server never changed

local function look_for_change(run) -- run: ID of the server's process; '': the server never changes
  if run == '' then return end
  local was, at = string.match(call('GET', T .. 'e') or '', '^(%S+) (%d+)$')
  if was ~= run then
    at = was and now or 0
    call('SET', T .. 'e', run .. ' ' .. at)
  end
  since = tonumber(at)
end

local function held(host, delay)
  if since == 0 or since + delay <= now then return false end
  slot(host).n = math.max(slot(host).n, since + delay)
  arm(host, true)
  return true
end
