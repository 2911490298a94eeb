-- ARGV job; reply 1, or 0 where it is not paused
call('ZREM', base .. 'pauses', ARGV[1])
return call('HDEL', base .. 'pause_texts', ARGV[1])
