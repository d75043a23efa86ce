-- The general way: any limits, any number of plans, in a home that may have other meters too.

local floor, byte, char, rep, concat = math.floor, string.byte, string.char, string.rep, table.concat
local MOST = 9007199254740991
-- By the second byte of a limit's image: how many numbers its meter has. The first of them is always the instant from
-- which the meter says nothing any more.
local WIDTH = { 2, 3, 3, 4, 6, 6, 4 }

-- floor((a * b + c) / d) and the rest, for a <= d < 2^45, b < 2^53, c < 2^52: products too large for a double, seven
-- bits at a time.
local function divide(a, b, c, d)
  local quotient, remainder, shift = 0, 0, 1
  while shift * 128 <= b do shift = shift * 128 end
  while shift >= 1 do
    local digit = floor(b / shift)
    b = b - digit * shift
    local part = remainder * 128 + a * digit
    quotient = quotient * 128 + floor(part / d)
    remainder = part % d
    shift = shift / 128
  end
  remainder = remainder + c
  return quotient + floor(remainder / d), remainder % d
end

local limits, kind, bills, key, names, wanted = 0, {}, {}, {}, {}, {}
local A, B, C, S0, S1, S2, S3 = {}, {}, {}, {}, {}, {}, {}
local writes, asks, at, dirty = true, 1, 0, false

-- The limits of the call. Kinds: 1 token bucket, 2 one whose numbers outgrow a double, 3 fixed window, 4 calendar,
-- 5 two counts, 6 buckets or log, 7 slots.
while at < #head - 5 do
  local id, size = unpack_from('<c8B', head, at + 6)
  limits = limits + 1
  names[limits], wanted[limits] = id, sub(head, at + 15, at + 14 + size)
  at = at + 9 + size
end
if op == 1 then
  kind[1], kind[2] = 1, 3
  A[1], B[1], C[1] = unpack_from('<ddd', body, 34)
  A[2], B[2], S0[2], S1[2], S2[2], S3[2] = unpack_from('<dddddd', body, 66)
  if B[2] == 0 then kind[2] = 4 end
elseif op < 4 then
  local some, keys = 0, 1
  some, asks, at = unpack_from('<BH', body, 26)
  writes = some == 1
  for i = 1, limits do
    local what, billed
    what, billed, at = unpack_from('<BB', body, at)
    kind[i], bills[i] = what, billed == 1
    if what <= 2 or what == 6 then
      A[i], B[i], C[i], at = unpack_from('<ddd', body, at)
    elseif what == 4 then
      A[i], S0[i], S1[i], S2[i], S3[i], at = unpack_from('<ddddd', body, at)
    else
      A[i], B[i], at = unpack_from('<dd', body, at)
    end
    -- Either every limit comes with a key, or those do that need one.
    if op == 3 or what >= 6 then
      keys = keys + 1
      key[i] = KEYS[keys]
    end
  end
end
for i = 1, limits do
  if kind[i] == 4 and (now < S0[i] or now >= S3[i]) then return pack('<Bd', 4, now) end
end

-- Limits were edited, and the node has carried over what was used under the old ones. It stands if nobody wrote meanwhile.
if ARGV[3] and home == ARGV[3] then
  home, dirty = ARGV[4], writes
  for place = 1, writes and #ARGV[5] or 0 do call('DEL', key[byte(ARGV[5], place) + 1]) end
end

