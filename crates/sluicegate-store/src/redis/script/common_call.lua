-- Settles plans against the meters of one home: every charge of a plan, or none.
--
-- KEYS[1] is the home; the other keys hold what is too large for it. ARGV[1] names the limits as the home does (so that
-- a home with exactly these limits is recognised by one comparison), ARGV[2] is the call. What the bytes mean is said in
-- wire.rs, and what the algorithms do in docs/algorithms.md. Every number is whole and below 2^53, so no double rounds;
-- time is in microseconds.

local call, unpack_from, pack, sub, floor = redis.call, struct.unpack, struct.pack, string.sub, math.floor
local head, body = ARGV[1], ARGV[2]
local op, node, seq, now, full, unit, per, limit, length, s0, s1, s2, s3, keeps_past, asks, at
if string.byte(body) == 1 then
  op, node, seq, now, full, unit, per, limit, length, s0, s1, s2, s3, keeps_past, asks, at =
    unpack_from('<Bc8dddddddddddBH', body)
else
  op, node, seq, now, at = unpack_from('<Bc8dd', body)
end

if now < 0 then
  -- The clock of this server decides, up to the latest instant that the node finds plausible. Past it, the node's own
  -- instant does: an hour before.
  local latest, time = -now, call('TIME')
  now = time[1] * 1000000 + time[2]
  if now > latest then now = latest - 3600000000 end
end
if now > 4294967295000000 then now = 4294967295000000 end

local home = call('GET', KEYS[1])
-- How long after its end a period of a quota takes corrections: 48 hours.
local PAST = 172800000000
-- After a day nobody asks any more what became of a node's last call.
local forgotten = now - 86400000000
-- A home with many meters has them in a hash, each in a field of its own: see many.lua.
local many = home and string.byte(home) == 3 and KEYS[1] .. ':m'

-- The common call: requests that each owe to a token bucket and to a window, in a home that has just these two meters,
-- or many. One alone is answered without building a single table, but for what a hash replies. What is not that simple
-- falls through to the general way.
if op == 1 and (not home or many or sub(home, 1, #head) == head) then
  local lives, tat, frac, stop, count, start, nodes = 0, 0, 0, 0, 0, 0, 0
  local bucket_id, bucket_front, window_id, window_front, fence_id
  -- Of a quota: what was recorded in its period before the last change of its tier or policy, and used then.
  local recorded, rebased = 0, 0
  local mine, after, told, plain = 0, 0, 0, true
  if many then
    local size
    bucket_id, size = unpack_from('<c8xxB', head, 6)
    bucket_front = sub(head, 16, 16 + size)
    window_id = sub(head, 17 + size, 24 + size)
    window_front = sub(head, 27 + size)
    fence_id = 'n' .. node
    local rows = call('HMGET', many, bucket_id, window_id, fence_id)
    local bucket, window, fence = rows[1], rows[2], rows[3]
    lives = unpack_from('<d', home, 6)
    -- The general way creates meters, evicts idle ones, and extends the expiry.
    plain = bucket and window and fence and seq % 256 ~= 0 and unpack_from('<d', fence) < seq
      and string.find(bucket, bucket_front, 1, true) == 1 and string.find(window, window_front, 1, true) == 1
      and lives >= now + 60000000 + floor(full / per)
    if plain then
      tat, frac = unpack_from('<dd', bucket, size + 2)
      if keeps_past == 1 then
        stop, count, start, recorded, rebased = unpack_from('<ddddd', window, #window_front + 1)
      else
        stop, count, start = unpack_from('<ddd', window, #window_front + 1)
      end
    end
  elseif home then
    local id, last, time, size, next
    if keeps_past == 1 then
      lives, tat, frac, stop, count, start, recorded, rebased, id, last, time, size, next =
        unpack_from('<ddddddddc8ddH', home, #head + 1)
      nodes = #head + 65
    else
      lives, tat, frac, stop, count, start, id, last, time, size, next =
        unpack_from('<ddddddc8ddH', home, #head + 1)
      nodes = #head + 49
    end
    local here = nodes
    while true do
      if id == node then
        mine, after, told, plain = here, next + size, size, plain and last < seq
      elseif time < forgotten then
        plain = false
      end
      here = next + size
      if here > #home then break end
      id, last, time, size, next = unpack_from('<c8ddH', home, here)
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
  if frac >= per then
    -- It is overdrawn.
    plain = false
  elseif tat >= now then
    debt = (tat - now) * per + frac
    -- More than any debt explains: the clock stepped back.
    if debt > 10 * full + 1000000 * per then plain = false end
  end
  -- What was used or recorded in the period before is kept.
  if keeps_past == 1 and start < first and (count > 0 or recorded > 0) then plain = false end
  local till = keeps_past == 1 and last + PAST or last
  if plain and now >= first and now < last and not (many and till > lives) then
    if start == first then
      held = count
    elseif start > first then
      -- The clock stepped back, and the later window goes on.
      held, first, last = count, start, stop
      till = keeps_past == 1 and last + PAST or last
    end
    local reply, outcomes, changed, code, cost, owed
    if asks > 1 then reply, outcomes = { pack('<Bd', 0, now) }, {} end
    for place = 1, asks do
      cost, owed, at = unpack_from('<dd', body, at)
      local taken = cost * unit
      if debt + taken <= full and owed <= limit - held then
        debt, count, code = debt + taken, held + owed, 0
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
      end
    end
    if not changed then
      if asks > 1 then return table.concat(reply) end
      return pack('<BdBdddd', 0, now, code, tat, frac, count, start)
    end
    local ends = now + 60000000
    if tat > ends then ends = tat end
    if till > ends then ends = till end
    -- In its place, if it keeps its length and lives long enough: nothing is allocated, and the expiry stays.
    local same = ends <= lives and told == asks
    if asks == 1 then
      -- What is stored is also what is replied.
      local stored
      if many then
        local window
        if keeps_past == 1 then
          window = pack('<ddddd', last, count, first, recorded, rebased)
        else
          window = pack('<ddd', last, count, first)
        end
        local bucket, fence = pack('<dd', tat, frac), pack('<ddHB', seq, now, 1, code)
        call('HSET', many, bucket_id, bucket_front .. bucket, window_id, window_front .. window, fence_id, fence)
        return '\6' .. bucket .. window .. node .. fence
      end
      if keeps_past == 1 then
        stored = pack('<dddddddc8ddHB', tat, frac, last, count, first, recorded, rebased, node, seq, now, 1, code)
      else
        stored = pack('<dddddc8ddHB', tat, frac, last, count, first, node, seq, now, 1, code)
      end
      if same and mine == nodes then
        call('SETRANGE', KEYS[1], ARGV[3], stored)
        return '\6' .. stored
      end
      reply, outcomes = '\6' .. stored, string.char(code)
    else
      reply, outcomes = table.concat(reply), table.concat(outcomes)
    end
    local entry = pack('<c8ddH', node, seq, now, asks) .. outcomes
    local packed = pack('<ddddd', tat, frac, last, count, first)
    if keeps_past == 1 then packed = packed .. pack('<dd', recorded, rebased) end
    if many then
      call('HSET', many, bucket_id, bucket_front .. sub(packed, 1, 16), window_id, window_front .. sub(packed, 17),
        fence_id, sub(entry, 9))
      return reply
    end
    if same then
      call('SETRANGE', KEYS[1], ARGV[3], packed .. sub(home, nodes, mine - 1) .. entry)
      return reply
    end
    if mine > 0 then
      entry = entry .. sub(home, nodes, mine - 1) .. sub(home, after)
    elseif home then
      entry = entry .. sub(home, nodes)
    end
    if ends > lives then
      -- A little longer than need be, so that the expiry need not be set with every call.
      local slack = floor((ends - now) / 4)
      if slack > 3600000000 then slack = 3600000000 elseif slack < 60000000 then slack = 60000000 end
      lives = ends + slack
    end
    call('SET', KEYS[1], head .. pack('<d', lives) .. packed .. entry, 'PX', floor((lives - now) / 1000))
    return reply
  end
end
