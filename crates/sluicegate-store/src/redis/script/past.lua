
-- The period before the one that a quota counts in.

local function past_key(limit)
  local hex = string.gsub(limit.id, '.', function(letter) return string.format('%02x', byte(letter)) end)
  return KEYS[1] .. ':' .. hex .. ':past'
end

-- It as `{ end, count, recorded, free }`; false if there is none.
local function past_of(limit)
  if limit.past == nil then
    local kept = call('GET', past_key(limit))
    limit.past = kept and { unpack_from('<dddd', kept) } or false
  end
  return limit.past
end

local function keep_past(limit, past)
  limit.past = past
  if past and now - past[1] < PAST then
    local key, packed = past_key(limit), pack('<dddd', past[1], past[2], past[3], past[4])
    call('SET', key, packed, 'PX', floor((past[1] + PAST - now) / 1000) + 1)
  else
    limit.past = false
    call('DEL', past_key(limit))
  end
end

-- Whether anything was used or recorded in the period that a meter is in.
local function says_something(limit)
  return limit.v2 > 0 or limit.v4 > 0
end

-- Up to where the period that a meter is in is free.
local function free_of(limit)
  if not limit.inc then return MOST end
  return limit.v5 > limit.inc and limit.v5 or limit.inc
end

local function overage_of(recorded, free, used)
  if used > free then recorded = recorded + (used - free) end
  return recorded < MOST and recorded or MOST
end

-- A charge that was made in a period that is over turns out to have cost more or less. Says whether that period takes
-- it; `old` is what becomes of its count, in the meter itself or in the past.
local function correct_past(limit, cost, mode, charged)
  local over = limit.kind == 3 and charged - charged % limit.b + limit.b or limit.over_at
  if now - over >= PAST then return false end
  local used, recorded, free
  if limit.v1 == over and says_something(limit) then
    used, recorded, free = limit.v2, limit.v4, free_of(limit)
    limit.held = true
  else
    local past = past_of(limit)
    if not past or past[1] ~= over or past[2] + past[3] == 0 then return false end
    used, recorded, free = past[2], past[3], past[4]
  end
  local later = mode == 3 and (used > cost and used - cost or 0) or used + cost
  if later > MOST then later = MOST end
  local before, after = overage_of(recorded, free, used), overage_of(recorded, free, later)
  limit.old, limit.more = later, after > before and after - before or before - after
  return true
end

-- A meter moves on to another period: the one that it was in is kept, or what was before that.
local function move_on(limit)
  if says_something(limit) then
    keep_past(limit, { limit.v1, limit.v2, limit.v4, free_of(limit) })
  elseif past_of(limit) and now - limit.past[1] >= PAST then
    keep_past(limit, false)
  end
end
