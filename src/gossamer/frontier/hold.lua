-- Purpose: steer one host while crawls run: pause it (its end closes its breaker, too), fix its delay, set how many at once.
-- KEYS[1]: bucket tag.  ARGV: '', host, field (p until ms | D delay ms | m at once), value ('': as it was).
-- Returns: 1; 0: it was so before.
-- Promise: holds for every crawl and worker from the next claim on; claims that are out are not touched.  Cost: 5 us.
local hk = T .. 'h:' .. ARGV[2]
local same = (call('HGET', hk, ARGV[3]) or '') == ARGV[4]
if ARGV[4] == '' then call('HDEL', hk, ARGV[3]) else call('HSET', hk, ARGV[3], ARGV[4]) end
call('PEXPIRE', hk, math.max(172800000, ARGV[3] == 'p' and num(ARGV[4], 0) - now + 172800000 or 0))
if ARGV[3] == 'p' and ARGV[4] == '' then forgive(slot(ARGV[2])) end
arm(ARGV[2])
return same and 0 or 1
