-- ARGV node name name...; reply how many went
local gone = 0
for i = 2, #ARGV do
  local key = base .. 'entry:' .. ARGV[i]
  if call('HGET', key, 'node') == ARGV[1] then
    call('UNLINK', key)
    call('ZREM', base .. 'entries', ARGV[i])
    gone = gone + 1
  end
end
return gone
