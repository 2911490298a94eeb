-- ARGV run id, or firing job partition due_ms; reply the row, or nothing
local id = ARGV[2]
if ARGV[1] == 'firing' then
  id = call('HGET', base .. 'firings:' .. ARGV[2], ARGV[3] .. ':' .. ARGV[4])
  if not id then return false end
end
return whole_row(id)
