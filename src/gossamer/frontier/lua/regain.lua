-- Purpose: take back what a host's limits on bytes and time parked (host_limits.lua), when a run has larger ones.
-- KEYS[1]: bucket tag.  ARGV: crawl, host.
-- Returns: how many came back; call it until there are none.
-- Promise: each returns once, to its level, in order; what is over the new limits is parked again by the next claim.
-- Cost: 2 us a URL, at most 500 a call.
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
