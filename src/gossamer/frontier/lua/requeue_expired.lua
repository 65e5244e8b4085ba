-- Purpose: returns the URLs of claims with an expired lease to the front of their queues.
-- KEYS[1]: bucket tag.
-- ARGV: crawl, maximum number of claims, delay in ms of a host without a learned delay, `all` (1: no worker
--   is alive, so every claim is requeued now and no crash is counted), then, if `all` is 1, the tokens of
--   pages that a process was reading when it died. A crash is counted for each of these tokens.
-- Returns: {number of requeued claims, open URLs plus active producers, URLs added, infrastructure URLs}. The
--   caller compares the results of two calls to decide whether the crawl is finished.
-- Promise: a claim whose worker died does not count as an attempt. After 10 crashes, the URL becomes a dead
--   letter with the reason `crash`. The host waits its delay from now, because the dead worker may have sent
--   a request shortly before.
-- Cost: 10 us per expired lease.
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
if not all then count('lapsed', #tokens); total('lapsed', #tokens) end
local counts = call('HMGET', C .. 'n', 'open', 'added', 'infra')
return {#tokens, num(counts[1], 0) + call('ZCOUNT', C .. 'pl', now, '+inf'), num(counts[2], 0), num(counts[3], 0)}
