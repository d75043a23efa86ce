
-- Products too large for a double, for the limits that can have any.
local divide, span, units_of
if wide then
  -- floor((a * b + c) / d) and the rest, for a <= d < 2^45, b < 2^53, c < 2^52: seven bits of b at a time.
  divide = function(a, b, c, d)
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

  -- How long so many units of a bucket take: microseconds, and the fraction above them.
  span = function(limit, units)
    local p, q = limit.b, limit.c
    local whole, part = divide(p % q, units, 0, q)
    return units * floor(p / q) + whole, part
  end

  -- How many units of a bucket such a time is, and the fraction above them.
  units_of = function(limit, time, frac)
    local p, q = limit.b, limit.c
    local units, rest = divide(time % p, q, frac, p)
    return floor(time / p) * q + units, rest
  end
end
