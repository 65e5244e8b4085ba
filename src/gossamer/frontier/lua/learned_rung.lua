-- Purpose: stores the rung that fetches a host's pages (politeness.ladder), so that all crawls and workers
--   share what they learn.
-- KEYS[1]: bucket tag.
-- ARGV: '', host, the text that the caller knows, the new text ('': delete; absent: only read).
-- Returns: {whether the text was changed (1|0), the current text ('': none)}.
-- Promise: the text is changed only if the caller knew the current text.
-- Cost: 2 us.
local key = T .. '@rung:' .. ARGV[2]
local held = call('GET', key) or ''
if not ARGV[4] or held ~= ARGV[3] then return {0, held} end
if ARGV[4] == '' then call('DEL', key) else call('SET', key, ARGV[4], 'EX', 2592000) end
return {1, ARGV[4]}
