-- Purpose: handles shorter paths to known URLs. Also stores links to a host outside the scope until a seed is
--   redirected to the host. Must be loaded after queue.lua and before links.lua.
-- Promise: if depths are stored, a URL that is found again closer to a seed is visited at the smaller depth.
--   `depths` is the number of hashes that store depths (0: depths are not stored). A URL that was already
--   visited is queued again with an uppercase scheme letter, so that its links get the smaller depth.
-- Cost: 2 us and 10 bytes per URL if depths are stored.
local NEAR, HELD = 100, 1000 -- NEAR is added to the depth of a visited URL; HELD: maximum links per host

local function near_key(hi, depths) return C .. 'd:' .. math.floor(tonumber(hi) * depths / 4294967296) end
local function depth_of(entry) return cmsgpack.unpack(string.sub(entry, 4))[2] end
local function again(entry) return string.upper(string.sub(entry, 1, 1)) .. '00' .. string.sub(entry, 4) end

local function put_depth(hi, lo, entry, depths) call('HSET', near_key(hi, depths), lo, depth_of(entry)) end

-- Must be called if a known URL is found again. Records the new depth if it is smaller than the recorded
-- depth. If the page must then be read again, returns a queue entry for the page, otherwise nil.
local function nearer(hi, lo, entry, depths)
  local key, depth = near_key(hi, depths), depth_of(entry)
  local have = num(call('HGET', key, lo), -1)
  if have < 0 or have % NEAR <= depth then return nil end
  call('HSET', key, lo, have < NEAR and depth or depth + NEAR)
  return have >= NEAR and again(entry) or nil
end

-- Records the depth at which a URL was visited. Queues the URL again if a shorter path was found after the
-- URL was queued.
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

-- Stores links to a host outside the scope, in case a seed is redirected to that host. Stores at most HELD
-- links per host. The stored links are not in the frontier.
local function hold(host, level, lane, marks, entries)
  local key, at = C .. 'a:' .. host, 1
  for e = 1, #marks, 3 do
    if call('LLEN', key) >= HELD then break end
    local entry = string.sub(entries, at, at + marks[e + 2] - 1)
    call('RPUSH', key, table.concat({level, lane, marks[e], marks[e + 1], entry}, '\t'))
    at = at + #entry
  end
end
