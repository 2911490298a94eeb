-- ARGV after|'' rows_max bytes_max; reply {name, entry, name, entry...} in byte order
local found, bytes = {}, 0
local names = call('ZRANGEBYLEX', base .. 'entries', ARGV[1] == '' and '-' or '(' .. ARGV[1], '+', 'LIMIT', 0, ARGV[2])
for i = 1, #names do
  local entry = call('HGETALL', base .. 'entry:' .. names[i])
  found[#found + 1] = names[i]
  found[#found + 1] = entry
  bytes = bytes + bytes_of(entry)
  if bytes > tonumber(ARGV[3]) then break end
end
return found
