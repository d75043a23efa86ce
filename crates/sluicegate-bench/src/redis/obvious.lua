-- The script that comes to mind first: a token bucket in a hash, the quota in a counter, an expiry on each.
-- KEYS: bucket, quota. ARGV: capacity, tokens per second, quota, seconds of its period, and perhaps the time in ms.
local now = tonumber(ARGV[5])
if not now then
    local time = redis.call('TIME')
    now = time[1] * 1000 + math.floor(time[2] / 1000)
end
local capacity, per_second = tonumber(ARGV[1]), tonumber(ARGV[2])
local quota, period = tonumber(ARGV[3]), tonumber(ARGV[4])
local kept_ms = math.ceil(capacity / per_second * 1000) + 1000

local bucket = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens = tonumber(bucket[1]) or capacity
local at = tonumber(bucket[2]) or now
tokens = math.min(capacity, tokens + (now - at) / 1000 * per_second)
if tokens < 1 then
    redis.call('HSET', KEYS[1], 'tokens', tokens, 'at', now)
    redis.call('PEXPIRE', KEYS[1], kept_ms)
    return { 0, math.floor(tokens), -1, 0 }
end

local used = redis.call('INCR', KEYS[2])
if used == 1 then
    redis.call('EXPIRE', KEYS[2], period)
end
if used > quota then
    return { 0, math.floor(tokens), 0, period }
end

tokens = tokens - 1
redis.call('HSET', KEYS[1], 'tokens', tokens, 'at', now)
redis.call('PEXPIRE', KEYS[1], kept_ms)
return { 1, math.floor(tokens), quota - used, period }
