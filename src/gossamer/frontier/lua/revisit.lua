-- Purpose: queues known URLs for another visit, past the seen-set (recrawl/page_table.py).
-- KEYS[1]: bucket tag.
-- ARGV: crawl, seen mode, sets of the first generation, page cap, depths, pages, strangers and singles of the
--   other buckets (all as in add.lua), number of the batch, then groups of one host and level (links.lua), all
--   with the flag v. A batch has one call in each of its buckets.
-- Returns: 1 if the URLs were queued, 0 if the batch was queued before.
-- Promise: a batch is queued once, however often it is sent. Batches have ascending numbers.
-- Cost: about 2 us per URL.
if num(call('HGET', C .. 'g', 'rv'), 0) >= tonumber(ARGV[9]) then return 0 end
call('SADD', T .. 'c', ARGV[1])
add(ARGV, 10, #ARGV, 6)
call('HSET', C .. 'g', 'rv', ARGV[9])
return 1
