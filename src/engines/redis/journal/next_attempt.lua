-- ARGV id token reason exit_status|'' attempt|0 attempts_max; reply 1, 0 when stale, or -1 where no attempt is left
local key = base .. 'run:' .. ARGV[1]
local row = call('HMGET', key, 'status', 'token', 'node', 'attempt', 'started')
if row[1] ~= 'started' or row[2] ~= ARGV[2] then return 0 end
local attempt = tonumber(row[4])
if ARGV[5] ~= '0' and tonumber(ARGV[5]) < attempt then return 1 end
if attempt >= tonumber(ARGV[6]) then return -1 end
attempt = digits(attempt + 1)
add_event(ARGV[1], 'attempt', ARGV[3], row[3], row[2], attempt)
-- For who prunes by age: the rows behind it are as young as its beginning, not as its last attempt.
call('HSETNX', key, 'born', row[5])
call('HSET', key, 'attempt', attempt, 'reason', ARGV[3], 'exit', ARGV[4], 'started', digits(now))
return 1
