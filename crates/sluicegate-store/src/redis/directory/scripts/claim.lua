-- The fingerprints of the secrets that the node has, the current one first.
local secrets, known, generation, fresh, adopts = unpack(ARGV)
local secret = string.match(secrets, '^[^,]+')
local theirs = redis.call('HGET', state, 'secret')
if theirs and not string.find(',' .. secrets .. ',', ',' .. theirs .. ',', 1, true) then
  return {'other-secret'}
end
local id = redis.call('HGET', state, 'store')
local found = tonumber(redis.call('HGET', state, 'generation') or 0)
-- A copy from before the store was last set up is the store as little as an empty one.
local is_behind = id == known and found < tonumber(generation)
if known ~= '' and adopts ~= '1' and (id ~= known or is_behind) then
  local is_empty = not id and redis.call('EXISTS', accounts) == 0
  return {(is_empty or is_behind) and 'emptied' or 'other'}
end
if not id or is_behind then
  id = known ~= '' and known or fresh
  found = tonumber(generation) + 1
  redis.call('HSET', state, 'store', id, 'generation', whole(found))
  -- Serials begin in the next millisecond: behind all that were given before the store lost them. See `serial.rs`.
  local now = redis.call('TIME')
  local first = (tonumber(now[1]) * 1000 + math.floor(tonumber(now[2]) / 1000) + 1) * 2048
  for _, field in ipairs({'account-last', 'key-last'}) do
    if tonumber(redis.call('HGET', state, field) or 0) < first then
      redis.call('HSET', state, field, whole(first))
    end
  end
end
if theirs ~= secret then
  redis.call('HSET', state, 'secret', secret)
end
return {'known', id, whole(found)}
