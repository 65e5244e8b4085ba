-- Purpose: tests whether the seen set contains a URL. Used by the APIs with which programs add URLs.
-- KEYS[1]: bucket tag.
-- ARGV: crawl, seen mode, hi, lo (as in add).
-- Returns: 1 or 0.
-- Promise: adds nothing to the seen set.
-- Cost: see seen.lua.
generations(ARGV[2])
return seen(tonumber(ARGV[3]), ARGV[4]) and 1 or 0
