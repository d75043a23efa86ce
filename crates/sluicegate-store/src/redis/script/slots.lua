
-- Slots. In the home: the latest deadline, how many there are, the earliest deadline, and until when the set lives. Those
-- that are taken in this call are added to the set together. `hold` is how long a plan holds its slots, where that is not
-- the lease of their limit.
local counting, flush, take, renews, renew, release, waits, hold
if large then
  flush = function(limit)
    local slots = limit.taken
    if not slots then return end
    limit.taken = nil
    call('ZADD', limit.key, unpack(slots))
    if limit.v4 < limit.v1 then
      limit.v4 = limit.v1 + limit.b + 60000000
      call('PEXPIRE', limit.key, floor((limit.v4 - now) / 1000))
    end
  end

  -- The deadline that comes so many after the first that has not passed.
  local function deadline(limit, place)
    local from = string.format('(%.0f', now)
    local rows = call('ZRANGEBYSCORE', limit.key, from, '+inf', 'WITHSCORES', 'LIMIT', place, 1)
    return tonumber(rows[2] or 0)
  end

  -- How many count, and the earliest deadline among them.
  counting = function(limit)
    if limit.v2 == 0 or limit.v3 > now then return limit.v2, limit.v3 end
    local seen = limit.walked
    if seen then return seen[1], seen[2] end
    flush(limit)
    local some = call('ZCOUNT', limit.key, string.format('(%.0f', now), '+inf')
    local first = some > 0 and deadline(limit, 0) or 0
    limit.walked = { some, first }
    return some, first
  end

  waits = function(limit, some, first)
    if some > limit.a then
      flush(limit)
      first = deadline(limit, some - limit.a)
    end
    return first > now and first - now or 0
  end

  local function lease(limit)
    local ends = now + (hold or limit.b)
    return ends < END and ends or END
  end

  local function recount(limit)
    limit.walked = nil
    limit.v2 = call('ZCARD', limit.key)
    if limit.v2 == 0 then
      limit.v1, limit.v3, limit.v4 = 0, 0, 0
    else
      limit.v3 = tonumber(call('ZRANGE', limit.key, 0, 0, 'WITHSCORES')[2])
      limit.v1 = tonumber(call('ZRANGE', limit.key, -1, -1, 'WITHSCORES')[2])
    end
  end

  take = function(limit, slot)
    local some, first = counting(limit)
    if some < limit.v2 then
      call('ZREMRANGEBYSCORE', limit.key, '-inf', now)
      if some == 0 then limit.v4 = 0 end
    end
    limit.walked = nil
    local ends = lease(limit)
    if some == 0 then
      limit.v1, limit.v3 = ends, ends
    else
      if ends > limit.v1 then limit.v1 = ends end
      limit.v3 = ends < first and ends or first
    end
    limit.v2 = some + 1
    local slots = limit.taken
    if slots then
      slots[#slots + 1], slots[#slots + 2] = ends, slot
    else
      limit.taken = { ends, slot }
    end
  end

  renews = function(limit, slot)
    if limit.v2 == 0 then return false end
    flush(limit)
    local ends = call('ZSCORE', limit.key, slot)
    return ends and tonumber(ends) > now
  end

  renew = function(limit, slot)
    local ends = lease(limit)
    limit.taken = { ends, slot }
    if ends > limit.v1 then limit.v1 = ends end
    flush(limit)
    recount(limit)
  end

  release = function(limit, slot)
    if limit.v2 == 0 then return end
    flush(limit)
    if call('ZREM', limit.key, slot) == 1 then recount(limit) end
  end
end
