
-- Token buckets that owe more than their burst. An overdrawn bucket is marked: its instant is written with a
-- microsecond less, and a fraction that has a whole one more. Without the mark an instant far ahead comes from a clock
-- that stepped back.

-- The instant of a bucket, and whether it is overdrawn.
local function unmarked(limit)
  local tat, frac, q = limit.v1, limit.v2, limit.c
  if frac >= q then return tat + 1, frac - q, true end
  return tat, frac, false
end

-- A bucket as it is seen, which is also what becomes of it unless something does.
local function show(limit, tat, frac, over)
  if over then tat, frac = tat - 1, frac + limit.c end
  limit.s1, limit.s2, limit.n1, limit.n2 = tat, frac, tat, frac
end

local mended, overdraw, give_back
if wide then
  -- How long any number of units takes: what is too long to be counted is longer than anything is owed.
  local function long_span(limit, units)
    if units * floor(limit.b / limit.c) > 4503599627370496 then return 4503599627370496, 0 end
    return span(limit, units)
  end

  local function burst_of(limit)
    return limit.kind == 1 and limit.a / limit.b or limit.a
  end

  -- What a bucket becomes that was overdrawn: it is marked if it still owes more than its burst.
  local function mark(limit, tat, frac)
    local whole, part = span(limit, burst_of(limit))
    if tat - now > whole or (tat - now == whole and frac > part) then tat, frac = tat - 1, frac + limit.c end
    limit.n1, limit.n2 = tat, frac
  end

  -- The longest that a bucket owes.
  local function most_owed(limit, over)
    local burst = burst_of(limit)
    local whole, part = span(limit, burst)
    -- A bucket that takes ten years to fill owes no more than its burst, another ten times as much.
    if whole < 315360000000000 then whole, part = span(limit, 10 * burst) end
    if over and whole < OVERDRAFT then return OVERDRAFT, 0 end
    return whole, part
  end

  -- The instant of a bucket, after a clock that may have stepped back.
  mended = function(limit, tat, frac, over, keeps)
    local whole, part = most_owed(limit, over)
    local ahead = tat - now - 1000000
    if ahead < whole or (ahead == whole and frac <= part) then return tat, frac end
    if not over then whole, part = span(limit, burst_of(limit)) end
    tat, frac = now + whole, part
    if keeps then
      limit.v1, limit.v2, dirty = tat, frac, true
      if over then limit.v1, limit.v2 = tat - 1, frac + limit.c end
    end
    return tat, frac
  end

  -- Charges what does not fit: no instant is later than a debt may be.
  overdraw = function(limit, tat, frac, cost)
    if tat < now then tat, frac = now, 0 end
    local whole, part = long_span(limit, cost)
    local most, rest = most_owed(limit, true)
    local later, above, ends = tat + whole, frac + part, now + most
    if above >= limit.c then later, above = later + 1, above - limit.c end
    if later > ends or (later == ends and above > rest) then
      -- It may owe as much already, by a clock that is a little behind.
      if tat > ends or (tat == ends and frac >= rest) then return end
      later, above = ends, rest
    end
    mark(limit, later, above)
  end

  -- Gives back a part of a charge, but no more than is left of it: what has flowed in since has paid for it first.
  give_back = function(limit, tat, frac, over, cost, charged, reserved)
    local q = limit.c
    local whole, part = long_span(limit, cost)
    local left, rest = long_span(limit, reserved)
    if now > charged then left = left - (now - charged) end
    if left < 0 or (left == 0 and rest == 0) then return end
    if left < whole or (left == whole and rest < part) then whole, part = left, rest end
    if whole > tat - now or (whole == tat - now and part >= frac) then
      limit.n1, limit.n2 = now, 0
      return
    end
    tat, frac = tat - whole, frac - part
    if frac < 0 then tat, frac = tat - 1, frac + q end
    limit.n1, limit.n2 = tat, frac
    if over then mark(limit, tat, frac) end
  end
end
