-- Settles plans against the meters of one home: every charge of a plan, or none.
--
-- KEYS[1] is the home; the other keys hold what is too large for it. ARGV[1] names the limits as the home does (so that
-- a home with exactly these limits is recognised by one comparison), ARGV[2] is the call. What the bytes mean is said in
-- wire.rs, and what the algorithms do in docs/algorithms.md. Every number is whole and below 2^53, so no double rounds;
-- time is in microseconds. Nothing is written before everything has been decided.

local call, unpack_from, pack, sub = redis.call, struct.unpack, struct.pack, string.sub
local head, body = ARGV[1], ARGV[2]
local op, node, seq, now = unpack_from('<Bc8dd', body)

if now < 0 then
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
end
if now > 4294967295000000 then now = 4294967295000000 end

local home = call('GET', KEYS[1])
-- After a day nobody asks any more what became of a node's last call.
local forgotten = now - 86400000000

-- The common call: one request that owes to a token bucket and to a window, in a home that has just these two meters.
-- It is answered without building a single table.
if op == 1 and (not home or sub(home, 1, #head) == head) then
  local cost, full, unit, per, owed, limit, length, s0, s1, s2, s3 = unpack_from('<ddddddddddd', body, 26)
  local tat, frac, stop, count, start = 0, 0, 0, 0, 0
  local others, again = '', false
  if home then
    local at
    tat, frac, stop, count, start, at = unpack_from('<ddddd', home, #head + 1)
    local size = #home
    while at < size do
      local id, last, time, told, after = unpack_from('<c8ddH', home, at)
      if id == node then
        again = last >= seq
      elseif time > forgotten then
        others = others .. sub(home, at, after + told - 1)
      end
      at = after + told
    end
  end
  local first, last
  if length > 0 then
    first = now - now % length
    last = first + length
  elseif now < s1 then
    first, last = s0, s1
  elseif now < s2 then
    first, last = s1, s2
  else
    first, last = s2, s3
  end
  -- A number that was used before, and a period the node did not foresee, are left to the general way.
  if not again and now >= first and now < last then
    local held = 0
    if start == first then
      held = count
    elseif start > first then
      -- The clock stepped back: the later window goes on.
      held, first, last = count, start, stop
    end
    local debt, mended = 0, false
    local ahead = tat - now
    if ahead >= 0 then
      debt = ahead * per + frac
      if ahead > 1000000 and debt - 1000000 * per > full then
        debt, mended = full, true
        tat = now + math.floor(debt / per)
        frac = debt % per
      end
    end
    local taken = cost * unit
    if debt + taken <= full and owed <= limit - held then
      debt = debt + taken
      tat = now + math.floor(debt / per)
      frac = debt % per
      count = held + owed
      local ends = tat
      if last > ends then ends = last end
      ends = math.floor((ends - now) / 1000) + 1
      if ends < 60000 then ends = 60000 end
      call('SET', KEYS[1], head .. pack('<dddddc8ddHB', tat, frac, last, count, first, node, seq, now, 1, 0) .. others,
        'PX', ends)
      return pack('<BdBdddd', 0, now, 0, tat, frac, count, first)
    end
    if not mended then
      local code, by = 2, 0
      if taken > full then
        code = 3
      elseif owed > limit then
        code, by = 3, 1
      elseif debt + taken <= full then
        by = 1
      end
      return pack('<BdBBdddd', 0, now, code, by, tat, frac, count, start)
    end
  end
end

