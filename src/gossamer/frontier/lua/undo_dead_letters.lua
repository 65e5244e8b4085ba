-- Purpose: undoes dead_letters.lua: makes the URLs dead letters again.
-- KEYS[1]: bucket tag.
-- ARGV: crawl, requeue|drop (what is undone), token of the change, id...
-- Returns: the number of restored letters. A requeued URL that was claimed in the meantime stays as it is.
-- Promise: a letter is restored once, with its id, reason and time. No URL is lost or duplicated.
-- Cost: 6 us per dropped letter, O(length of the level) per requeued letter.
local undo, done, hosts = C .. 'xu:' .. ARGV[3], 0, {}
for j = 4, #ARGV do
  local letter = call('HGET', undo, ARGV[j])
  local reason, _, host, level, _, entry = parts(letter or '')
  local found = letter
  if letter and ARGV[2] == 'requeue' then
    local queue, queued = C .. 'q:' .. host .. ':' .. level, string.sub(entry, 1, 1) .. '00' .. string.sub(entry, 4)
    found = call('LREM', queue, -1, queued) == 1
    if found then
      call('HINCRBY', C .. 'h:' .. host, 'q', -1)
      if call('EXISTS', queue) == 0 then without_level(host, level) end
      hosts[host] = level
      count('err:' .. reason, 1); count('open', -1)
      apart(entry, -1)
    end
  elseif letter then
    count('failed', -1)
  end
  if found then
    call('HSET', C .. 'x', ARGV[j], letter)
    count('dead', 1)
    done = done + 1
  end
  call('HDEL', undo, ARGV[j])
end
for host, level in pairs(hosts) do
  want(host, level, call('LLEN', C .. 'q:' .. host .. ':' .. level))
  arm(host)
end
return done
