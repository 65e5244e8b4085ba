-- Purpose: commits changes of the page table of a fleet's crawl (recrawl/stored_table.py).
-- KEYS[1]: bucket tag.
-- ARGV: crawl, expected version, new version, number of outcome entries that the changes contain, number of
--   chunks, number of pages, number of chunks of inlinks, then
--   - for each chunk: number, content ('': the chunk is removed),
--   - for each page: ID, number of the batch that queues the page (0: the page is not queued),
--   - for each chunk of inlinks: number, content,
--   - then the name and the value of each fact (`vf` in store/keys.py).
-- Returns: 1 if the changes are committed, 0 if the table does not have the expected version.
-- Promise: all changes are committed or none. A repeated commit changes nothing. If two writers read the same
--   version, only one of them can commit.
-- Cost: one write per chunk, page and fact.
local version = call('HGET', C .. 'vf', 'version') or ''
if version == ARGV[3] then return 1 end
if version ~= ARGV[2] then return 0 end
local at = 8
for _ = 1, tonumber(ARGV[5]) do
  if ARGV[at + 1] == '' then call('HDEL', C .. 'vc', ARGV[at])
  else call('HSET', C .. 'vc', ARGV[at], ARGV[at + 1]) end
  at = at + 2
end
for _ = 1, tonumber(ARGV[6]) do
  if ARGV[at + 1] == '0' then call('HDEL', C .. 'vq', ARGV[at])
  else call('HSET', C .. 'vq', ARGV[at], ARGV[at + 1]) end
  at = at + 2
end
for _ = 1, tonumber(ARGV[7]) do
  call('HSET', C .. 'vl', ARGV[at], ARGV[at + 1])
  at = at + 2
end
for j = at, #ARGV, 2 do call('HSET', C .. 'vf', ARGV[j], ARGV[j + 1]) end
if tonumber(ARGV[4]) > 0 then call('LTRIM', C .. 'vi', ARGV[4], -1) end
call('HSET', C .. 'vf', 'version', ARGV[3])
return 1
