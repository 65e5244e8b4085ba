-- Purpose: one leader of many schedulers: take the lead, keep it, or give it up.
-- KEYS[1]: bucket tag.  ARGV: '', owner, ms it holds (0: give it up).
-- Returns: {token (0: another leads), the leader, now ms, number of the last change of a schedule}.
-- Promise: at most one owner holds the lead at a time; each new lead has a larger token, and what a former leader still
--   wants to write is refused by it.  Cost: 3 us.
local token, owner = string.match(call('GET', T .. '@leader') or '', '^(%d+) (.*)$')
if ARGV[3] == '0' then
  if owner == ARGV[2] then call('DEL', T .. '@leader') end
  return {0, '', now, 0}
end
if not owner then token, owner = call('INCR', T .. '@fence'), ARGV[2] end
if owner == ARGV[2] then call('SET', T .. '@leader', token .. ' ' .. owner, 'PX', ARGV[3]) end
return {owner == ARGV[2] and tonumber(token) or 0, owner, now, num(call('GET', T .. '@changes'), 0)}
