-- Blocks callers. A block that a caller has earned never shortens the one it has already.
local ends, records = KEYS[1], KEYS[2]
local channel, most = ARGV[1], tonumber(ARGV[2])

-- Whole numbers as text: Lua would write large ones with an exponent.
local function whole(number)
  return string.format('%.0f', number)
end

local function forget(callers)
  if #callers > 0 then
    redis.call('ZREM', ends, unpack(callers))
    redis.call('HDEL', records, unpack(callers))
  end
end

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
forget(redis.call('ZRANGE', ends, '-inf', whole(now), 'BYSCORE', 'LIMIT', '0', '1000'))

local remaining, news = {}, {}
for at = 3, #ARGV, 5 do
  local caller, left, length, origin, reason = unpack(ARGV, at, at + 4)
  local till = now + tonumber(left)
  local known = tonumber(redis.call('ZSCORE', ends, caller) or '0')
  if origin == 'a' and known >= till then
    remaining[#remaining + 1] = whole(known - now)
  else
    redis.call('ZADD', ends, whole(till), caller)
    redis.call('HSET', records, caller, '1 ' .. whole(till) .. ' ' .. length .. ' ' .. origin .. ' ' .. reason)
    news[#news + 1] = '1 put ' .. caller .. ' ' .. left .. ' ' .. length .. ' ' .. origin .. ' ' .. reason
    remaining[#remaining + 1] = left
  end
end

local over = redis.call('ZCARD', ends) - most
if over > 0 then
  forget(redis.call('ZRANGE', ends, '0', whole(math.min(over, 1000) - 1)))
end
local last = redis.call('ZRANGE', ends, '-1', '-1', 'WITHSCORES')
if last[2] then
  redis.call('PEXPIREAT', ends, whole(tonumber(last[2])))
  redis.call('PEXPIREAT', records, whole(tonumber(last[2])))
end
if #news > 0 then
  redis.call('PUBLISH', channel, table.concat(news, '\n'))
end
return remaining
