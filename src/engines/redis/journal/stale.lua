-- ARGV skipped rows_max bytes_max; reply rows that are started and silent, the longest overdue first
local found, bytes = {}, 0
local members = call('ZRANGEBYSCORE', base .. 'beats', '-inf', '(' .. digits(now), 'LIMIT', ARGV[1], ARGV[2])
for i = 1, #members do
  local row = whole_row(members[i])
  if row then
    found[#found + 1] = row
    bytes = bytes + bytes_of(row)
    if bytes > tonumber(ARGV[3]) then break end
  else
    -- Somebody deleted the row. On a read-only replica the entry stays.
    redis.pcall('ZREM', base .. 'beats', members[i])
  end
end
return found
