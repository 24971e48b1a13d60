-- Mail with a ticket.

local FOREIGN = "example.com: The message also names a sender of a domain that its API key is not for."

scenario("a valid ticket is accepted, recorded and exchanged", function()
	local ticket = stage({recipients = {"a@dst.test", "b@dst.test", "ü@dst.test"}})
	local message = ours(ticket)
	message.queue_id = "4Z1Q"
	message.added = {"a@dst.test", "b@dst.test", "ü@dst.test"}
	deliver(message, accepted)
	expect("the state", state_of(ticket), "sent")
	expect("the queue id", queue_id_of(ticket), "4Z1Q")
end)

scenario("the envelope sender may come without brackets", function()
	local ticket = stage()
	local message = ours(ticket)
	message.sender = "hello@example.com"
	deliver(message, accepted)
	expect("the state", state_of(ticket), "sent")
end)

scenario("the ticket twice, as httpd says it by SMTP", function()
	local ticket = stage()
	local message = ours(ticket)
	message.recipients = {address_of(ticket), address_of(ticket)}
	deliver(message, accepted)
	expect("the state", state_of(ticket), "sent")
end)

scenario("a folded and encoded display name", function()
	local ticket = stage({from = "Jörg <hello@example.com>"})
	local message = ours(ticket)
	message.fields[1][2] = "=?utf-8?q?J=C3=B6?=\n =?utf-8?q?rg?=\n\t<hello@EXAMPLE.com>"
	deliver(message, accepted)
	expect("the state", state_of(ticket), "sent")
end)

scenario("the same message again", function()
	local ticket = stage()
	for i = 1, 3 do
		local message = ours(ticket)
		message.queue_id = "QUEUE" .. i
		deliver(message, accepted)
	end
	expect("the state", state_of(ticket), "sent")
	expect("the queue id, of which the log knows no other", queue_id_of(ticket), "QUEUE3")
end)

scenario("a ticket that was never given out", function()
	for _, ticket in ipairs({string.rep("a", 32), "", string.rep("a", 900), "' OR '1'='1", "ann"}) do
		deliver(ours(ticket), refused, UNKNOWN)
	end
	local message = {sender = "<a@other.test>", recipients = {"<ann@postern.invalid>"},
		fields = {{"From", "a@other.test"}}}
	deliver(message, refused, (UNKNOWN:gsub("example.com: ", "")))
	message.recipients = {"<a@dst.test>", "<ann@POSTERN.invalid.>"}
	deliver(message, refused, (UNKNOWN:gsub("example.com: ", "")))
end)

scenario("a valid ticket in another spelling", function()
	local ticket = stage()
	for _, address in ipairs({"<" .. ticket:upper() .. "@postern.invalid>",
		"<" .. ticket .. "@Postern.invalid>", "<" .. ticket .. "@postern.invalid.>"}) do
		local message = ours(ticket)
		message.recipients = {address}
		if address:lower() ~= address or address:find("%.>") then
			deliver(message, refused, UNKNOWN)
		end
	end
	expect("the state", state_of(ticket), "staged")
end)

scenario("two tickets", function()
	local first, second = stage(), stage()
	local message = ours(first)
	message.recipients = {address_of(first), address_of(second)}
	deliver(message, refused, MISMATCH)
	expect("the state", state_of(first), "staged")
	expect("the state of the other", state_of(second), "staged")
end)

scenario("a ticket in the header is none", function()
	local ticket = stage()
	for _, name in ipairs({"X-Postern-Ticket", "To", "Cc", "Bcc"}) do
		local value = name == "X-Postern-Ticket" and ticket or address_of(ticket)
		local message = ours(ticket, {{name, value}})
		message.recipients = {"<a@dst.test>"}
		deliver(message, refused, NO_TICKET)
		message.sender, message.fields[1][2] = "<a@other.test>", "a@other.test"
		deliver(message, untouched)
	end
	expect("the state", state_of(ticket), "staged")
end)

scenario("another envelope sender", function()
	for _, sender in ipairs({"<other@example.com>", "<Hello@example.com>", "<>",
		"<hello@example.com.evil.test>", "<a@other.test>"}) do
		local ticket = stage()
		local message = ours(ticket)
		message.sender = sender
		deliver(message, refused, MISMATCH)
		expect("the state", state_of(ticket), "staged")
	end
end)

scenario("another From", function()
	for _, from in ipairs({"other@example.com", "a@other.test", "",
		"hello@example.com, other@example.com", "Friends: hello@example.com;",
		"<hello@example.com> <other@example.com>"}) do
		local ticket = stage()
		local message = ours(ticket)
		message.fields[1][2] = from
		deliver(message, refused, MISMATCH)
		expect("the state", state_of(ticket), "staged")
	end
end)

scenario("another Message-ID, none, and one among others", function()
	for _, id in ipairs({"<other@example.com>", "", "x"}) do
		local ticket = stage()
		local message = ours(ticket)
		message.fields[3][2] = id
		deliver(message, refused, MISMATCH)
		message.fields[3] = nil
		deliver(message, refused, MISMATCH)
		expect("the state", state_of(ticket), "staged")
	end
	local ticket = stage()
	local message = ours(ticket, {{"message-id", "\n " .. message_id_of(ticket) .. " "}})
	message.fields[3][2] = "<other@example.com>"
	deliver(message, accepted)
	expect("the state", state_of(ticket), "sent")
end)

scenario("no From, and two of them", function()
	local ticket = stage()
	local message = ours(ticket)
	table.remove(message.fields, 1)
	deliver(message, refused, MISMATCH)
	expect("the state", state_of(ticket), "staged")
	deliver(ours(stage(), {{"From", "hello@example.com"}}), refused, MISMATCH)
	deliver(ours(stage(), {{"from ", "a@other.test"}}), refused, MISMATCH)
end)

scenario("a refused ticket stays refused", function()
	local ticket = stage()
	deliver(ours(ticket, {{"Sender", "x@foreign.test"}}), refused, FOREIGN)
	deliver(ours(ticket), refused, SPENT)
	expect("the state", state_of(ticket), "refused")
end)

scenario("a forgery does not spend the ticket", function()
	local ticket = stage()
	deliver(ours(ticket, {{"From", "a@other.test"}}), refused, MISMATCH)
	deliver(ours(ticket), accepted)
	expect("the state", state_of(ticket), "sent")
end)

scenario("the ticket of a sent email on another message", function()
	local ticket = stage()
	deliver(ours(ticket), accepted)
	local forged = ours(ticket)
	forged.sender = "<other@example.com>"
	forged.fields[1][2] = "other@example.com"
	deliver(forged, refused, MISMATCH)
	expect("the state", state_of(ticket), "sent")
end)

scenario("a ticket on mail of another domain", function()
	local ticket = stage()
	deliver({sender = "<a@other.test>", recipients = {address_of(ticket)},
		fields = {{"From", "a@other.test"}}}, refused, MISMATCH)
end)

scenario("a ticket of an email that has another one by now", function()
	local old, ticket = stage(), stage()
	sql("INSERT INTO superseded_ticket SELECT '" .. old .. "', id, created_us FROM email"
		.. " WHERE ticket = '" .. ticket .. "'")
	sql("DELETE FROM email WHERE ticket = '" .. old .. "'")
	deliver(ours(old), discarded)
	deliver({sender = "<hello@other.test>", recipients = {address_of(old)},
		fields = {{"From", "a@b.test"}}}, discarded)
	expect("the state", state_of(ticket), "staged")
	deliver(ours(ticket), accepted)
	deliver(ours(old), discarded)
	expect("the state", state_of(ticket), "sent")
end)

scenario("a Sender of a domain that the key is not for", function()
	for _, sender in ipairs({"x@foreign.test", "x@idle.test", '"x@foreign.test" <a@other.test>'}) do
		local ticket = stage()
		deliver(ours(ticket, {{"Sender", sender}}), refused, FOREIGN)
		expect("the state", state_of(ticket), "refused")
	end
	deliver(ours(stage(), {{"Sender", "x@other.test"}}), accepted)
	deliver(ours(stage(), {{"Sender", "x@example.com"}}), accepted)
end)

scenario("other recipients beside the ticket", function()
	local ticket = stage()
	for _, other in ipairs({"<x@dst.test>", "<a@dst.test>", "<>", "<ann@postern.invalid>"}) do
		for _, recipients in ipairs({{address_of(ticket), other}, {other, address_of(ticket)}}) do
			local message = ours(ticket)
			message.recipients = recipients
			deliver(message, refused, MISMATCH)
		end
	end
	expect("the state", state_of(ticket), "staged")
	deliver(ours(ticket), accepted)
end)

scenario("a thousand recipients", function()
	local addresses, rows = {}, {}
	local ticket = stage({recipients = {}})
	for i = 1, 1000 do
		addresses[i] = "user" .. i .. "@dst.test"
		rows[i] = "(" .. i .. ", '" .. addresses[i] .. "')"
	end
	sql("WITH r (n, address) AS (VALUES " .. table.concat(rows, ", ") .. ")"
		.. " INSERT INTO email_recipient (email, n, kind, address, state)"
		.. " SELECT e.seq, r.n, 'bcc', r.address, 'queued' FROM email e, r WHERE e.ticket = '"
		.. ticket .. "'")
	local message = ours(ticket)
	message.added = addresses
	deliver(message, accepted)
end)

scenario("rows that cannot be", function()
	local ticket = stage({recipients = {"a@dst.test", ""}})
	deliver(ours(ticket), delayed, NO_RECORD)
	expect("the state", state_of(ticket), "staged")
end)

scenario("what was changed on its way is refused, and its email told why", function()
	local changes = {
		["envelope sender"] = function(message) message.sender = "<a@other.test>" end,
		["field From"] = function(message) message.fields[2][2] = "Doe <John>, <hello@example.com>" end,
		["field Message-ID"] = function(message) message.fields[4][2] = "<other@example.com>" end,
		["other recipients"] = function(message) table.insert(message.recipients, "<x@dst.test>") end,
	}
	for what, change in pairs(changes) do
		local ticket = stage()
		local message = traced(ticket)
		local told
		change(message)
		deliver(message, function(conn)
			assert(mt.eom(conn) == nil)
			expect("the reply", mt.getreply(conn), SMFIR_REPLYCODE)
		end)
		expect("the state", state_of(ticket), "refused")
		told = sql("SELECT refusal FROM email WHERE ticket = '" .. ticket .. "'")
		expect("what is told of it: " .. told, told:find(what, 1, true) ~= nil, true)
	end
end)

scenario("too many fields", function()
	local ticket, more = stage(), {}
	for i = 1, 17 do
		more[i] = {"Sender", "hello@example.com"}
	end
	deliver(ours(ticket, more), refused, "example.com: " .. TOO_MANY)
	expect("the state", state_of(ticket), "staged")
	deliver(traced(ticket, more), refused, "example.com: " .. TOO_MANY)
	expect("the state", state_of(ticket), "refused")
end)

scenario("a message whose ticket was taken off it", function()
	sql("UPDATE domain SET policy = 'shared' WHERE name = 'example.com'")
	local ticket = stage()
	local message = traced(ticket)
	message.recipients = {"<eve@dst.test>"}
	-- Who knows the id alone cannot have the email refused.
	sql("UPDATE email SET nonce = 'known-to-nobody' WHERE ticket = '" .. ticket .. "'")
	deliver(message, untouched)
	expect("the state", state_of(ticket), "staged")
	table.insert(message.fields, 1, {"Postern-Nonce", "known-to-nobody"})
	deliver(message, refused, LOST)
	expect("the state", state_of(ticket), "refused")
	-- In mail that comes from elsewhere, and when the email is on its way, it means nothing.
	ticket = stage()
	message = traced(ticket)
	message.recipients = {"<eve@dst.test>"}
	deliver(message, untouched, nil, "192.0.2.1")
	deliver(message, untouched, nil, "127.0.0.1")
	deliver(traced(ticket), accepted)
	deliver(message, untouched)
	sql("UPDATE domain SET policy = 'exclusive' WHERE name = 'example.com'")
	expect("the state", state_of(ticket), "sent")
end)

scenario("a ticket that was given out for another way", function()
	local ticket = stage({way = "sendmail"})
	deliver(ours(ticket), refused, OTHER_WAY)
	deliver(traced(ticket), refused, OTHER_WAY)
	expect("the state", state_of(ticket), "staged")
	deliver(ours(stage({way = "smtp"})), accepted)
end)

-- The email waits in the outbox, until Postfix is known to have its message.
local function in_outbox(ticket)
	sql("INSERT INTO outbox (email, company_id, size) SELECT seq, company_id, 1 FROM email"
		.. " WHERE ticket = '" .. ticket .. "'")
end

scenario("a spent ticket", function()
	local ticket = stage({way = "smtp"})
	in_outbox(ticket)
	deliver(ours(ticket), accepted)
	deliver(ours(ticket), accepted)
	sql("DELETE FROM outbox")
	deliver(ours(ticket), discarded)
	deliver(ours(ticket, {{"Sender", "x@foreign.test"}}), discarded)
	expect("the queue id", queue_id_of(ticket) ~= nil, true)
end)

scenario("what the log says proves that Postfix has it", function()
	local function end_as(ticket, state, when)
		sql("UPDATE email_recipient SET state = '" .. state .. "', changed_us = " .. when
			.. " WHERE email = (SELECT seq FROM email WHERE ticket = '" .. ticket .. "')")
	end
	local now = "CAST(strftime('%s', 'now') AS INTEGER) * 1000000"
	for _, state in ipairs({"deferred", "handed_on", "delivered", "bounced", "expired", "removed"}) do
		local ticket = stage()
		end_as(ticket, state, 1) -- as when a rule stopped a message of it before the milter was asked
		deliver(ours(ticket), accepted)
		deliver(ours(ticket), accepted)
		end_as(ticket, state, now)
		deliver(ours(ticket), discarded)
	end
	for _, state in ipairs({"queued", "unknown"}) do
		local ticket = stage()
		deliver(ours(ticket), accepted)
		end_as(ticket, state, now)
		deliver(ours(ticket), accepted)
	end
	-- The bounce has all of the message, and its ticket; nobody reads what was discarded.
	for event, outcome in pairs({bounced = discarded, failed = accepted}) do
		local stopped = stage()
		sql("UPDATE email SET last_event = '" .. event .. "', closed = 1 WHERE ticket = '" .. stopped .. "'")
		deliver(ours(stopped), outcome)
	end
	-- By SMTP it may speak of an earlier message, which was lost.
	local again = stage({way = "smtp"})
	in_outbox(again)
	deliver(ours(again), accepted)
	end_as(again, "removed", now)
	deliver(ours(again), accepted)
end)
