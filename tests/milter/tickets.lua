-- Mail with a ticket.

local FOREIGN = "example.com: The message also names a sender of a domain that its API key is not for."

scenario("a valid ticket is accepted, recorded and taken off", function()
	local ticket = stage()
	local message = ours(ticket)
	message.queue_id = "4Z1Q"
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

scenario("the name of the header counts in any letter case", function()
	local ticket = stage()
	local message = ours(ticket)
	message.fields[1][1] = "x-POSTERN-ticket"
	deliver(message, accepted)
	expect("the state", state_of(ticket), "sent")
end)

scenario("a folded and encoded display name", function()
	local ticket = stage({from = "Jörg <hello@example.com>"})
	local message = ours(ticket)
	message.fields[2][2] = "=?utf-8?q?J=C3=B6?=\n =?utf-8?q?rg?=\n\t<hello@EXAMPLE.com>"
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
	expect("the first queue id", queue_id_of(ticket), "QUEUE1")
end)

scenario("a ticket that was never given out", function()
	deliver(ours(string.rep("a", 32)), refused, UNKNOWN)
	deliver(ours(""), refused, UNKNOWN)
	deliver(ours(string.rep("a", 900)), refused, UNKNOWN)
	deliver(ours("' OR '1'='1"), refused, UNKNOWN)
end)

scenario("two tickets", function()
	local first, second = stage(), stage()
	deliver(ours(first, {{TICKET, second}}), refused, MISMATCH)
	expect("the state", state_of(first), "staged")
	expect("the state of the other", state_of(second), "staged")
	deliver(ours(second, {{TICKET, second}}), refused, MISMATCH)
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
		message.fields[2][2] = from
		deliver(message, refused, MISMATCH)
		expect("the state", state_of(ticket), "staged")
	end
end)

scenario("no From, and two of them", function()
	local ticket = stage()
	local message = ours(ticket)
	table.remove(message.fields, 2)
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
	forged.fields[2][2] = "other@example.com"
	deliver(forged, refused, MISMATCH)
	expect("the state", state_of(ticket), "sent")
end)

scenario("a ticket on mail of another domain", function()
	local ticket = stage()
	deliver({sender = "<a@other.test>", fields = {{TICKET, ticket},
		{"From", "a@other.test"}}}, refused, MISMATCH)
end)

scenario("a ticket of an email that has another one by now", function()
	local old, ticket = stage(), stage()
	sql("INSERT INTO superseded_ticket SELECT '" .. old .. "', id, created_us FROM email"
		.. " WHERE ticket = '" .. ticket .. "'")
	sql("DELETE FROM email WHERE ticket = '" .. old .. "'")
	deliver(ours(old), discarded)
	deliver({sender = "<hello@other.test>", fields = {{TICKET, old}, {"From", "a@b.test"}}}, discarded)
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

scenario("recipients that were not staged", function()
	local staged = {"a@dst.test", "b@dst.test"}
	for _, seen in ipairs({{"<x@dst.test>"}, {"<a@dst.test>", "<b@dst.test>", "<x@dst.test>"}}) do
		local ticket = stage({recipients = staged})
		local message = ours(ticket)
		message.recipients = seen
		deliver(message, refused, MISMATCH)
		expect("the state", state_of(ticket), "staged")
	end
	for _, seen in ipairs({{"<a@dst.test>"}, {"b@DST.test", "a@dst.test"}}) do
		local message = ours(stage({recipients = staged}))
		message.recipients = seen
		deliver(message, accepted)
	end
end)
