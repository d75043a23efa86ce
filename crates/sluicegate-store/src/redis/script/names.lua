
-- The idempotency keys of a home, in a sorted set by expiry. Above the maximum, those that expire first are evicted, so that
-- one account cannot fill the store.
local NAMES_MAX = 65536

local function names_key()
  return KEYS[1] .. ':names'
end

-- Adds a name that was charged. The set lives at least as long as its names.
local function keep_name(key, ends)
  local all = names_key()
  if call('ZADD', all, ends, sub(key, -16)) == 0 then return end
  call('ZREMRANGEBYSCORE', all, '-inf', now)
  for _ = NAMES_MAX + 1, call('ZCARD', all) do
    call('DEL', KEYS[1] .. ':i:' .. call('ZPOPMIN', all)[1])
  end
  call('PEXPIRE', all, floor(REMEMBERED / 1000))
end

-- Deletes a name whose charge was refunded.
local function forget_name(key)
  call('DEL', key)
  call('ZREM', names_key(), sub(key, -16))
end
