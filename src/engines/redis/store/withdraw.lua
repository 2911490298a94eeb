-- KEYS lock; ARGV id retention_ms channel [due_ms]; reply 1 if the key was held under this claim, else 0
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local packed = redis.call('GET', KEYS[1]) or string.format('1 %016d %016d %016d %016d - - - - ', 0, 0, 0, 0)
if string.sub(packed, 1, 2) ~= '1 ' then
  return redis.error_reply('PAWL cannot read the record ' .. KEYS[1] .. ': another version of pawl has written it')
end
local holder, till, last, acquired, watched, done, withdrawn, id, owner =
  string.match(packed, '^1 (%d+) (%d+) (%d+) (%d+) (%S) (%S+) (%S+) (%S+) (.*)$')
if not holder then return redis.error_reply('PAWL cannot read the record ' .. KEYS[1]) end
holder, till = tonumber(holder), tonumber(till)
-- The claim may still be on its way, over a connection that we believe dead: remember its id.
local ids, known = {ARGV[1]}, false
if withdrawn ~= '-' then
  for other in string.gmatch(withdrawn, '[^,]+') do
    if other == ARGV[1] then known = true elseif #ids < 32 then ids[#ids + 1] = other end
  end
end
-- The last grant was its own, live or expired.
local granted = holder ~= 0 and id == ARGV[1]
-- One that gives an occurrence back is written again: replicas confirm what this connection has written.
if known and not granted and not ARGV[4] then return 0 end
local held, mark = granted and now < till, watched
if granted then
  -- Rule 2: its work never began. Occurrences of a key only move forward, so nothing earlier comes back.
  if ARGV[4] and done == ARGV[4] then done = string.format('%d', ARGV[4] - 1) end
  holder, id, till, mark = 0, '-', 0, '-'
  if watched == 'w' then redis.call('PUBLISH', ARGV[3], '') end
end
redis.call('SET', KEYS[1],
  string.format('1 %016d %016d %s %s %s %s %s %s %s', holder, till, last, acquired, mark, done, table.concat(ids, ','), id, owner),
  'PX', math.ceil(math.max(till - now, 0) / 1000) + ARGV[2])
return held and 1 or 0
