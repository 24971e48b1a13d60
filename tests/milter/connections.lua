-- Many messages on one connection, many connections at once.

scenario("two messages on one connection", function()
	local first, second = stage(), stage()
	local conn = connect()
	begin(conn, ours(first))
	accepted(conn)
	begin(conn, ours(second))
	accepted(conn)
	mt.disconnect(conn)
	expect("the first", state_of(first), "sent")
	expect("the second", state_of(second), "sent")
end)

scenario("a ticket does not serve the next message", function()
	local conn = connect()
	begin(conn, ours(stage()))
	accepted(conn)
	begin(conn, {sender = "<hello@example.com>", fields = {{"From", "hello@example.com"}}})
	refused(conn, NO_TICKET)
	begin(conn, {sender = "<a@other.test>", fields = {{"From", "a@other.test"}}})
	untouched(conn)
	mt.disconnect(conn)
end)

scenario("a refusal does not stick either", function()
	local ticket = stage()
	local conn = connect()
	begin(conn, {sender = "<hello@example.com>", fields = {{"From", "hello@example.com"}}})
	refused(conn, NO_TICKET)
	begin(conn, ours(ticket))
	accepted(conn)
	mt.disconnect(conn)
end)

scenario("nothing survives an abort", function()
	local ticket = stage()
	local conn = connect()
	begin(conn, ours(ticket))
	mt.abort(conn)
	begin(conn, {sender = "<a@other.test>", fields = {{"From", "a@other.test"}}})
	untouched(conn)
	begin(conn, ours(ticket, {{"From", "evil@example.com"}}))
	mt.abort(conn)
	begin(conn, ours(ticket))
	accepted(conn)
	mt.disconnect(conn)
	expect("the state", state_of(ticket), "sent")
end)

scenario("connections that break off", function()
	local ticket = stage()
	for i = 1, 20 do
		local conn = connect()
		begin(conn, ours(ticket))
		mt.disconnect(conn, false)
	end
	expect("the state", state_of(ticket), "staged")
	deliver(ours(ticket), accepted)
end)

scenario("fifty connections, each step of all before the next", function()
	local conns, tickets = {}, {}
	for i = 1, 50 do
		tickets[i] = stage()
	end
	for i = 1, 50 do
		conns[i] = connect()
	end
	for i = 1, 50 do
		local message = ours(tickets[i])
		message.queue_id = "Q" .. i
		begin(conns[i], message)
	end
	for i = 50, 1, -1 do
		accepted(conns[i])
	end
	for i = 1, 50 do
		expect("number " .. i, state_of(tickets[i]), "sent")
		expect("number " .. i, queue_id_of(tickets[i]), "Q" .. i)
		mt.disconnect(conns[i])
	end
end)
