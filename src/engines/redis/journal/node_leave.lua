-- ARGV id; reply 1, or 0 where there is none
call('UNLINK', base .. 'node:' .. ARGV[1])
return call('ZREM', base .. 'nodes', ARGV[1])
