-- Slots: latest deadline, how many, earliest deadline, until when the set lives. Those taken in this call are added to
-- the set together.
local pending = {}
local function flush(i)
  local slots = pending[i]
  if not slots then return end
  pending[i] = nil
  call('ZADD', key[i], unpack(slots))
  if v4[i] < v1[i] then
    v4[i] = v1[i] + B[i] + 60000000
    call('PEXPIRE', key[i], floor((v4[i] - now) / 1000))
  end
end

local function after_now() return string.format('(%.0f', now) end

-- How many count, and the earliest deadline among them.
local function counting(i)
  if v2[i] == 0 or v3[i] > now then return v2[i], v3[i] end
  local seen = walked[i]
  if seen then return seen[1], seen[2] end
  flush(i)
  local count = call('ZCOUNT', key[i], after_now(), '+inf')
  local first = 0
  if count > 0 then
    first = tonumber(call('ZRANGEBYSCORE', key[i], after_now(), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2])
  end
  walked[i] = { count, first }
  return count, first
end

-- Looks up how many there are, the earliest and the latest.
local function recount(i)
  walked[i] = nil
  v2[i] = call('ZCARD', key[i])
  if v2[i] == 0 then
    v1[i], v3[i], v4[i] = 0, 0, 0
  else
    v3[i] = tonumber(call('ZRANGE', key[i], 0, 0, 'WITHSCORES')[2])
    v1[i] = tonumber(call('ZRANGE', key[i], -1, -1, 'WITHSCORES')[2])
  end
end

local function take(i, slot)
  local count, first = counting(i)
  if count < v2[i] then
    call('ZREMRANGEBYSCORE', key[i], '-inf', now)
    if count == 0 then v4[i] = 0 end
  end
  walked[i] = nil
  local deadline = now + B[i]
  if deadline > 4294967295000000 then deadline = 4294967295000000 end
  if count == 0 then
    v1[i], v3[i] = deadline, deadline
  else
    if deadline > v1[i] then v1[i] = deadline end
    v3[i] = deadline < first and deadline or first
  end
  v2[i] = count + 1
  local slots = pending[i]
  if not slots then
    pending[i] = { deadline, slot }
  else
    slots[#slots + 1], slots[#slots + 2] = deadline, slot
  end
end

local function renews(i, slot)
  if v2[i] == 0 then return false end
  flush(i)
  local deadline = call('ZSCORE', key[i], slot)
  return deadline and tonumber(deadline) > now
end

local function renew(i, slot)
  local deadline = now + B[i]
  if deadline > 4294967295000000 then deadline = 4294967295000000 end
  pending[i] = { deadline, slot }
  if deadline > v1[i] then v1[i] = deadline end
  flush(i)
  recount(i)
end

local function release(i, slot)
  if v2[i] == 0 then return end
  flush(i)
  if call('ZREM', key[i], slot) == 1 then recount(i) end
end

