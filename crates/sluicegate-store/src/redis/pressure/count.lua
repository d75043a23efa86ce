-- Notes fingerprints behind an address, and says for how many milliseconds it is squeezed; 0: it is not.
-- KEYS[1]: a sorted set, fingerprints by when they were last reported. KEYS[2]: until when the address is squeezed.
-- ARGV: the window and the length of a squeeze in milliseconds, how many are too many, then the fingerprints.

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local window, length, too_many = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - window)
for i = 4, #ARGV do
  redis.call('ZADD', KEYS[1], now, ARGV[i])
end
local count = redis.call('ZCARD', KEYS[1])
if count > too_many then
  -- The oldest go: more than these are never needed.
  redis.call('ZREMRANGEBYRANK', KEYS[1], 0, count - too_many - 1)
end
redis.call('PEXPIRE', KEYS[1], window)

if count >= too_many then
  redis.call('SET', KEYS[2], string.format('%.0f', now + length), 'PX', length)
  return length
end
local left = tonumber(redis.call('GET', KEYS[2]) or '0') - now
if left > 0 then return left end
return 0
