-- Something is over: the alert of its subject is replaced, if it is still the one that was read.
-- KEYS: list, state, firing, outbox. ARGV: subject, what was read, its number, the alert by now, the most of the list,
-- what to deliver ('' for nothing), when it happened, the most of the outbox.
if redis.call('HGET', KEYS[3], ARGV[1]) ~= ARGV[2] then
    return 0
end
redis.call('HDEL', KEYS[3], ARGV[1])
redis.call('ZREM', KEYS[1], ARGV[2])
redis.call('ZADD', KEYS[1], ARGV[3], ARGV[3] .. ' ' .. ARGV[4])
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -1 - ARGV[5])
if ARGV[6] ~= '' then
    local place = redis.call('HINCRBY', KEYS[2], 'letters', 1)
    redis.call('ZADD', KEYS[4], place, place .. ' ' .. ARGV[7] .. ' ' .. ARGV[6])
    local dropped = redis.call('ZREMRANGEBYRANK', KEYS[4], 0, -1 - ARGV[8])
    if dropped > 0 then
        redis.call('HINCRBY', KEYS[2], 'dropped', dropped)
    end
end
return 1
