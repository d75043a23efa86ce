-- How long a whole number of units takes in a bucket of large numbers: microseconds, and the fraction above them.
local function span(i, units)
  local p, q = B[i], C[i]
  local whole, part = divide(p % q, units, 0, q)
  return units * floor(p / q) + whole, part
end

-- How many units such a debt is, and the fraction above them.
local function units_of(i, ahead, frac)
  local p, q = B[i], C[i]
  local units, rest = divide(ahead % p, q, frac, p)
  return floor(ahead / p) * q + units, rest
end

local lim, owes, answer, wait = {}, {}, {}, {}
-- What becomes of the small meters if the plan is admitted, and the buckets as they are seen now.
local n1, n2, n3, n4, s1, s2 = {}, {}, {}, {}, {}, {}

-- Asks the meter of limit `i`. Answers 0 if it fits, 1 if not now, 2 if never, and what remains.
local ask = {}

ask[1] = function(i, cost, mode, force, keeps)
  local full, unit, per = A[i], B[i], C[i]
  local tat, frac, debt = v1[i], v2[i], 0
  local ahead = tat - now
  if ahead >= 0 then
    debt = ahead * per + frac
    if ahead > 1000000 and debt - 1000000 * per > full then
      debt, tat, frac = full, now + floor(full / per), full % per
      if keeps then v1[i], v2[i], dirty = tat, frac, true end
    end
  end
  s1[i], s2[i] = tat, frac
  local taken, after = cost * unit, debt
  local room = debt < full and floor((full - debt) / unit) or 0
  if mode == 3 then
    after = debt > taken and debt - taken or 0
  elseif debt + taken <= full then
    after = debt + taken
  elseif force then
    if debt < full then after = full end
  else
    return taken > full and 2 or 1, room
  end
  if after ~= debt then tat, frac = now + floor(after / per), after % per end
  n1[i], n2[i] = tat, frac
  return 0, room
end

ask[2] = function(i, cost, mode, force, keeps)
  local burst, q = A[i], C[i]
  local tat, frac, units, rest = v1[i], v2[i], 0, 0
  local ahead = tat - now
  if ahead > 1000000 then
    units, rest = units_of(i, ahead - 1000000, frac)
    if units > burst or (units == burst and rest > 0) then
      tat, frac = span(i, burst)
      tat = now + tat
      if keeps then v1[i], v2[i], dirty = tat, frac, true end
    end
  end
  s1[i], s2[i] = tat, frac
  if tat < now then
    tat, frac, units, rest = now, 0, 0, 0
  else
    units, rest = units_of(i, tat - now, frac)
  end
  local room = burst - units - (rest > 0 and 1 or 0)
  if room < 0 then room = 0 end
  local whole, part = 0, 0
  n1[i], n2[i] = s1[i], s2[i]
  if mode == 3 then
    if units == 0 and rest == 0 then return 0, room end
    if cost > units then
      n1[i], n2[i] = now, 0
    else
      whole, part = span(i, cost)
      tat, frac = tat - whole, frac - part
      if frac < 0 then tat, frac = tat - 1, frac + q end
      n1[i], n2[i] = tat, frac
    end
  elseif cost < burst - units or (cost == burst - units and rest == 0) then
    whole, part = span(i, cost)
    tat, frac = tat + whole, frac + part
    if frac >= q then tat, frac = tat + 1, frac - q end
    n1[i], n2[i] = tat, frac
  elseif force then
    if units < burst then
      whole, part = span(i, burst)
      n1[i], n2[i] = now + whole, part
    end
  else
    return cost > burst and 2 or 1, room
  end
  return 0, room
end

