-- ARGV id token text; reply 1, or 0 when stale
local key = base .. 'run:' .. ARGV[1]
local row = call('HMGET', key, 'status', 'token', 'job', 'partition', 'node', 'attempt')
if row[1] ~= 'started' or row[2] ~= ARGV[2] then return 0 end
local saved = base .. 'checkpoints:' .. row[3]
local by = call('HGET', saved, row[4] .. ':token')
if by and tonumber(by) > tonumber(ARGV[2]) then return 0 end
call('HSET', saved, row[4], ARGV[3], row[4] .. ':token', ARGV[2])
add_event(ARGV[1], 'checkpoint', #ARGV[3] .. ' bytes', row[5], row[2], row[6])
call('HSET', key, 'checkpoint', ARGV[3])
return 1
