-- Puts an alert into the list, unless it is there, and into the outbox.
-- KEYS: list, state, firing, outbox. ARGV: its number, the alert behind its number, the most of the list,
-- what to deliver ('' for nothing), when it happened, the most of the outbox.
if redis.call('ZADD', KEYS[1], 'NX', ARGV[1], ARGV[2]) == 0 then
    return 0
end
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
