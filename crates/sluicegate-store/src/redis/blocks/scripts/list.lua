-- A page of all blocks, and the time that their ends are to be read against.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local page = redis.call('HSCAN', KEYS[2], ARGV[1], 'COUNT', ARGV[2])
return {string.format('%.0f', now), page[1], page[2]}
