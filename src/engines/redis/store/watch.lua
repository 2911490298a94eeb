-- KEYS lock; ARGV token; reply 1 if the key is held under this token (0: by nobody), and marks it as waited for, else 0
if string.sub(packed, 1, 18) ~= '1 ' .. ARGV[1] or now >= till then return 0 end
-- Only a marked key is announced when it is let go: most are never waited for.
if string.sub(packed, 71, 71) ~= 'w' then redis.call('SETRANGE', KEYS[1], 70, 'w') end
return 1
