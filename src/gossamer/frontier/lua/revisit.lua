-- Purpose: queues known URLs for another visit, without a check of the seen set (recrawl/page_table.py).
-- KEYS[1]: bucket tag.
-- ARGV: the first eight as in add.lua, then the number of the batch, then groups of links to one host and
--   level (links.lua), all with the flag `v`. A batch of URLs takes one call per bucket.
-- Returns: 1 if the URLs were queued, 0 if the batch was queued before.
-- Promise: each batch is queued only once, even if the client sends the batch several times. Batches have
--   ascending numbers.
-- Cost: about 2 us per URL.
if num(call('HGET', C .. 'g', 'rv'), 0) >= tonumber(ARGV[9]) then return 0 end
call('SADD', T .. 'c', ARGV[1])
add(ARGV, 10, #ARGV, 6)
call('HSET', C .. 'g', 'rv', ARGV[9])
return 1
