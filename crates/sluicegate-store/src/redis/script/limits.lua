
-- The general way: any limits, any plans, in a home that may have other meters too.

local byte, char, rep, concat = string.byte, string.char, string.rep, table.concat
local MOST, END, REMEMBERED = 9007199254740991, 4294967295000000, 86400000000
-- The longest that an overdrawn bucket owes: 31 days.
local OVERDRAFT = 2678400000000

-- The limits of the call. Kinds: 1 token bucket, 2 one whose numbers outgrow a double, 3 fixed window, 4 calendar,
-- 5 two counts, 6 buckets or log, 7 slots. `v1` to `v6` are the numbers of the meter, of which the first is always the
-- instant from which it says nothing any more. What goes beyond a limit that `bills` is served: up to `over` beyond it,
-- or without end if that is nil. A quota that `keeps` the period before has two numbers more, `v4` and `v5`: the overage of
-- its period that was recorded before the last change of tier or policy, and what was used then. Overage is what is used
-- beyond the larger of that and `inc`, which is included, on top of what was recorded; without `inc` nothing more is
-- billed. The period before has a key of its own: its end, its count, what was recorded in it, and up to where it was free.
local limits, count, here = {}, 0, 6
while here <= #head do
  local id, _, size = unpack_from('<c8HB', head, here)
  count = count + 1
  limits[count] = {
    id = id, image = sub(head, here + 11, here + 10 + size), kind = 0, bills = false, over = 0, a = 0, b = 0, c = 0,
    v1 = 0, v2 = 0, v3 = 0, v4 = 0, v5 = 0, v6 = 0, n1 = 0, n2 = 0, n4 = 0, n5 = 0,
  }
  here = here + 11 + size
end

local writes, wide, large = true, op == 1, false
if op == 1 then
  local bucket, window = limits[1], limits[2]
  bucket.kind, bucket.a, bucket.b, bucket.c = 1, full, unit, per
  window.kind, window.a, window.b = length > 0 and 3 or 4, limit, length
  window.s0, window.s1, window.s2, window.s3 = s0, s1, s2, s3
  window.keeps = keeps_past == 1
elseif op < 4 then
  local some, keys = 0, 1
  some, asks, at = unpack_from('<BH', body, at)
  writes = some == 1
  for i = 1, count do
    local limit, kind, billed = limits[i], 0, 0
    kind, billed, at = unpack_from('<BB', body, at)
    limit.keeps = billed >= 4
    if limit.keeps then billed = billed - 4 end
    limit.kind, limit.bills = kind, billed > 0
    if billed == 1 then
      limit.over = nil
      limit.inc, at = unpack_from('<d', body, at)
    elseif billed == 2 then
      limit.over, limit.inc, at = unpack_from('<dd', body, at)
    end
    if kind <= 2 or kind == 6 then
      limit.a, limit.b, limit.c, at = unpack_from('<ddd', body, at)
    elseif kind == 4 then
      limit.a, limit.s0, limit.s1, limit.s2, limit.s3, at = unpack_from('<ddddd', body, at)
    else
      limit.a, limit.b, at = unpack_from('<dd', body, at)
    end
    wide, large = wide or kind <= 2 or kind == 5, large or kind >= 6
    -- Either every limit comes with a key, or those do that need one.
    if op == 3 or kind >= 6 then
      keys = keys + 1
      limit.key = KEYS[keys]
    end
  end
end
for i = 1, count do
  local limit = limits[i]
  if limit.kind == 4 and (now < limit.s0 or now >= limit.s3) then return pack('<Bd', 4, now) end
end

-- Limits were edited, and the node has carried over what was used under the old ones. It stands if nobody wrote
-- meanwhile, and is kept with the first plan that keeps anything.
local dirty, replaced = false, ARGV[4] and not many and home == ARGV[4]
if replaced then home = ARGV[5] end
