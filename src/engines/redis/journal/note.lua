-- ARGV id token kind text; reply 1, or 0 when stale
local row = call('HMGET', base .. 'run:' .. ARGV[1], 'status', 'token', 'node', 'attempt')
if row[1] ~= 'started' or row[2] ~= ARGV[2] then return 0 end
add_event(ARGV[1], ARGV[3], ARGV[4], row[3], row[2], row[4])
return 1
