-- Purpose: stores the record of the rungs that can fetch a host's pages (politeness.ladder). All crawls and
--   workers share the record of a host.
-- KEYS[1]: bucket tag.
-- ARGV: '', host, the record that the caller read, the new record ('': delete it; absent: only read).
-- Returns: {1 if the record was changed, else 0; the current record ('': none)}.
-- Promise: the record is changed only if the caller has read the current record.
-- Cost: 2 us.
local key = T .. '@rung:' .. ARGV[2]
local held = call('GET', key) or ''
if not ARGV[4] or held ~= ARGV[3] then return {0, held} end
if ARGV[4] == '' then call('DEL', key) else call('SET', key, ARGV[4], 'EX', 2592000) end
return {1, ARGV[4]}
