-- Purpose: keep by which rung a host's pages are got (politeness.ladder), so that all crawls and workers learn as one.
-- KEYS[1]: bucket tag.  ARGV: '', host, text that the caller knew, text that it shall be ('': forget it; nothing at all: only tell).
-- Returns: {whether it was changed (1|0), the text that holds now ('': nothing is known)}.
-- Promise: a change is made on what the caller knew, or not at all.  Cost: 2 us.
local key = T .. '@rung:' .. ARGV[2]
local held = call('GET', key) or ''
if not ARGV[4] or held ~= ARGV[3] then return {0, held} end
if ARGV[4] == '' then call('DEL', key) else call('SET', key, ARGV[4], 'EX', 2592000) end
return {1, ARGV[4]}
