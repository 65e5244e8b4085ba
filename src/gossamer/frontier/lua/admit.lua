-- Purpose: a seed was redirected to a host: the links to it that were refused before are taken after all.
-- KEYS[1]: bucket tag.  ARGV: crawl, seen mode, sets of the first generation, page cap, depths,
--   pages, strangers, singles elsewhere (all as in add.lua), host.
-- Returns: how many were taken.
-- Promise: links to the host that are still on their way here as refused are taken when they come.  Cost: 6 us a link.
local key, list = C .. 'a:' .. ARGV[9], {}
call('SADD', T .. 'c', ARGV[1])
call('HSET', C .. 'h:' .. ARGV[9], 's', 1)
for _, held in ipairs(call('LRANGE', key, 0, -1)) do
  local level, lane, hi, lo, entry = string.match(held, '^([^\t]*)\t([^\t]*)\t([^\t]*)\t([^\t]*)\t(.*)$')
  for _, x in ipairs({ARGV[9], level, lane, 'oh', '', cmsgpack.pack({tonumber(hi), lo, #entry}), entry}) do list[#list + 1] = x end
end
call('DEL', key)
if #list == 0 then return 0 end
return add(list, 1, #list, 6)[1]
