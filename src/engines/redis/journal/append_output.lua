-- ARGV id token offset bytes limit merge_max dropped_max; reply 1, or 0 when stale. The index of chunks holds OFFSET:LENGTH by offset, so that bytes are moved only when they are wanted; small chunks that follow each other become one.
local id = ARGV[1]
local key, chunks, output = base .. 'run:' .. id, base .. 'chunks:' .. id, base .. 'output:' .. id
local row = call('HMGET', key, 'status', 'token', 'output')
if row[1] ~= 'started' or row[2] ~= ARGV[2] then return 0 end
local before, offset, bytes = tonumber(row[3] or '0'), tonumber(ARGV[3]), ARGV[4]
local size = offset + #bytes
if size <= before or #bytes == 0 then return 1 end
if offset < before then
  bytes = string.sub(bytes, before - offset + 1)
  offset = before
end
call('HSET', key, 'output', digits(size))
local last = call('ZRANGE', chunks, -1, -1)[1]
if last then
  local from, length = string.match(last, '^(%d+):(%d+)$')
  if from + length == offset and length + #bytes <= tonumber(ARGV[6]) then
    call('ZREM', chunks, last)
    bytes = call('HGET', output, from) .. bytes
    offset = tonumber(from)
  end
end
call('HSET', output, digits(offset), bytes)
call('ZADD', chunks, digits(offset), digits(offset) .. ':' .. #bytes)
-- What ends at the floor or before it goes.
local floor = size - ARGV[5]
if floor <= 0 then return 1 end
local old = call('ZRANGEBYSCORE', chunks, '-inf', digits(floor), 'LIMIT', 0, ARGV[7])
for i = 1, #old do
  local from, length = string.match(old[i], '^(%d+):(%d+)$')
  if from + length > floor then break end
  call('HDEL', output, from)
  call('ZREM', chunks, old[i])
end
return 1
