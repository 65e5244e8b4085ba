-- Purpose: elects one leader among the schedulers. The caller takes, keeps or gives up the lead.
-- KEYS[1]: bucket tag.
-- ARGV: '', the caller, ms after which the lead expires unless it is renewed (0: give the lead up).
-- Returns: {the leader's token (0: another scheduler leads), the leader, now ms, number of the last change of
--   a schedule}.
-- Promise: at most one owner leads at a time. Each new leader gets a larger token, so later writes of a
--   former leader are rejected.
-- Cost: 3 us.
local token, owner = string.match(call('GET', T .. '@leader') or '', '^(%d+) (.*)$')
if ARGV[3] == '0' then
  if owner == ARGV[2] then call('DEL', T .. '@leader') end
  return {0, '', now, 0}
end
if not owner then token, owner = call('INCR', T .. '@fence'), ARGV[2] end
if owner == ARGV[2] then call('SET', T .. '@leader', token .. ' ' .. owner, 'PX', ARGV[3]) end
return {owner == ARGV[2] and tonumber(token) or 0, owner, now, num(call('GET', T .. '@changes'), 0)}
