-- Lifts a block. Whether there was one.
local ends, records = KEYS[1], KEYS[2]
local channel, caller = ARGV[1], ARGV[2]

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local till = tonumber(redis.call('ZSCORE', ends, caller) or '0')
redis.call('ZREM', ends, caller)
redis.call('HDEL', records, caller)
-- Also where there was none: a node may have one that it could not share.
redis.call('PUBLISH', channel, '1 lift ' .. caller)
return till > now and 1 or 0
