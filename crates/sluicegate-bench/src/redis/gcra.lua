-- A rate alone, as one number: when the caller is next on time.
-- KEYS: the number. ARGV: microseconds for one request, microseconds that may be borrowed.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local each, borrowed_max = tonumber(ARGV[1]), tonumber(ARGV[2])
local due = math.max(tonumber(redis.call('GET', KEYS[1])) or now, now) + each
if due - now > borrowed_max then
    return { 0, 0, due - now - borrowed_max, 0 }
end
redis.call('SET', KEYS[1], due, 'PX', math.ceil((due - now) / 1000))
return { 1, math.floor((borrowed_max - due + now) / each), 0, due - now }
