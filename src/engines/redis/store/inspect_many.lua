-- KEYS lock...; reply {now_us, record or nil for each lock}
local clock = redis.call('TIME')
local answers = redis.call('MGET', unpack(KEYS))
table.insert(answers, 1, clock[1] * 1000000 + clock[2])
return answers
