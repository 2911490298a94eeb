-- ARGV id name version address running running_max jobs draining|'' memory_ms; reply 1. Forgets some nodes that have been silent for too long.
local key = base .. 'node:' .. ARGV[1]
call('HSET', key, 'name', ARGV[2], 'version', ARGV[3], 'address', ARGV[4], 'running', ARGV[5], 'running_max', ARGV[6],
  'jobs', ARGV[7], 'draining', ARGV[8], 'seen', digits(now))
call('HSETNX', key, 'started', digits(now))
call('ZADD', base .. 'nodes', digits(now), ARGV[1])
local gone = call('ZRANGEBYSCORE', base .. 'nodes', '-inf', '(' .. digits(now - ARGV[9]), 'LIMIT', 0, 16)
for i = 1, #gone do
  call('ZREM', base .. 'nodes', gone[i])
  call('UNLINK', base .. 'node:' .. gone[i])
end
return 1
