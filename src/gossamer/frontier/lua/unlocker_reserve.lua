-- Purpose: reserves credits and one of the concurrent calls (a place) of an unlocker.
-- KEYS[1]: bucket tag.
-- ARGV: crawl, unlocker, token, credits, maximum number of concurrent calls, maximum credits per day, maximum
--   credits of the crawl (-1: no limit), ms after which an unsettled call expires.
-- Returns: {reason, ms to wait}. Reasons: '': the call may begin; `busy`: all places are taken, or the
--   missing credits are reserved by calls in progress and may become free again; `open`: the unlocker's
--   breaker is open, or a probe is in progress; `day`, `crawl`: the credits of the day or of the crawl are
--   spent.
-- Promise: spent and reserved credits together never exceed a limit. The credits of a call that is never
--   settled (its worker died, or the call timed out) count as spent, and the call keeps its place until it
--   expires. A token gets only one place, even if the caller requests the place several times. A call is
--   late if it has lasted a sixth of its time, or if its connection broke. Late calls hold at most half of
--   the places (rounded up), so that calls without an answer do not hold back all others. There are never
--   more than twice as many calls as places.
-- Cost: 25 us plus 1 us per call in progress.
local who, token, want = ARGV[2], ARGV[3], tonumber(ARGV[4])
local outs, spent = T .. '@calls:' .. who, T .. '@credits'
-- the place was reserved before, but the reply was lost
if call('HEXISTS', outs, token) == 1 then return {'', 0} end
local day = math.floor(now / 86400000)
local today, mine = 'day:' .. who .. ':' .. day, 'crawl:' .. ARGV[1]
local live, late, of_day, of_crawl, v = 0, 0, 0, 0, call('HGETALL', outs)
for j = 1, #v, 2 do
  local ends, credits, d, c = string.match(v[j + 1], '^(%d+) (%d+) (%d+) (.*)$')
  if tonumber(ends) <= now then
    call('HDEL', outs, v[j])
  else
    live = live + 1
    if ends - now < ARGV[8] * 5 / 6 then late = late + 1 end
    if tonumber(d) == day then of_day = of_day + credits end
    if c == ARGV[1] then of_crawl = of_crawl + credits end
  end
end
-- returns nil if the credits are available, otherwise `busy` or `spent`
local function left(field, most, reserved)
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
local most = tonumber(ARGV[5])
if live >= 2 * most or live - late + math.min(late, math.ceil(most / 2)) >= most then return {'busy', 100} end
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
