-- ARGV id by; reply 1, or 0 where no such run goes on
local key = base .. 'run:' .. ARGV[1]
local row = call('HMGET', key, 'status', 'cancel', 'place', 'node', 'token', 'attempt')
if not is_open[row[1]] then return 0 end
if row[2] then return 1 end
if row[1] == 'started' then call('ZADD', base .. 'cancels', row[3], ARGV[1]) end
add_event(ARGV[1], 'cancel_requested', ARGV[2], row[4], row[5], row[6])
call('HSET', key, 'cancel', '1')
return 1
