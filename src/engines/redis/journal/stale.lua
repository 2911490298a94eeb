-- ARGV from skipped rows_max bytes_max; reply {place to go on from|'', row, row...}: rows that are started and silent, the longest overdue first; so many, which are passed over, without their checkpoints
local found, bytes, from = {''}, 0, tonumber(ARGV[1])
local members = call('ZRANGEBYSCORE', base .. 'beats', '-inf', '(' .. digits(now), 'LIMIT', ARGV[1], ARGV[3])
for i = 1, #members do
  local is_skipped = #found <= tonumber(ARGV[2])
  local row = is_skipped and short_row(members[i]) or whole_row(members[i])
  if row then
    found[#found + 1] = row
    bytes = bytes + bytes_of(row)
    from = from + 1
    if bytes > tonumber(ARGV[4]) then
      found[1] = digits(from)
      return found
    end
  elseif redis.pcall('ZREM', base .. 'beats', members[i]) ~= 1 then
    -- Somebody deleted the row. On a read-only replica the entry stays.
    from = from + 1
  end
end
if #members == tonumber(ARGV[3]) then found[1] = digits(from) end
return found
