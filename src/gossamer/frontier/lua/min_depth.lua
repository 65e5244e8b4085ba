-- Purpose: handles what is learned about a URL only after it was found: a shorter path to the URL, or that a
--   seed is redirected to its host. Loaded after the queue and before links.
-- Promise: if depths are kept, a URL that is found again closer to a seed is visited at the smaller depth.
--   `depths` is the number of hashes that store depths (0: depths are not kept). If the URL was already
--   visited, it is queued again with an uppercase scheme letter, so that its links get the smaller depth.
-- Cost: 2 us and 10 bytes per URL, only if depths are kept.
local NEAR, HELD = 100, 1000 -- added to the depth of a visited URL; maximum links held per host

local function near_key(hi, depths) return C .. 'd:' .. math.floor(tonumber(hi) * depths / 4294967296) end
local function depth_of(entry) return cmsgpack.unpack(string.sub(entry, 4))[2] end
local function again(entry) return string.upper(string.sub(entry, 1, 1)) .. '00' .. string.sub(entry, 4) end

local function put_depth(hi, lo, entry, depths) call('HSET', near_key(hi, depths), lo, depth_of(entry)) end

-- Called if a known URL was found again. Records the depth if it is smaller. If the page must be read again,
-- returns the entry to queue.
local function nearer(hi, lo, entry, depths)
  local key, depth = near_key(hi, depths), depth_of(entry)
  local have = num(call('HGET', key, lo), -1)
  if have < 0 or have % NEAR <= depth then return nil end
  call('HSET', key, lo, have < NEAR and depth or depth + NEAR)
  return have >= NEAR and again(entry) or nil
end

-- Records the depth at which a URL was visited. Queues the URL again if a shorter path was found in the
-- meantime.
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

-- Keeps links to a host outside the scope, in case a seed is redirected to that host. Keeps at most HELD
-- links per host. They are not in the frontier.
local function hold(host, level, lane, marks, entries)
  local key, at = C .. 'a:' .. host, 1
  for e = 1, #marks, 3 do
    if call('LLEN', key) >= HELD then break end
    local entry = string.sub(entries, at, at + marks[e + 2] - 1)
    call('RPUSH', key, table.concat({level, lane, marks[e], marks[e + 1], entry}, '\t'))
    at = at + #entry
  end
end
