-- ARGV memory_ms nodes_max; reply {now, id, node, id, node...}, the last seen first
local found = {now}
local ids = call('ZREVRANGEBYSCORE', base .. 'nodes', '+inf', digits(now - ARGV[1]), 'LIMIT', 0, ARGV[2])
for i = 1, #ids do
  found[#found + 1] = ids[i]
  found[#found + 1] = call('HGETALL', base .. 'node:' .. ids[i])
end
return found
