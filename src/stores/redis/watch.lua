-- KEYS lock; ARGV token; reply 1 if the key is held under this token (0: by nobody), and marks it as waited for, else 0
local packed = redis.call('GET', KEYS[1])
if not packed then return 0 end
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local till = tonumber(string.sub(packed, 20, 35))
if not till then return redis.error_reply('PAWL cannot read the record ' .. KEYS[1]) end
if string.sub(packed, 1, 18) ~= '1 ' .. ARGV[1] or now >= till then return 0 end
-- Only a marked key is announced when it is let go: most are never waited for.
if string.sub(packed, 71, 71) ~= 'w' then redis.call('SETRANGE', KEYS[1], 70, 'w') end
return 1
