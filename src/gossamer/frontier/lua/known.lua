-- Purpose: whether the seen-set knows a URL; for the doors.
-- KEYS[1]: bucket tag.  ARGV: crawl, seen mode, hi, lo (as add has them).
-- Returns: 1 or 0.
-- Promise: remembers nothing.  Cost: as seen.lua.
generations(ARGV[2])
return seen(tonumber(ARGV[3]), ARGV[4]) and 1 or 0
