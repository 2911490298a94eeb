-- ARGV id job partition key owner node token due_ms mode trigger reason silence_ms; reply 1, 0 where the occurrence has a row already, or -1 where another run has this id
local id, job, field = ARGV[1], ARGV[2], ARGV[3] .. ':' .. ARGV[8]
local known = call('HGET', base .. 'firings:' .. job, field)
local key = base .. 'run:' .. id
local status = known and call('HGET', base .. 'run:' .. known, 'status')
if status then return known == id and status == 'skipped' and 1 or 0 end
if call('EXISTS', key) == 1 then return -1 end
local place = digits(call('INCR', base .. 'place'))
local at = digits(now)
call('HSET', base .. 'firings:' .. job, field, id)
call('ZADD', KEYS[1], place, id)
call('ZADD', base .. 'job:' .. job, place, id)
move(id, job, place, nil, 'skipped')
add_event(id, 'skipped', ARGV[11], ARGV[6], ARGV[7], '1')
call('HSET', key, 'job', job, 'partition', ARGV[3], 'key', ARGV[4], 'owner', ARGV[5], 'node', ARGV[6], 'token', ARGV[7],
  'firing', ARGV[8], 'mode', ARGV[9], 'trigger', ARGV[10], 'status', 'skipped', 'reason', ARGV[11], 'started', at,
  'ended', at, 'heard', at, 'attempt', '1', 'silence', ARGV[12], 'place', place)
return 1
