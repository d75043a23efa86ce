local channel, at, who, action = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

-- What this very write was answered, if it comes a second time because the answer was lost.
local answered = KEYS[10]
local earlier = redis.call('GET', answered)
if earlier then
  return cjson.decode(earlier)
end

-- The answer of a write that is done.
local function done(...)
  local answer = {'done', ...}
  redis.call('SET', answered, cjson.encode(answer), 'PX', 60000)
  return answer
end

-- A serial: at least this, and larger than all before it. Serials are below 2^53, so Lua's numbers hold them exactly.
-- Earlier versions count theirs in other fields, from 1.
local function next_serial(field, least)
  local last = tonumber(redis.call('HGET', state, field) or 0)
  local serial = whole(math.max(tonumber(least), last + 1))
  redis.call('HSET', state, field, serial)
  return serial
end

-- The place of a key in the list of keys: by account, then by number.
local function place(account, number)
  return string.format('%020.0f%010.0f', account, number)
end

-- Enters the write into the audit trail. The number of the entry is the number of the change.
local function enter(target, before, after)
  local id = redis.call('XADD', audit, '0-*', 'v', 1, 'at', at, 'who', who, 'action', action,
    'target', target, 'before', before, 'after', after)
  local change = string.sub(id, 3)
  redis.call('HSET', state, 'change', change)
  return change
end

-- Tells every node what has changed.
local function tell(what, name, change)
  redis.call('PUBLISH', channel, '1 ' .. what .. ' ' .. name .. ' ' .. change)
end
