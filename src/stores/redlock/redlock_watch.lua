-- KEYS lock; ARGV token; reply 1 if the key is held under this token (0: by nobody, or promised only), and marks it as waited for, else 0
local packed = redis.call('GET', KEYS[1])
if not packed then return 0 end
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local till = tonumber(string.sub(packed, 20, 35))
if not till then return redis.error_reply('PAWL cannot read the record ' .. KEYS[1]) end
local holder = string.sub(packed, 3, 18)
if string.sub(packed, 71, 71) ~= 'c' then holder = '0000000000000000' end
if holder ~= ARGV[1] or now >= till then return 0 end
-- Only a marked key is announced when it is let go: most are never waited for.
if string.sub(packed, 73, 73) ~= 'w' then redis.call('SETRANGE', KEYS[1], 72, 'w') end
return 1
