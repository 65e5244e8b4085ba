-- Purpose: say that requests are over before their rows are durable, so that slow sinks hold no host up.
-- KEYS[1]: bucket tag.
-- ARGV: crawl, then times (token, ms since the request began, delay ms, pace, host wait ms, what it says of the host, why).
-- Returns: how many leases were still ours.
-- Promise: frees a slot once; settle ends the claim later and does not free it again.
-- Cost: about 8 us a claim.
local ours, touched = 0, {}
for j = 2, #ARGV, 7 do
  local record = call('HGET', C .. 'lp', ARGV[j])
  if record then
    local host, level, kind, n0, n1, entry = parts(record)
    if kind ~= 'landed' then
      call('HSET', C .. 'lp', ARGV[j], table.concat({host, level, 'landed', n0, n1, entry}, '\t'))
      felt(slot(host), ARGV[j + 5], ARGV[j + 6])
      release(host, n0, n1, tonumber(ARGV[j + 1]), tonumber(ARGV[j + 2]), tonumber(ARGV[j + 4]))
      if ARGV[j + 3] ~= '' then paced(host, ARGV[j + 3], ARGV[j + 2]) end
      ours, touched[host] = ours + 1, true
    end
  end
end
for host in pairs(touched) do arm(host, true) end
return ours
