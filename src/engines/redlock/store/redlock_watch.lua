-- KEYS lock; ARGV token; reply 1 if the key is held under this token (0: by nobody, or promised only), and marks it as waited for, else 0
local holder = string.sub(packed, 3, 18)
if string.sub(packed, 71, 71) ~= 'c' then holder = '0000000000000000' end
if holder ~= ARGV[1] or now >= till then return 0 end
-- Only a marked key is announced when it is let go: most are never waited for.
if string.sub(packed, 73, 73) ~= 'w' then redis.call('SETRANGE', KEYS[1], 72, 'w') end
return 1
