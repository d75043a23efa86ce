-- Adds to counts that all nodes share.
-- KEYS: the hash of counts. ARGV: how long it lives, in milliseconds; then names, each with what is added to it.
for i = 2, #ARGV, 2 do
    redis.call('HINCRBY', KEYS[1], ARGV[i], ARGV[i + 1])
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
