
-- Asks one meter: 0 if the cost fits, 1 if not now, 2 if never; and what remains before. What becomes of a small meter if
-- the plan is admitted goes into `n1` to `n5`. `s1` and `s2` are a bucket as it is seen, which a peek does not keep.
-- `more` is by how much the overage of a quota grows, or falls with a refund. Modes are those of a plan; 4 is a
-- penalty, which empties a bucket at the most.
local function ask(limit, cost, mode, force, keeps, charged, slot, reserved)
  local kind = limit.kind

  if kind == 1 then
    local full, unit, per = limit.a, limit.b, limit.c
    local tat, frac, over = unmarked(limit)
    local debt = 0
    if tat >= now then
      if over then
        tat, frac = mended(limit, tat, frac, true, keeps)
      elseif (tat - now) * per + frac > 10 * full + 1000000 * per then
        -- More than any debt explains: the clock stepped back.
        tat, frac = now + floor(full / per), full % per
        if keeps then limit.v1, limit.v2, dirty = tat, frac, true end
      end
      -- Of an overdrawn bucket it may be too much for a double. Then it is only compared.
      debt = (tat - now) * per + frac
    end
    show(limit, tat, frac, over)
    local taken = cost * unit
    local room = debt < full and floor((full - debt) / unit) or 0
    if mode == 3 then
      if debt > 0 then give_back(limit, tat, frac, over, cost, charged, reserved) end
    elseif debt + taken <= full then
      local later = debt + taken
      limit.n1, limit.n2 = now + floor(later / per), later % per
    elseif force and mode ~= 4 then
      overdraw(limit, tat, frac, cost)
    elseif force then
      if debt < full then limit.n1, limit.n2 = now + floor(full / per), full % per end
    else
      return taken > full and 2 or 1, room
    end
    return 0, room
  end

  if kind == 3 or kind == 4 then
    local most, first, ends, held = limit.a, 0, 0, 0
    if kind == 3 then
      first = now - now % limit.b
      ends = first + limit.b
    elseif now < limit.s1 then
      first, ends = limit.s0, limit.s1
    elseif now < limit.s2 then
      first, ends = limit.s1, limit.s2
    else
      first, ends = limit.s2, limit.s3
    end
    if limit.v3 == first then
      held = limit.v2
    elseif limit.v3 > first then
      -- The clock stepped back, and the later window goes on.
      held, first, ends = limit.v2, limit.v3, limit.v1
    end
    local same = limit.v3 == first
    local room, later = held < most and most - held or 0, held
    limit.old, limit.held, limit.more = nil, nil, nil
    local corrects = limit.keeps and (mode == 2 or mode == 3) and charged < first and charged < now
    if corrects and correct_past(limit, cost, mode, charged) then return 0, room end
    if mode == 3 then
      if charged >= first then later = held > cost and held - cost or 0 end
    elseif force then
      later = held + cost
      if later > MOST then later = MOST end
    elseif cost <= most + limit.over - held then
      later = held + cost
    else
      return cost > most + limit.over and 2 or 1, room
    end
    if later ~= held then
      limit.n1, limit.n2, limit.n3 = ends, later, first
    else
      limit.n1, limit.n2, limit.n3 = limit.v1, limit.v2, limit.v3
    end
    if limit.keeps then
      limit.n4, limit.n5 = limit.v4, limit.v5
      -- Another period has no baseline yet.
      if not same and later ~= held then limit.n4, limit.n5 = 0, 0 end
    end
    if limit.inc then
      local recorded, free = 0, limit.inc
      if same then
        recorded = limit.v4
        if limit.v5 > free then free = limit.v5 end
      end
      local before, after = recorded, recorded
      if held > free then before = recorded + (held - free) end
      if later > free then after = recorded + (later - free) end
      if before > MOST then before = MOST end
      if after > MOST then after = MOST end
      limit.more = after > before and after - before or before - after
    end
    return 0, room
  end

  if kind == 5 then
    local most, length = limit.a, limit.b
    local current, previous, start = limit.v2, limit.v3, limit.v4
    local first = now - now % length
    if first > start then
      previous = first - start == length and current or 0
      current, start = 0, first
    end
    local elapsed, weighted = now > start and now - start or 0, previous
    if previous > 0 and elapsed > 0 then
      if previous * (length - elapsed) <= MOST then
        weighted = floor(previous * (length - elapsed) / length)
      else
        weighted = divide(length - elapsed, previous, 0, length)
      end
    end
    local left = most - current - weighted
    local room = left > 0 and left or 0
    limit.n1, limit.n2, limit.n3, limit.n4 = start + 2 * length, current, previous, start
    if mode == 3 then
      if charged >= start and current > 0 then
        limit.n2 = current > cost and current - cost or 0
      elseif charged < start and start - charged <= length and previous > 0 then
        limit.n3 = previous > cost and previous - cost or 0
      else
        limit.n1, limit.n2, limit.n3, limit.n4 = limit.v1, limit.v2, limit.v3, limit.v4
      end
    elseif force or cost <= left + limit.over then
      local later = current + cost
      limit.n2 = later < MOST and later or MOST
    else
      return cost > most + limit.over and 2 or 1, room
    end
    return 0, room
  end

  if kind == 6 then
    local _, held = walk(limit)
    local most, used = limit.a, limit.v3 - held
    local room = used < most and most - used or 0
    limit.n1 = cost
    if mode == 3 then return 0, room end
    if force then
      if cost > MOST - used then limit.n1 = MOST - used end
      return 0, room
    end
    local top = most + limit.over
    if cost <= top - used then return 0, room end
    if cost > top then return 2, room end
    limit.wait = freed(limit, cost - (top - used))
    return 1, room
  end

  if kind == 7 then
    local some, first = counting(limit)
    limit.n1 = 0
    if mode == 3 or (force and renews(limit, slot)) then
      limit.n1 = 1
      return 0, 0
    end
    if some < limit.a then return 0, 0 end
    limit.wait = waits(limit, some, first)
    return 1, 0
  end

  -- A bucket as above, whose parts are too many: its debt in units, and the rest above them.
  local burst, q, units, rest = limit.a, limit.c, 0, 0
  local tat, frac, over = unmarked(limit)
  if tat - now >= 1000000 then tat, frac = mended(limit, tat, frac, over, keeps) end
  show(limit, tat, frac, over)
  if tat < now then
    tat, frac, units, rest = now, 0, 0, 0
  else
    units, rest = units_of(limit, tat - now, frac)
  end
  local room = burst - units - (rest > 0 and 1 or 0)
  if room < 0 then room = 0 end
  local fits = cost < burst - units or (cost == burst - units and rest == 0)
  if mode == 3 then
    if units > 0 or rest > 0 then give_back(limit, tat, frac, over, cost, charged, reserved) end
  elseif fits then
    local whole, part = span(limit, cost)
    tat, frac = tat + whole, frac + part
    if frac >= q then tat, frac = tat + 1, frac - q end
    limit.n1, limit.n2 = tat, frac
  elseif force and mode ~= 4 then
    overdraw(limit, tat, frac, cost)
  elseif force then
    if units < burst then
      local whole, part = span(limit, burst)
      limit.n1, limit.n2 = now + whole, part
    end
  else
    return cost > burst and 2 or 1, room
  end
  return 0, room
end
