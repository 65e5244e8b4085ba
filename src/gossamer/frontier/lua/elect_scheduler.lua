-- Purpose: elects one leader among the schedulers. The caller takes, renews or gives up the lead.
-- KEYS[1]: bucket tag.
-- ARGV: '', the caller, ms after which the lead expires unless renewed (0: give up the lead).
-- Returns: {the caller's token as the leader (0: the caller does not lead), the leader, now in ms, number of
--   the last change of a schedule}.
-- Promise: at most one scheduler leads at a time. Each new leader gets a larger token, so the scripts reject
--   later writes of former leaders.
-- Cost: 3 us.
local token, owner = string.match(call('GET', T .. '@leader') or '', '^(%d+) (.*)$')
if ARGV[3] == '0' then
  if owner == ARGV[2] then call('DEL', T .. '@leader') end
  return {0, '', now, 0}
end
if not owner then token, owner = call('INCR', T .. '@fence'), ARGV[2] end
if owner == ARGV[2] then call('SET', T .. '@leader', token .. ' ' .. owner, 'PX', ARGV[3]) end
return {owner == ARGV[2] and tonumber(token) or 0, owner, now, num(call('GET', T .. '@changes'), 0)}
