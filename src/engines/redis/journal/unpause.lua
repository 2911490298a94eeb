-- ARGV job; reply 1, or 0 where it is not paused. What came due during the pause is not missing.
call('ZREM', base .. 'pauses', ARGV[1])
if call('HDEL', base .. 'pause_texts', ARGV[1]) == 0 then return 0 end
local entry = base .. 'entry:' .. ARGV[1]
local since = call('HGET', entry, 'since')
if since and tonumber(since) < now then call('HSET', entry, 'since', digits(now)) end
return 1
