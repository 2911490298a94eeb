-- ARGV entries newest text, or nothing to look; reply {1 written|0, entries, newest, now}. Written only behind the newest entry that was shown, because the hash of the next one is made from it.
local key = base .. 'audit'
local entries, newest = call('LLEN', key), call('LINDEX', key, -1) or ''
if #ARGV == 0 or ARGV[1] ~= digits(entries) or ARGV[2] ~= newest then return {0, entries, newest, now} end
call('RPUSH', key, ARGV[3])
return {1, entries + 1, ARGV[3], now}
