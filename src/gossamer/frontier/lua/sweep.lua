-- Purpose: return the claims whose lease ran out to the front of their queues.
-- KEYS[1]: bucket tag.
-- ARGV: crawl, limit, delay ms of an unknown host, all (1: nobody lives, every lease returns now and no crash is counted
--   but of the tokens that follow: their pages were being read when the reader died).
-- Returns: {claims returned, open and producers at work, added, infra}: the counts decide with a second sweep whether the crawl is finished.
-- Promise: a claim whose worker died is not an attempt; after 10 such deaths the URL is dead with reason crash.
--   The host waits its delay from now: the dead worker may just have asked it.
-- Cost: 10 us an expired lease.
local all, touched, blamed = ARGV[4] == '1', {}, {}
for i = 5, #ARGV do
  blamed[ARGV[i]] = true
end
local tokens = call('ZRANGE', C .. 'l', '-inf', all and '+inf' or now, 'BYSCORE', 'LIMIT', 0, ARGV[2])
for _, token in ipairs(tokens) do
  local host, level, kind, n0, n1, entry = parts(call('HGET', C .. 'lp', token))
  call('HDEL', C .. 'lp', token)
  call('ZREM', C .. 'l', token)
  local hv = call('HMGET', T .. 'h:' .. host, 'd', 'cd', 'D')
  if kind ~= 'landed' then
    release(host, n0, n1, 0, math.max(num(hv[3], num(hv[1], tonumber(ARGV[3]))), num(hv[2], 0)), 0)
  end
  local crashes = string.byte(entry, 3) - 48 + ((all and not blamed[token]) and 0 or 1)
  local again = string.sub(entry, 1, 2) .. string.char(48 + crashes) .. string.sub(entry, 4)
  if kind == 'robots' then
    call('HDEL', T .. 'h:' .. host, 'rb')
  elseif crashes >= 10 then
    bury('crash', 'its worker died ' .. crashes .. ' times while visiting it', host, level, again)
  else
    enqueue(host, level, {again}, true)
  end
  touched[host] = true
end
for host in pairs(touched) do
  slot(host).rb = call('HGET', T .. 'h:' .. host, 'rb')
  arm(host, true)
end
if not all then count('lapsed', #tokens) end
local counts = call('HMGET', C .. 'n', 'open', 'added', 'infra')
return {#tokens, num(counts[1], 0) + call('ZCOUNT', C .. 'pl', now, '+inf'), num(counts[2], 0), num(counts[3], 0)}
