-- Purpose: deletes the queues of hosts, for a crawl that is cancelled or removed.
-- KEYS[1]: bucket tag.
-- ARGV: crawl, then keys of hosts without the bucket tag and the crawl (`h:HOST`, `q:HOST:LEVEL`, `t:HOST` and
--   others). A host may have several.
-- Returns: the number of keys in ARGV.
-- Promise: the lists of a host, their sizes and the host's place in the ready heaps are deleted together. A URL
--   that a worker adds before or after is either deleted whole, or queued whole.
-- Cost: about 20 us per host. The server frees the lists in the background.
local dropped = {}
gather_places()
for j = 2, #ARGV do
  local host, old = string.match(ARGV[j], '^q:(.*):[^:]*$') or string.sub(ARGV[j], 3), {C .. ARGV[j]}
  if not dropped[host] then
    dropped[host] = true
    local v = call('HMGET', C .. 'h:' .. host, 'L', 'Y', 'y')
    for level in string.gmatch(v[1] or '', '[^,]+') do old[#old + 1] = C .. 'q:' .. host .. ':' .. level end
    for _, name in ipairs({'h:', 't:', 'w:', 'a:', 'k:', 'e:'}) do old[#old + 1] = C .. name .. host end
    remove_host(C, v[2] or string.gsub(v[3] or 'http', '%?$', ''), host)
  end
  for first = 1, #old, 1000 do call('UNLINK', unpack(old, first, math.min(first + 999, #old))) end
end
write_places()
return #ARGV - 1
