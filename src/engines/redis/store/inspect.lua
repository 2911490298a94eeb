-- KEYS lock; reply {now_us, record or nil}
local clock = redis.call('TIME')
return {clock[1] * 1000000 + clock[2], redis.call('GET', KEYS[1])}
