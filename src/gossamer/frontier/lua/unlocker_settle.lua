-- Purpose: settles a call to an unlocker with its actual cost, and records its result.
-- KEYS[1]: bucket tag.
-- ARGV: crawl, unlocker, token, credits, health code of the unlocker (breaker.lua), reason. If `credits` is
--   -1, the cost is unknown, so the reserved credits stay spent and the place stays taken for 10 s, because
--   the provider may still be working.
-- Returns: {ms until the open breaker of the unlocker permits a call (0: the breaker is not open), number of
--   openings in a row}.
-- Promise: a token is settled once, and a repeated call changes no credits. The credits are charged to the
--   day of the reservation.
-- Cost: 15 us.
local outs, spent, key = T .. '@calls:' .. ARGV[2], T .. '@credits', T .. '@unlocker:' .. ARGV[2]
local out = call('HGET', outs, ARGV[3])
local s = {t = trouble(call('GET', key) or nil)}
if out then
  local ends, reserved, day, crawl = string.match(out, '^(%d+) (%d+) (%d+) (.*)$')
  local credits = tonumber(ARGV[4])
  if credits >= 0 then
    call('HDEL', outs, ARGV[3])
    call('HINCRBY', spent, 'day:' .. ARGV[2] .. ':' .. day, credits - reserved)
    if call('HEXISTS', spent, 'crawl:' .. crawl) == 1 then call('HINCRBY', spent, 'crawl:' .. crawl, credits - reserved) end
  elseif tonumber(ends) > now + 10000 then
    call('HSET', outs, ARGV[3], string.format('%.0f %s %s %s', now + 10000, reserved, day, crawl))
  end
  felt(s, ARGV[5], ARGV[6])
  local text = s.told and s.t and written(s.t)
  if text then call('SET', key, text, 'PX', 86400000) elseif s.told then call('DEL', key) end
end
return {open(s.t) and s.t.ends - now or 0, s.t and s.t.openings or 0}
