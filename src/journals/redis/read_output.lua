-- ARGV id offset bytes_max; reply {size, status, offset, bytes}, or nothing. What is given ends at a gap.
local row = call('HMGET', base .. 'run:' .. ARGV[1], 'status', 'output')
if not row[1] then return false end
local size, offset, want = row[2] or '0', tonumber(ARGV[2]), tonumber(ARGV[3])
local chunks = base .. 'output:' .. ARGV[1]
local parts, at = {}, nil
-- The chunk that the offset is in, or the first behind it.
local next = call('ZREVRANGEBYSCORE', chunks, digits(offset), '-inf', 'WITHSCORES', 'LIMIT', 0, 1)
if not next[1] or next[2] + #next[1] - #next[2] - 1 <= offset then
  next = call('ZRANGEBYSCORE', chunks, '(' .. digits(offset), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
end
while next[1] and want > 0 do
  local from = tonumber(next[2])
  local skip = math.max(offset - from, 0)
  if not at then at = from + skip elseif from ~= offset then break end
  local bytes = string.sub(next[1], #next[2] + 2 + skip, #next[2] + 1 + skip + want)
  parts[#parts + 1] = bytes
  want = want - #bytes
  offset = from + skip + #bytes
  if want > 0 then next = call('ZRANGEBYSCORE', chunks, digits(offset), '+inf', 'WITHSCORES', 'LIMIT', 0, 1) end
end
return {size, row[1], digits(at or math.max(offset, tonumber(size))), table.concat(parts)}
