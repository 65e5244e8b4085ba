-- Purpose: decides which of a host's entries a worker may get, and grants leases for these entries. Used by
--   claim. Must be loaded after queue.lua and ready_heaps.lua.
-- Promise: an entry that needs another region returns to the queue without counting an attempt, and its host
--   moves to the heap of that region.
-- Returns the entries that the calling worker may visit. The other entries return to the front of the queue
-- in their old order.
local function ours(host, own, got)
  if all or not own or string.sub(own, -1) ~= '?' then return got end
  local kept, name = {}, string.sub(own, 1, -2)
  for j = #got, 1, -1 do
    if served[sent_to(name, got[j][2])] then table.insert(kept, 1, got[j]) else enqueue(host, got[j][1], {got[j][2]}, true) end
  end
  return kept
end

-- Grants leases: appends the entries ({level, entry}) of a host to `out` in the form that claim returns.
-- Returns the token of the last lease.
local function grant(out, host, hv, delay, got, kind, versions, vouchers)
  local n1, t = now + delay, slot(host).t
  t = t and table.concat({t.ends > 0 and now - t.since or 0, t.share, t.hard, given_up(t) and t.why or ''}, ',') or ''
  local last, leases, records = math.max(num(call('HGET', C .. 'n', 'token'), 0), now * 1000) + #got, {}, {}
  call('HSET', C .. 'n', 'token', string.format('%.0f', last))
  for j, one in ipairs(got) do
    local token = last - #got + j
    leases[2 * j - 1], leases[2 * j] = now + ARGV[4], token
    records[2 * j - 1], records[2 * j] = token, table.concat({host, one[1], kind, hv[3] or 0, n1, one[2]}, '\t')
    for _, x in ipairs({token, host, one[1], kind, versions[string.lower(string.sub(one[2], 1, 1))], hv[5] or '', delay, ARGV[8] == '1' and hv[8] or 0,
      hv[7] or -1, vouchers or '', t, one[2]}) do out[#out + 1] = x end
  end
  call('ZADD', C .. 'l', unpack(leases))
  call('HSET', C .. 'lp', unpack(records))
  return last
end
