-- Purpose: lets an operator control one host while crawls run: pause the host, fix its delay, or set its
--   maximum number of concurrent requests. Ending a pause also closes the host's breaker.
-- KEYS[1]: bucket tag.
-- ARGV: '', host, field, value ('': remove the value). Fields: `p`: ms until which the host is paused; `D`:
--   delay in ms; `m`: maximum number of concurrent requests.
-- Returns: 1 if the value changed, else 0.
-- Promise: a new value applies to all crawls and workers from the next claim on, until the value is removed.
--   The call does not change open claims. After a change of the delay, a host waits at most the new delay
--   from now, unless the host asked for more time (429, 503).
-- Cost: 5 us.
local hk = T .. 'h:' .. ARGV[2]
local same = (call('HGET', hk, ARGV[3]) or '') == ARGV[4]
if ARGV[4] == '' then call('HDEL', hk, ARGV[3]) else call('HSET', hk, ARGV[3], ARGV[4]) end
local v = call('HMGET', hk, 'D', 'm', 'c', 'F')
call('PEXPIRE', hk, (v[1] or v[2]) and 315360000000 or math.max(172800000, ARGV[3] == 'p' and num(ARGV[4], 0) - now + 172800000 or 0))
local s, delay = slot(ARGV[2]), num(v[1], num(v[4]))
local hasten = ARGV[3] == 'D' and not same and delay and num(string.match(v[3] or '', ',(%d+),'), 0) == 0
if hasten then s.n = math.min(s.n, now + math.max(delay, s.cd)) end
if ARGV[3] == 'p' and ARGV[4] == '' then forgive(s) end
if not v[1] then call('HDEL', hk, 'F') end
arm(ARGV[2], hasten)
return same and 0 or 1
