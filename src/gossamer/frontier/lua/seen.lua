-- Purpose: the seen-set, shared by the verbs that take URLs in (add, settle) or ask for one (known); put after the prelude.
-- Promise: says "seen" wrongly for at most 380 / 2^32 of the new URLs a full generation (bloom: about 1 in 1,000). How many new URLs
--   were lost so is expected, in 10^-12 URLs, stands in `lost` of the crawl's `g`.
-- Cost: about 0.6 us a generation and URL.
local gens -- the generations: n, sets (bloom: pages) s1.., URLs in them c1..
local seen_test
local span -- values that a member may have
local latest -- the number of the last one
local sets, format = {}, string.format

local function in_sets(g, hi, lo, put) -- a number that is joined to a string would be printed as a fraction may be: three times the cost
  local key = format('%s%d', gens[g], hi * sets[g] / 4294967296)
  if put then return call('SADD', key, lo) == 0 end
  return call('SISMEMBER', key, lo) == 1
end

local function seen(hi, lo, put) -- with `put` remembers what it did not know
  for g = 1, latest - 1 do
    if seen_test(g, hi, lo) then return true end
  end
  return seen_test(latest, hi, lo, put)
end

-- Read the generations; where room is wanted (`first`: sets of the first one), begin the next one, or split the filter's pages.
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
      split(gens.s1) -- the node that is next has this number
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

-- Count what was taken in, and the loss to be expected of it.
local function remembered(new)
  local risk = filter_risk
  for g = 1, gens.n do risk = risk + new * gens['c' .. g] / gens['s' .. g] / span end
  call('HINCRBY', C .. 'g', 'c' .. gens.n, new)
  call('HINCRBY', C .. 'g', 'lost', floor(risk * 1e12 + 0.5))
end
