-- ARGV id token text; reply 1, or 0 when stale
local key = base .. 'run:' .. ARGV[1]
local row = call('HMGET', key, 'status', 'token', 'job', 'partition', 'node', 'attempt')
if row[1] ~= 'started' or row[2] ~= ARGV[2] then return 0 end
local saved = base .. 'checkpoints:' .. row[3]
local by = call('HGET', saved, row[4] .. ':token')
local behind = by and tonumber(by) > tonumber(ARGV[2])
-- Without a lease it is in no order with others: it saves for itself alone.
if behind and ARGV[2] ~= '0' then return 0 end
if not behind then call('HSET', saved, row[4], ARGV[3], row[4] .. ':token', ARGV[2]) end
add_event(ARGV[1], 'checkpoint', #ARGV[3] .. ' bytes', row[5], row[2], row[6])
call('HSET', key, 'checkpoint', ARGV[3])
return 1
