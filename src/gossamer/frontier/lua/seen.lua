-- Purpose: implements the seen set for the scripts that add URLs (add, settle) or test a URL (is_seen). Must
--   be loaded after the prelude.
-- Promise: each full generation causes at most 380 / 2^32 of the new URLs to be mistaken for known URLs
--   (bloom: about 1 in 1,000). The field `lost` of the hash `g` contains the expected number of URLs lost by
--   such mistakes, in 10^-12 URLs.
-- Cost: about 0.6 us per generation and URL.
local gens -- n: number of generations; sN: sets (bloom: pages) in generation N; cN: URLs in generation N
local seen_test
local span -- the number of values that a member may have
local latest -- the number of the last generation
local sets, format = {}, string.format

-- Formatting an integer with `%d` takes a third of the time of Lua's usual conversion.
local function in_sets(g, hi, lo, put)
  local key = format('%s%d', gens[g], hi * sets[g] / 4294967296)
  if put then return call('SADD', key, lo) == 0 end
  return call('SISMEMBER', key, lo) == 1
end

local function seen(hi, lo, put) -- also adds a new URL if `put` is true
  for g = 1, latest - 1 do
    if seen_test(g, hi, lo) then return true end
  end
  return seen_test(latest, hi, lo, put)
end

-- Reads the generations. `first`: number of sets of the first generation, or nil if the caller adds no URL.
-- If `first` is set and the last generation is full, begins the next generation (bloom: splits pages of the
-- filter).
local function generations(mode, first)
  local v, g = call('HGETALL', C .. 'g'), 1
  filter_risk = 0
  gens = {s1 = mode == 'bloom' and 1 or first or 1, c1 = 0}
  seen_test, span = mode == 'bloom' and in_filter or in_sets, ({default = 2 ^ 32, exact = 2 ^ 64, bloom = math.huge})[mode]
  for j = 1, #v, 2 do gens[v[j]] = tonumber(v[j + 1]) end
  if not gens.n then
    gens.n = 1
    if first then call('HSET', C .. 'g', 'n', 1, 's1', gens.s1, 'c1', 0) end
  end
  g = gens.n
  if mode == 'bloom' then
    filter_pages = gens.s1
    while first and gens.c1 > gens.s1 * 768 do
      split(gens.s1) -- the number of pages is also the number of the node to split next
      gens.s1 = gens.s1 + 1
    end
    if gens.s1 > filter_pages then call('HSET', C .. 'g', 's1', gens.s1) end
    filter_pages = gens.s1
  elseif first and gens['c' .. g] >= gens['s' .. g] * 380 then
    gens.n, gens['s' .. g + 1], gens['c' .. g + 1] = g + 1, gens['s' .. g] * 2, 0
    call('HSET', C .. 'g', 'n', g + 1, 's' .. g + 1, gens['s' .. g] * 2, 'c' .. g + 1, 0)
  end
  latest = gens.n
  for k = 1, latest do gens[k], sets[k] = table.concat({C, 's:', k, ':'}), gens['s' .. k] end
end

-- Adds `new` URLs to the number of URLs, and updates the expected number of lost URLs.
local function remembered(new)
  local risk = filter_risk
  for g = 1, gens.n do risk = risk + new * gens['c' .. g] / gens['s' .. g] / span end
  call('HINCRBY', C .. 'g', 'c' .. gens.n, new)
  call('HINCRBY', C .. 'g', 'lost', floor(risk * 1e12 + 0.5))
end
