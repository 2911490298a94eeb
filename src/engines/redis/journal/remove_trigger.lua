-- ARGV id; reply 1, or 0 where there is none
call('ZREM', base .. 'triggers', ARGV[1])
return call('HDEL', base .. 'trigger_texts', ARGV[1])
