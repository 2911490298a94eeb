-- ARGV id token status reason exit_status|'' finish|judge; reply 1, or 0 when stale. A judge ends only what has been silent, and a repetition by the same judge has the same reason.
local id, status = ARGV[1], ARGV[3]
local key = base .. 'run:' .. id
local row = call('HMGET', key, 'status', 'token', 'job', 'place', 'silence', 'node', 'attempt', 'reason', 'cancel')
-- A run that is to be cancelled is not left to others.
if row[9] and (status == 'abandoned' or status == 'skipped') then status = 'cancelled' end
local judged = ARGV[6] == 'judge'
if row[2] ~= ARGV[2] then return 0 end
if row[1] == status and (not judged or (row[8] or '') == ARGV[4]) then return 1 end
if row[1] ~= 'started' then return 0 end
local due = tonumber(call('ZSCORE', base .. 'beats', id) or row[5])
if judged and now <= due then return 0 end
add_event(id, status, ARGV[4], row[6], row[2], row[7])
move(id, row[3], row[4], 'started', status)
call('ZREM', base .. 'beats', id)
call('ZREM', base .. 'cancels', id)
local row_end = {'status', status, 'reason', ARGV[4], 'exit', ARGV[5], 'heard', digits(due - row[5])}
if not is_open[status] then row_end[9], row_end[10] = 'ended', digits(now) end
call('HSET', key, unpack(row_end))
return 1
