-- ARGV id by reason; reply 1, or 0 where no such run goes on. Of a run that no runner has, it is the end.
local key = base .. 'run:' .. ARGV[1]
local row = call('HMGET', key, 'status', 'cancel', 'place', 'node', 'token', 'attempt', 'job', 'reason')
if row[1] == 'cancelled' and row[2] and row[8] == ARGV[3] then return 1 end
if not is_open[row[1]] then return 0 end
local has_runner = row[1] == 'started'
if has_runner and row[2] then return 1 end
if has_runner then call('ZADD', base .. 'cancels', row[3], ARGV[1]) end
add_event(ARGV[1], 'cancel_requested', ARGV[2], row[4], row[5], row[6])
if has_runner then
  call('HSET', key, 'cancel', '1')
else
  move(ARGV[1], row[7], row[3], row[1], 'cancelled')
  call('HSET', key, 'cancel', '1', 'status', 'cancelled', 'reason', ARGV[3], 'ended', digits(now))
end
return 1
