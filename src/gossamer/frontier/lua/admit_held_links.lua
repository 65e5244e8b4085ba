-- Purpose: adds the stored links to a host that was outside the scope until a seed was redirected to the
--   host.
-- KEYS[1]: bucket tag.
-- ARGV: the first eight as in add.lua, then the host.
-- Returns: how many links were added.
-- Promise: later links to the host with the flag `h` are added immediately.
-- Cost: 6 us per link.
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
