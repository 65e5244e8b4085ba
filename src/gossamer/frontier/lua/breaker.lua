-- Purpose: updates a host's circuit breaker, and decides whether the host is hard, from the results of its
--   visits. Must be loaded after the prelude.
-- Promise: follows the table in politeness/breaker.py. A host that never fails causes no work.
-- The field `b` of the host hash contains seven values with commas between them: the number of faults in a
-- row, the number of openings in a row, ms of the first of these faults, ms until which the breaker is open
-- (0: closed), the share of failed visits in thousandths, `!` if the host is hard, and the reason if the host
-- was given up.
local function trouble(text)
  if not text then return nil end
  local f, o, s, e, share, hard, why = string.match(text, '^(%d+),(%d+),(%d+),(%d+),(%d+),(!?),(.*)$')
  return {faults = num(f, 0), openings = num(o, 0), since = num(s, 0), ends = num(e, 0), share = num(share, 0), hard = hard, why = why}
end

local function written(t)
  if t.faults == 0 and t.ends == 0 and t.share < 50 then return nil end
  return string.format('%d,%d,%.0f,%.0f,%d,%s,%s', t.faults, t.openings, t.since, t.ends, t.share, t.hard, t.why)
end

local function open(t) return t and t.ends > now and t.why == '' end -- the host gets no requests
-- the host's URLs fail without a request
local function given_up(t) return t and t.ends > now and t.why ~= '' end
-- the host gets one request at a time
local function probed(t) return t and t.ends > 0 and (t.why == '' or t.ends <= now) end

local function forgive(s) -- must be called when an operator closes the breaker
  if s.t then s.t, s.told = trouble('0,0,0,0,0,,'), true end
end

-- Applies the result of one visit. `health` is '' (nothing to record), or begins with a letter: `g`: a good
-- response; `b`: a block; `e`: a fault of a URL that failed before; `f`: a fault of the host; `d`: a fault of
-- a host that is given up after three failed probes. The letters `f` and `d` are followed by the number of
-- faults that opens the breaker, and by the first and the longest opening in ms.
local function felt(s, health, why)
  local kind = string.sub(health, 1, 1)
  local t = s.t
  if kind == '' or (kind == 'g' and not t) then return end
  t = t or trouble('0,0,0,0,0,,')
  s.t, s.told = t, true
  if kind == 'g' then t.share = math.floor(t.share * 0.8) else t.share = t.share + math.floor((1000 - t.share) * 0.2) end
  t.hard = t.share >= 500 and '!' or t.share >= 100 and t.hard or ''
  if kind == 'g' or kind == 'b' then
    t.faults, t.openings, t.since, t.ends, t.why = 0, 0, 0, 0, ''
    return
  end
  if kind == 'e' then return end
  local most, first, longest = string.match(health, '^.(%d+),(%d+),(%d+)$')
  t.faults = t.faults + 1
  if t.since == 0 then t.since = now end
  -- an open breaker ignores faults of earlier requests
  if t.ends > now or (t.ends == 0 and t.faults < tonumber(most)) then return end
  t.why = t.openings >= 3 and kind == 'd' and why or ''
  t.openings = t.openings + 1
  s.opened = why -- `arm` records the opening
  local wait = math.min(tonumber(first) * 2 ^ (t.openings - 1), tonumber(longest))
  if t.why ~= '' then wait = tonumber(longest) end
  t.ends = math.floor(now + wait * (1 + clock[2] % 1000 / 5000))
end
