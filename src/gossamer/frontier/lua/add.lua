-- Purpose: take URLs into the frontier: seen-set, budget, host queue, ready heap, counts, in one atomic step.
-- KEYS[1]: bucket tag.
-- ARGV: crawl, seen mode (default|exact|bloom), sets of the first generation, page cap of a discovered host
--   (negative: flat), depths (depths.lua), pages, strangers and singles of the other buckets (shares.py), then groups of one host and level:
--   host, level, lane, flags, voucher, marks, entries (links.lua).
--   flags: o own (a seed's host), f front of its queue, r child of a redirect, i infrastructure (a sitemap: no page), s a seed,
--   h refused as out of scope, held in case a seed is redirected to its host.
-- Returns: {new, known, parked, new on the share of strangers, of singles (links.lua)}.
-- Promise: adding twice is the same as adding once.
-- Cost: see links.lua; the client sends at most 500 URLs a call.
call('SADD', T .. 'c', ARGV[1])
return add(ARGV, 9, #ARGV, 6)
