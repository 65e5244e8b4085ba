-- Purpose: end claims after the sinks are durable: file lengths, counts, verdicts and links in one atomic step.
-- KEYS[1]: bucket tag.
-- ARGV: crawl, seen mode, sets of the first generation, page cap of a discovered host, depths, and pages, strangers and singles
--   of the other buckets (all as in add.lua),
--   F, F times (file, committed length, new length),
--   D, D times (count, change),
--   S, S times (token, action, ms since the request began or -1, delay ms, pace, host wait ms, wait ms, reason, detail),
--   V, V times (token, hi, lo, depth) of URLs visited, where depths are kept,
--   then groups of links as in add.lua.
--   actions (and behind them what the visit says of its host, trouble.lua): d done, r retry after `wait`, x dead letter, k refused by a gate, b back to the front of its queue.
-- Returns: {'ok', new, known, parked, strangers, singles}, or having done nothing {'stale', token...} or {'file', file, committed length}.
-- Promise: all or nothing; a token settles once; a file's length moves only together with the claims of its rows.
-- Cost: about 15 us a claim and its host, plus its links (links.lua).
local at = 9
local function take_list(width)
  local n = tonumber(ARGV[at])
  local first = at + 1
  at = first + n * width
  return first, at - 1
end

local f1, f2 = take_list(3)
local d1, d2 = take_list(2)
local s1, s2 = take_list(9)
local v1, v2 = take_list(4)

for j = f1, f2, 3 do
  local have = call('HGET', C .. 'f', ARGV[j]) or '0'
  if tonumber(have) > tonumber(ARGV[j + 1]) then return {'file', ARGV[j], have} end
end

local tokens, stale = {}, {'stale'}
for j = s1, s2, 9 do tokens[#tokens + 1] = ARGV[j] end
local records = #tokens > 0 and call('HMGET', C .. 'lp', unpack(tokens)) or {}
for j, token in ipairs(tokens) do
  if not records[j] then stale[#stale + 1] = token end
end
if #stale > 1 then return stale end

for j = f1, f2, 3 do call('HSET', C .. 'f', ARGV[j], ARGV[j + 2]) end
for j = d1, d2, 2 do count(ARGV[j], tonumber(ARGV[j + 1])) end

local touched, refused, backs, paces, by_token = {}, {}, {}, {}, {}
local closed = 0
local function verdict(action, host, level, entry, j)
  local wait, reason = tonumber(ARGV[j + 6]), ARGV[j + 7]
  if action == 'r' then
    local again = string.sub(entry, 1, 1) .. string.char(string.byte(entry, 2) + 1) .. string.sub(entry, 3)
    call('ZADD', C .. 't:' .. host, now + wait, level .. '\t' .. again)
    count('retried', 1)
  elseif action == 'x' then
    bury(reason, ARGV[j + 8], host, level, entry)
  elseif action == 'b' then
    backs[#backs + 1] = {host, level, entry}
  else
    if action == 'k' then refused[host] = true end
    closed = closed + 1
  end
end

for t, record in ipairs(records) do
  local j = s1 + 9 * (t - 1)
  local host, level, kind, n0, n1, entry = parts(record)
  local action = ARGV[j + 1]
  verdict(string.sub(action, 1, 1), host, level, entry, j)
  if kind ~= 'landed' then
    if #action > 1 then felt(slot(host), string.sub(action, 2), ARGV[j + 7]) end
    release(host, n0, n1, tonumber(ARGV[j + 2]), tonumber(ARGV[j + 3]), tonumber(ARGV[j + 5]))
  end
  if ARGV[j + 4] ~= '' then paces[host] = {ARGV[j + 4], ARGV[j + 3]} end
  touched[host] = true
  by_token[tokens[t]] = record
end
for j = v1, v2, 4 do visited(ARGV[j + 1], ARGV[j + 2], tonumber(ARGV[j + 3]), tonumber(ARGV[5]), by_token[ARGV[j]]) end
if #tokens > 0 then
  call('HDEL', C .. 'lp', unpack(tokens))
  call('ZREM', C .. 'l', unpack(tokens))
  count('open', -closed)
end
for host, pace in pairs(paces) do call('HSET', T .. 'h:' .. host, 'c', pace[1], 'd', pace[2]) end

for j = #backs, 1, -1 do -- the last first, so that the order stays
  local host, level, entry = unpack(backs[j])
  enqueue(host, level, {entry}, true)
  if not refused[host] then call('HDEL', T .. 'h:' .. host, 'z') end
end
for host in pairs(refused) do call('HSET', T .. 'h:' .. host, 'z', 1) end -- next time a whole gate of URLs
for host in pairs(touched) do arm(host, true) end

if at > #ARGV then return {'ok', 0, 0, 0, 0, 0} end
call('SADD', T .. 'c', ARGV[1])
return {'ok', unpack(add(ARGV, at))}
