-- Purpose: what is known of a URL too late: a shorter way to it, a host that a seed leads to; put after the queue, before links.
-- Promise: with `depths` (how many hashes keep them; 0: not kept) a URL found again nearer to a seed is visited at the lesser depth; if it
--   was visited already, it is queued again, marked by a capital scheme letter, so that its links are taken at the lesser depth.
-- Cost: 2 us a URL and 10 bytes, only where depths are kept.
local NEAR, HELD = 100, 1000 -- added to the depth of a URL that was visited; links held for a host

local function near_key(hi, depths) return C .. 'd:' .. math.floor(tonumber(hi) * depths / 4294967296) end
local function depth_of(entry) return cmsgpack.unpack(string.sub(entry, 4))[2] end
local function again(entry) return string.upper(string.sub(entry, 1, 1)) .. '00' .. string.sub(entry, 4) end

local function put_depth(hi, lo, entry, depths) call('HSET', near_key(hi, depths), lo, depth_of(entry)) end

-- A known URL was found again: remember the lesser depth; the entry to queue if it has to be read again.
local function nearer(hi, lo, entry, depths)
  local key, depth = near_key(hi, depths), depth_of(entry)
  local have = num(call('HGET', key, lo), -1)
  if have < 0 or have % NEAR <= depth then return nil end
  call('HSET', key, lo, have < NEAR and depth or depth + NEAR)
  return have >= NEAR and again(entry) or nil
end

-- A URL was visited at a depth: remember that. Queues it again when a shorter way was found meanwhile.
local function visited(hi, lo, depth, depths, record)
  local key = near_key(hi, depths)
  local have = num(call('HGET', key, lo), -1)
  if have >= NEAR then return end
  if have >= 0 and have < depth then
    local host, level, _, _, _, entry = parts(record)
    enqueue(host, level, {again(entry)})
    count('open', 1); count('infra', 1)
  else
    have = depth
  end
  call('HSET', key, lo, have + NEAR)
end

-- Links to a host outside, to which a seed may yet be redirected, wait for that: at most HELD a host. None of them is taken.
local function hold(host, level, lane, marks, entries)
  local key, at = C .. 'a:' .. host, 1
  for e = 1, #marks, 3 do
    if call('LLEN', key) >= HELD then break end
    local entry = string.sub(entries, at, at + marks[e + 2] - 1)
    call('RPUSH', key, table.concat({level, lane, marks[e], marks[e + 1], entry}, '\t'))
    at = at + #entry
  end
end
