-- Something begins: it comes into the list and the outbox, unless its subject has something that goes on, or other
-- nodes were told of this very alert before.
-- KEYS: list, state, firing, outbox, told. ARGV: subject, alert, the most of the list, what to deliver ('' for
-- nothing), when it happened, the most of the outbox, its id if other nodes are told ('' if not).
if redis.call('HEXISTS', KEYS[3], ARGV[1]) == 1 then
    return 0
end
if ARGV[7] ~= '' then
    if redis.call('HGET', KEYS[5], ARGV[1]) == ARGV[7] then
        return 0
    end
    redis.call('HSET', KEYS[5], ARGV[1], ARGV[7])
end
local number = redis.call('HINCRBY', KEYS[2], 'last', 1)
local numbered = number .. ' ' .. ARGV[2]
redis.call('HSET', KEYS[3], ARGV[1], numbered)
redis.call('ZADD', KEYS[1], number, numbered)
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -1 - ARGV[3])
if ARGV[4] ~= '' then
    local place = redis.call('HINCRBY', KEYS[2], 'letters', 1)
    redis.call('ZADD', KEYS[4], place, place .. ' ' .. ARGV[5] .. ' ' .. ARGV[4])
    local dropped = redis.call('ZREMRANGEBYRANK', KEYS[4], 0, -1 - ARGV[6])
    if dropped > 0 then
        redis.call('HINCRBY', KEYS[2], 'dropped', dropped)
    end
end
return 1
