-- Purpose: hold a bucket's hosts after its server changed (a replica was made master, a server began again); put before claim.
-- Promise: what the new server does not know of the last claims, or its clock says otherwise, brings no host asked sooner than its
--   delay: no host is claimed before its own delay has passed since the first claim that the new server was asked for.
-- Cost: 1 us a call that finds hosts.
local since = 0 -- when the server that has the bucket now was first asked, in ms; 0: nobody else had it before

local function look_for_change(run) -- run: id of the server's process; '': it never changes
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
