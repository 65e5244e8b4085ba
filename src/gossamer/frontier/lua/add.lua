-- Purpose: adds URLs to the frontier. Updates the seen set, budgets, host queues, ready heaps and counts in
--   one atomic step.
-- KEYS[1]: bucket tag.
-- ARGV: crawl, seen mode (default|exact|bloom), sets of the first generation, page cap of a discovered host
--   (negative: the same for every host), depths (min_depth.lua), pages, strangers and singles of the other
--   buckets (page_budget.lua), then groups of one host and level: host, level, lane, flags, voucher, marks,
--   entries (links.lua).
-- Flags: o own (a seed's host), f front of the queue, r target of a redirect, i infrastructure (a sitemap,
-- not a page), s a seed, h outside the scope (held in case a seed is redirected to its host), v a known URL that
-- is visited again, past the seen-set (revisit.lua, and redirects of such URLs).
-- Returns: {new, known, parked, new ones from strangers, new ones from singles (links.lua)}.
-- Promise: adding twice has the same effect as adding once.
-- Cost: see links.lua. The client sends at most 500 URLs per call.
call('SADD', T .. 'c', ARGV[1])
return add(ARGV, 9, #ARGV, 6)
