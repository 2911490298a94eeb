-- ARGV before|0 limit; reply entries, the oldest first
local entries = call('LLEN', base .. 'audit')
local last = tonumber(ARGV[1])
if last == 0 or last > entries then last = entries + 1 end
if last < 2 then return {} end
return call('LRANGE', base .. 'audit', math.max(last - 1 - ARGV[2], 0), last - 2)
