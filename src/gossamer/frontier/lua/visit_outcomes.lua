-- Purpose: reports outcomes of visits to the page table of a fleet's crawl (recrawl/stored_table.py).
-- KEYS[1]: bucket tag.
-- ARGV: crawl, then entries. An entry contains outcomes as compressed lines.
-- Returns: the number of entries in the list.
-- Promise: entries stay in the list until table_commit.lua commits the changes that contain their outcomes.
--   If an entry is sent twice, the list contains the entry twice, but the table counts it once.
-- Cost: one RPUSH per entry.
local waiting = 0
for j = 2, #ARGV do waiting = call('RPUSH', C .. 'vi', ARGV[j]) end
return waiting
