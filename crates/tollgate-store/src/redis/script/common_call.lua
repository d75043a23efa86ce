-- Settles plans against the meters of one home: every charge of a plan, or none.
--
-- KEYS[1] is the home; the other keys hold what is too large for it. ARGV[1] names the limits as the home does (so that
-- a home with exactly these limits is recognised by one comparison), ARGV[2] is the call. What the bytes mean is said in
-- wire.rs, and what the algorithms do in docs/algorithms.md. Every number is whole and below 2^53, so no double rounds;
-- time is in microseconds.

local call, unpack_from, pack, sub, floor = redis.call, struct.unpack, struct.pack, string.sub, math.floor
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

-- The common call: requests that each owe to a token bucket and to a window, in a home that has just these two meters.
-- One alone is answered without building a single table. What is not that simple falls through to the general way.
if op == 1 and (not home or sub(home, 1, #head) == head) then
  local full, unit, per, limit, length, s0, s1, s2, s3, asks, at = unpack_from('<dddddddddH', body, 26)
  local lives, tat, frac, stop, count, start, nodes = 0, 0, 0, 0, 0, 0, 0
  local mine, after, told, plain = 0, 0, 0, true
  if home then
    lives, tat, frac, stop, count, start, nodes = unpack_from('<dddddd', home, #head + 1)
    local here, size = nodes, #home
    while here < size do
      local id, last, time, length, next = unpack_from('<c8ddH', home, here)
      if id == node then
        mine, after, told, plain = here, next + length, length, plain and last < seq
      elseif time < forgotten then
        plain = false
      end
      here = next + length
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
  local held, debt = 0, 0
  if tat >= now then
    debt = (tat - now) * per + frac
    -- More than an empty bucket explains: the clock stepped back.
    if debt > full + 1000000 * per then plain = false end
  end
  if plain and now >= first and now < last then
    if start == first then
      held = count
    elseif start > first then
      -- The clock stepped back, and the later window goes on.
      held, first, last = count, start, stop
    end
    local reply, outcomes, changed
    if asks > 1 then reply, outcomes = { pack('<Bd', 0, now) }, {} end
    for place = 1, asks do
      local cost, owed
      cost, owed, at = unpack_from('<dd', body, at)
      local taken, code = cost * unit, 0
      if debt + taken <= full and owed <= limit - held then
        debt, count = debt + taken, held + owed
        tat, frac = now + floor(debt / per), debt % per
        held, start, changed = count, first, true
      elseif taken > full then
        code = 18
      elseif owed > limit then
        code = 19
      elseif debt + taken > full then
        code = 2
      else
        code = 3
      end
      if asks > 1 then
        reply[place + 1], outcomes[place] = pack('<Bdddd', code, tat, frac, count, start), string.char(code)
      else
        reply, outcomes = pack('<BdBdddd', 0, now, code, tat, frac, count, start), string.char(code)
      end
    end
    if asks > 1 then reply, outcomes = table.concat(reply), table.concat(outcomes) end
    if changed then
      local ends = now + 60000000
      if tat > ends then ends = tat end
      if last > ends then ends = last end
      local entry = pack('<c8ddH', node, seq, now, #outcomes) .. outcomes
      if ends <= lives and told == #outcomes then
        -- In its place: nothing is allocated, and the expiry stays.
        local between = mine > nodes and sub(home, nodes, mine - 1) or ''
        call('SETRANGE', KEYS[1], #head + 8, pack('<ddddd', tat, frac, last, count, first) .. between .. entry)
      else
        local others = ''
        if mine > 0 then
          others = sub(home, nodes, mine - 1) .. sub(home, after)
        elseif home then
          others = sub(home, nodes)
        end
        local slack = floor((ends - now) / 4)
        if slack > 3600000000 then slack = 3600000000 elseif slack < 60000000 then slack = 60000000 end
        lives = ends + slack
        call('SET', KEYS[1], head .. pack('<dddddd', lives, tat, frac, last, count, first) .. entry .. others,
          'PX', floor((lives - now) / 1000))
      end
    end
    return reply
  end
end
