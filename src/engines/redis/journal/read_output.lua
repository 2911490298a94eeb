-- ARGV id offset bytes_max; reply {size, status, offset, bytes}, or nothing. What is given ends at a gap.
local row = call('HMGET', base .. 'run:' .. ARGV[1], 'status', 'output')
if not row[1] then return false end
local size, offset, want = row[2] or '0', tonumber(ARGV[2]), tonumber(ARGV[3])
local chunks, output = base .. 'chunks:' .. ARGV[1], base .. 'output:' .. ARGV[1]
local function first(found)
  if not found[1] then return nil end
  local from, length = string.match(found[1], '^(%d+):(%d+)$')
  return from, from + length
end
-- The chunk that the offset is in, or the first behind it.
local from, till = first(call('ZREVRANGEBYSCORE', chunks, digits(offset), '-inf', 'LIMIT', 0, 1))
if not from or till <= offset then
  from, till = first(call('ZRANGEBYSCORE', chunks, '(' .. digits(offset), '+inf', 'LIMIT', 0, 1))
end
local parts, at = {}, nil
while from and want > 0 do
  local skip = math.max(offset - from, 0)
  if not at then at = from + skip elseif tonumber(from) ~= offset then break end
  local bytes = string.sub(call('HGET', output, from), skip + 1, skip + want)
  parts[#parts + 1] = bytes
  want = want - #bytes
  offset = from + skip + #bytes
  if want > 0 then from, till = first(call('ZRANGEBYSCORE', chunks, digits(offset), '+inf', 'LIMIT', 0, 1)) end
end
return {size, row[1], digits(at or math.max(offset, tonumber(size))), table.concat(parts)}
