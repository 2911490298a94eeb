-- ARGV id; reply the events, the oldest first
return call('LRANGE', base .. 'events:' .. ARGV[1], 0, -1)
