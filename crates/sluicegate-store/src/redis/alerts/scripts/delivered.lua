-- The letter with this place was delivered.
-- KEYS: list, state, firing, outbox. ARGV: its place, now.
local gone = redis.call('ZREMRANGEBYSCORE', KEYS[4], ARGV[1], ARGV[1])
redis.call('HINCRBY', KEYS[2], 'delivered', gone)
redis.call('HDEL', KEYS[2], 'last_error')
redis.call('HSET', KEYS[2], 'last_at', ARGV[2])
return gone
