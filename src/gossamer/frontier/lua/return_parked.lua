-- Purpose: requeues URLs that a host's byte or time limit parked (host_limits.lua), once a run raises the
--   limit.
-- KEYS[1]: bucket tag.
-- ARGV: crawl, host.
-- Returns: the number of requeued URLs. Call again until the result is 0.
-- Promise: each URL is requeued once, at its own level and in the old order. If the host exceeds the new
--   limit too, the next claim parks the URLs again.
-- Cost: 2 us per URL, at most 500 per call.
local host, levels, order, infra = ARGV[2], {}, {}, 0
local got = call('LPOP', C .. 'e:' .. host, 500) or {}
for _, member in ipairs(got) do
  local level, entry = string.match(member, '^([^\t]*)\t(.*)$')
  if not levels[level] then levels[level] = {}; order[#order + 1] = level end
  table.insert(levels[level], entry)
  if infrastructure(entry) then infra = infra + 1 end
end
for _, level in ipairs(order) do join(host, level, levels[level]) end
count('open', #got); count('infra', infra); count('skip:budget', infra - #got)
if #got > 0 then arm(host) end
return #got
