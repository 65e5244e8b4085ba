-- Purpose: reports outcomes of visits to the page table of a fleet's crawl (recrawl/stored_table.py).
-- KEYS[1]: bucket tag. ARGV: crawl, then entries (compressed lines).
-- Returns: the number of entries that wait.
-- Promise: entries wait until the commit of the table that contains their outcomes (table_commit.lua). An entry
--   that is sent twice is in the list twice: the table counts its outcomes once.
-- Cost: one RPUSH per entry.
local waiting = 0
for j = 2, #ARGV do waiting = call('RPUSH', C .. 'vi', ARGV[j]) end
return waiting
