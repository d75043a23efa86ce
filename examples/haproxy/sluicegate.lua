-- Asks Sluicegate about every request that HAProxy holds: two actions for haproxy.cfg, which says where each is used.
--
--   http-request lua.sluicegate LISTENER   asks there; answers refusals itself, and sets txn.sluicegate for all others
--   http-response lua.sluicegate_limits    puts what is left of the limits into the answer of the API

local QUESTION = "http://sluicegate/v1/forward-auth"

-- In milliseconds. Longer than the timeouts of the backend that is asked, so that those count: whoever gives up here asks
-- again, and the request could be charged twice.
local PATIENCE = 5000

-- Headers of a connection, and those that describe a body: the question has none.
local NOT_ASKED = {
    ["connection"] = true, ["content-length"] = true, ["expect"] = true, ["host"] = true, ["keep-alive"] = true,
    ["te"] = true, ["trailer"] = true, ["transfer-encoding"] = true, ["upgrade"] = true,
    -- The other names under which Sluicegate reads what is asked about.
    ["x-original-method"] = true, ["x-original-uri"] = true, ["x-original-url"] = true,
}

-- Headers that are about the answer to the question itself.
local NOT_ANSWERED = {
    ["connection"] = true, ["content-length"] = true, ["date"] = true, ["keep-alive"] = true,
    ["transfer-encoding"] = true,
}

-- What the API is told.
local IDENTITY = { "x-sluicegate-account", "x-sluicegate-tier", "x-sluicegate-decision", "x-sluicegate-mode" }

-- What callers are told besides: the limits, and whether Sluicegate decided without its store.
local function is_limit(name)
    return name:find("^ratelimit") or name:find("^x%-ratelimit%-") or name:find("^x%-quota%-")
        or name == "x-sluicegate-mode"
end

-- HAProxy counts values from 0, and the questions of its client from 1.
local function question(txn)
    local headers = {}
    for name, values in pairs(txn.http:req_get_headers()) do
        if not NOT_ASKED[name] then
            headers[name] = {}
            for i = 0, #values do
                headers[name][i + 1] = values[i]
            end
        end
    end
    headers["x-forwarded-method"] = { txn.f:method() }
    headers["x-forwarded-uri"] = { txn.f:pathq() }
    headers["x-forwarded-for"] = { txn.f:src() }
    return headers
end

-- An answer that Sluicegate did not make is HAProxy's own: nobody was reached.
local function is_decision(answer)
    if answer == nil or answer.status == nil or answer.headers == nil then
        return false
    end
    local kind = answer.headers["content-type"]
    return answer.headers["x-sluicegate-decision"] ~= nil or (kind ~= nil and kind[0] == "application/problem+json")
end

local function refuse(txn, answer)
    local headers = {}
    for name, values in pairs(answer.headers) do
        -- Who is calling is for the API.
        if not NOT_ANSWERED[name] and (is_limit(name) or not name:find("^x%-sluicegate%-")) then
            headers[name] = {}
            for i = 0, #values do
                headers[name][i + 1] = values[i]
            end
        end
    end
    txn:done(txn:reply({ status = answer.status, reason = answer.reason, headers = headers, body = answer.body }))
end

core.register_action("sluicegate", { "http-req" }, function(txn, listener)
    txn:set_var("txn.sluicegate", "unreachable")
    local answer = core.httpclient():get({
        url = QUESTION, dst = listener, headers = question(txn), timeout = PATIENCE,
    })
    if not is_decision(answer) then
        return
    end
    if answer.status ~= 200 then
        refuse(txn, answer)
        return
    end
    for _, name in ipairs(IDENTITY) do
        local values = answer.headers[name]
        if values ~= nil and values[0] ~= "" then
            txn.http:req_set_header(name, values[0])
        end
    end
    txn:set_priv(answer.headers)
    txn:set_var("txn.sluicegate", "admitted")
end, 1)

core.register_action("sluicegate_limits", { "http-res" }, function(txn)
    -- If the API sends headers of these names itself, Sluicegate's count.
    for name, values in pairs(txn:get_priv() or {}) do
        if is_limit(name) then
            txn.http:res_set_header(name, values[0])
        end
    end
end)
