-- Where mail comes from: the rules hold for what originates here.

local claim = {sender = "<hello@example.com>", fields = {{"From", "hello@example.com"}}}

scenario("internal hosts", function()
	for _, address in ipairs({"127.0.0.1", "127.1.2.3", "10.1.2.3"}) do
		deliver(claim, refused, NO_TICKET, address)
	end
end)

scenario("a client without an Internet address", function()
	deliver(claim, refused, NO_TICKET, "unspec")
end)

scenario("other hosts pass untouched", function()
	for _, address in ipairs({"192.0.2.1", "11.1.2.3", "10.9.2.3"}) do
		deliver(claim, untouched, nil, address)
	end
end)

scenario("other hosts with a login", function()
	local message = {sender = claim.sender, fields = claim.fields, login = "bob"}
	deliver(message, refused, NO_TICKET, "192.0.2.1")
end)

scenario("a login lasts for one message", function()
	local conn = connect("192.0.2.1")
	begin(conn, {sender = claim.sender, fields = claim.fields, login = "bob"})
	refused(conn, NO_TICKET)
	begin(conn, {sender = "<a@other.test>", fields = {{"Subject", "hi"}}, login = "bob"})
	untouched(conn)
	mt.disconnect(conn)
end)

scenario("a ticket by the network is worth nothing", function()
	local ticket = stage()
	for _, address in ipairs({"127.0.0.1", "10.1.2.3", "192.0.2.1"}) do
		deliver(ours(ticket), refused, NETWORK, address)
		deliver(ours("ann"), refused, NETWORK, address)
	end
	local message = ours(ticket)
	message.login = "bob"
	deliver(message, refused, NETWORK)
	expect("the state", state_of(ticket), "staged")
	deliver(ours(ticket), accepted)
end)
