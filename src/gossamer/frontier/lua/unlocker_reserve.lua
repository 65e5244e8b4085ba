-- Purpose: reserves credits and a concurrent call (a place) at an unlocker.
-- KEYS[1]: bucket tag.
-- ARGV: crawl, unlocker, token, credits, maximum calls at once, maximum credits per day, maximum credits of
--   the crawl (-1: no limit), ms after which an unsettled call expires.
-- Returns: {reason, ms to wait}. The reason is '' if the call may begin. It is `busy` if all places are
--   taken, or if credits that are now reserved may become free again. It is `open` if the breaker is open,
--   and `day` or `crawl` if the credits of the day or of the crawl are spent.
-- Promise: spent and reserved credits together never exceed a limit. A call that is never settled (its worker
--   died, or it timed out) counts as spent, and keeps its place until it expires. A token gets one place,
--   even if it is requested several times.
-- Cost: 25 us plus 1 us per call in progress.
local who, token, want = ARGV[2], ARGV[3], tonumber(ARGV[4])
local outs, spent = T .. '@calls:' .. who, T .. '@credits'
if call('HEXISTS', outs, token) == 1 then return {'', 0} end -- already reserved, but the reply was lost
local day = math.floor(now / 86400000)
local today, mine = 'day:' .. who .. ':' .. day, 'crawl:' .. ARGV[1]
local live, of_day, of_crawl, v = 0, 0, 0, call('HGETALL', outs)
for j = 1, #v, 2 do
  local ends, credits, d, c = string.match(v[j + 1], '^(%d+) (%d+) (%d+) (.*)$')
  if tonumber(ends) <= now then
    call('HDEL', outs, v[j])
  else
    live = live + 1
    if tonumber(d) == day then of_day = of_day + credits end
    if c == ARGV[1] then of_crawl = of_crawl + credits end
  end
end
local function left(field, most, reserved) -- returns nil, or the reason why the credits are not available
  local sum = num(call('HGET', spent, field), 0) + want
  if most < 0 or sum <= most then return nil end
  return sum - reserved <= most and 'busy' or 'spent'
end
local why = left(mine, tonumber(ARGV[7]), of_crawl)
if why then return {why == 'busy' and why or 'crawl', 500} end
why = left(today, tonumber(ARGV[6]), of_day)
if why then return {why == 'busy' and why or 'day', why == 'busy' and 500 or (day + 1) * 86400000 - now} end
local t = trouble(call('GET', T .. '@unlocker:' .. who) or nil)
if open(t) then return {'open', t.ends - now} end
if probed(t) and live > 0 then return {'open', 1000} end
if live >= tonumber(ARGV[5]) then return {'busy', 100} end
if call('HEXISTS', spent, today) == 0 then
  for _, field in ipairs(call('HKEYS', spent)) do -- once per day: delete days before yesterday
    local d = string.match(field, '^day:' .. who .. ':(%d+)$')
    if d and tonumber(d) < day - 1 then call('HDEL', spent, field) end
  end
end
call('HINCRBY', spent, today, want)
call('HINCRBY', spent, mine, want)
call('HSET', outs, token, string.format('%.0f %d %d %s', now + ARGV[8], want, day, ARGV[1]))
return {'', 0}
