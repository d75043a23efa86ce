-- Drops letters about what happened before then. They are in order, and so is their time, nearly: the first that is
-- younger ends it.
-- KEYS: list, state, firing, outbox. ARGV: then, as many digits as every time has.
local dropped = 0
while true do
    local first = redis.call('ZRANGE', KEYS[4], 0, 0)[1]
    if not first then
        break
    end
    local at = string.match(first, '^%d+ (%d+) ')
    if at and at >= ARGV[1] then
        break
    end
    redis.call('ZREM', KEYS[4], first)
    dropped = dropped + 1
end
if dropped > 0 then
    redis.call('HINCRBY', KEYS[2], 'dropped', dropped)
end
return dropped
