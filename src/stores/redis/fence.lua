-- KEYS fence; ARGV token older|not_newer (what is rejected); reply {1 accepted|0 refused, newest}
local newest = tonumber(redis.call('GET', KEYS[1]) or '0')
local token = tonumber(ARGV[1])
if token < newest or (token == newest and ARGV[2] == 'not_newer') then return {0, newest} end
if token > newest then redis.call('SET', KEYS[1], ARGV[1]) end
return {1, token}
