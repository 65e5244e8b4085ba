-- Purpose: requeues dead letters, or drops them for good.
-- KEYS[1]: bucket tag.
-- ARGV: crawl, requeue|drop, id...
-- Returns: the number of dead letters found.
-- Promise: the numbers of attempts and crashes of a requeued URL start at 0 again. A dropped URL counts as
--   failed.
-- Cost: 6 us per dead letter.
local done = 0
for j = 3, #ARGV do
  local letter = call('HGET', C .. 'x', ARGV[j])
  if letter then
    local reason, _, host, level, _, entry = parts(letter)
    call('HDEL', C .. 'x', ARGV[j])
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
return done
