-- ARGV name; reply the entry, empty where there is none
return call('HGETALL', base .. 'entry:' .. ARGV[1])
