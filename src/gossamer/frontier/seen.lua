-- Purpose: the seen-set, shared by the verbs that take URLs in (add, settle); put after the prelude.
-- Promise: says "seen" wrongly for at most 380 / 2^32 of the new URLs a full generation (Bloom: see docs/decisions).
-- Cost: about 0.6 us a generation and URL.
local gens -- the generations: n, sets (or words) s1.., URLs in them c1..

local floor = math.floor
local function in_sets(g, hi, lo, put)
  local key = gens[g] .. floor(hi * gens['s' .. g] / 4294967296)
  if put then return call('SADD', key, lo) == 0 end
  return call('SISMEMBER', key, lo) == 1
end

-- The same as a blocked Bloom filter: four bits of one 32-bit word, 16 bits a URL.
local function in_bloom(g, hi, lo, put)
  local word, low, mask = floor(hi * gens['s' .. g] / 4294967296), tonumber(lo) % 4294967296, 0
  local key, at = gens[g] .. floor(word / 4096), '#' .. word % 4096
  for j = 0, 3 do mask = bit.bor(mask, bit.lshift(1, floor(low / 32 ^ j) % 32)) end
  local have = bit.tobit(call('BITFIELD', key, 'GET', 'u32', at)[1])
  if bit.band(have, mask) == mask then return true end
  if put then call('BITFIELD', key, 'SET', 'u32', at, bit.bor(have, mask) % 4294967296) end
  return false
end

local seen_test
local function seen(hi, lo) -- remembers what it did not know
  hi = tonumber(hi)
  for g = 1, gens.n - 1 do
    if seen_test(g, hi, lo) then return true end
  end
  return seen_test(gens.n, hi, lo, true)
end

-- Read the generations; begin one with twice the room when the newest is full. `first`: sets of the first one.
local function generations(mode, first)
  local per_unit = mode == 'bloom' and 2 or 380
  seen_test = mode == 'bloom' and in_bloom or in_sets
  local v = call('HGETALL', C .. 'g')
  gens = {n = 1, s1 = first, c1 = 0}
  if #v == 0 then call('HSET', C .. 'g', 'n', 1, 's1', first, 'c1', 0) end
  for j = 1, #v, 2 do gens[v[j]] = tonumber(v[j + 1]) end
  local g = gens.n
  if gens['c' .. g] >= gens['s' .. g] * per_unit then
    gens.n, gens['s' .. g + 1] = g + 1, gens['s' .. g] * 2
    call('HSET', C .. 'g', 'n', g + 1, 's' .. g + 1, gens['s' .. g] * 2, 'c' .. g + 1, 0)
  end
  for k = 1, gens.n do gens[k] = table.concat({C, mode == 'bloom' and 'b:' or 's:', k, ':'}) end
end
