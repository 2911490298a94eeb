-- ARGV id token offset bytes limit merge_max; reply 1, or 0 when stale. A chunk is OFFSET:BYTES, its score is the offset; small ones that follow each other become one.
local key, chunks = base .. 'run:' .. ARGV[1], base .. 'output:' .. ARGV[1]
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
local last = call('ZRANGE', chunks, -1, -1, 'WITHSCORES')
if last[1] then
  local head = #last[2] + 1
  local held = #last[1] - head
  if last[2] + held == offset and held + #bytes <= tonumber(ARGV[6]) then
    call('ZREM', chunks, last[1])
    bytes = string.sub(last[1], head + 1) .. bytes
    offset = tonumber(last[2])
  end
end
call('ZADD', chunks, digits(offset), digits(offset) .. ':' .. bytes)
-- What ends at the floor or before it goes: all in front of the chunk that the floor is in.
local floor = size - ARGV[5]
if floor <= 0 then return 1 end
local cut = call('ZREVRANGEBYSCORE', chunks, digits(floor), '-inf', 'WITHSCORES', 'LIMIT', 0, 1)
if cut[1] then
  local whole = cut[2] + #cut[1] - #cut[2] - 1 <= floor
  call('ZREMRANGEBYSCORE', chunks, '-inf', (whole and '' or '(') .. cut[2])
end
return 1
