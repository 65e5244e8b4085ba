-- Purpose: requeues dead letters, or drops them for good.
-- KEYS[1]: bucket tag.
-- ARGV: crawl, requeue|drop, token of the change or '', id...
-- Returns: the number of dead letters found.
-- Promise: the numbers of attempts and crashes of a requeued URL start at 0 again. A dropped URL counts as
--   failed. With a token, the letters are kept for 10 minutes, so that undo_dead_letters.lua can restore them.
-- Cost: 6 us per dead letter.
local done, undo = 0, ARGV[3] ~= '' and C .. 'xu:' .. ARGV[3]
for j = 4, #ARGV do
  local letter = call('HGET', C .. 'x', ARGV[j])
  if letter then
    local reason, _, host, level, _, entry = parts(letter)
    call('HDEL', C .. 'x', ARGV[j])
    if undo then call('HSET', undo, ARGV[j], letter) end
    count('dead', -1)
    if ARGV[2] == 'requeue' then
      count('err:' .. reason, -1)
      count('open', 1)
      apart(entry, 1)
      join(host, level, {string.sub(entry, 1, 1) .. '00' .. string.sub(entry, 4)})
      arm(host)
    else
      count('failed', 1)
    end
    done = done + 1
  end
end
if undo and done > 0 then call('EXPIRE', undo, 600) end
return done
