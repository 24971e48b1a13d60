-- Mail without a ticket: who may use a registered domain.

local function mail(sender, ...)
	local fields = {}
	for _, from in ipairs({...}) do
		table.insert(fields, {"From", from})
	end
	return {sender = sender, fields = fields}
end

scenario("a registered domain in the header From", function()
	for _, from in ipairs({"hello@example.com", "X <x@Example.COM>",
		"x@example.com (Boss)", "=?utf-8?q?x?=\n <x@example.com>",
		'"x@example.com" <a@other.test>', "a@other.test (x@example.com)"}) do
		deliver(mail("<a@other.test>", from), refused, NO_TICKET)
		deliver(mail("<>", from), refused, NO_TICKET)
	end
end)

scenario("a registered domain in one reading of the header From", function()
	for _, from in ipairs({"a@other.test, x@example.com", "Friends: x@example.com;",
		"<@example.com:a@other.test>", '"x@example.com"@other.test', "example.com",
		"x@(c)example.com", "x@exam\n ple.com", "x@\1example.com", "x@example.com.",
		"x@exam\\ple.com", "=?utf-8?q?x=40example.com?=", "x%example.com",
		string.rep("(", 500) .. "x@example.com"}) do
		deliver(mail("<a@other.test>", from), refused, UNCLEAR)
		deliver(mail("<>", from), refused, UNCLEAR)
	end
end)

scenario("a registered domain in a second From", function()
	deliver(mail("<a@other.test>", "a@other.test", "x@example.com"), refused, UNCLEAR)
	deliver(mail("<a@other.test>", "x@example.com", "a@other.test"), refused, UNCLEAR)
end)

scenario("a registered domain in other fields that name a sender", function()
	for _, name in ipairs({"Sender", "resent-from", "Resent-Sender"}) do
		deliver({sender = "<a@other.test>", fields = {{"From", "a@other.test"},
			{name, "x@example.com"}}}, refused, NO_TICKET)
	end
	deliver({sender = "<a@other.test>", fields = {{"From", "a@other.test"},
		{"Reply-To", "x@example.com"}}}, untouched)
end)

scenario("an envelope that Postfix reads as a registered domain", function()
	for sender, resolved in pairs({["<x>"] = "x@example.com",
		["<x%example.com>"] = "x@example.com", ["<example.com!x>"] = "x@example.com",
		['<"x@example.com">'] = "x@example.com"}) do
		local message = mail(sender, "a@other.test")
		message.resolved = resolved
		deliver(message, refused, NO_TICKET)
	end
end)

scenario("a registered domain in the envelope only", function()
	for _, sender in ipairs({"<hello@example.com>", "hello@example.com",
		"<x@EXAMPLE.com>", '<"q u"@example.com>'}) do
		deliver(mail(sender, "a@other.test"), refused, NO_TICKET)
	end
end)

scenario("an inactive domain is registered as well", function()
	deliver(mail("<a@idle.test>", "a@idle.test"), refused,
		(NO_TICKET:gsub("example.com", "idle.test")))
end)

scenario("other domains pass untouched", function()
	for _, sender in ipairs({"<a@other.test>", "<a@sub.example.com>",
		"<a@notexample.com>", "root", "<>", ""}) do
		deliver(mail(sender, "a@other.test"), untouched)
	end
	deliver(mail("root", "root (Cron Daemon)"), untouched)
	deliver({sender = "<a@other.test>", fields = {{"Subject", "hi"}}}, untouched)
end)

scenario("a bounce passes untouched", function()
	deliver({sender = "<>", fields = {
		{"From", "MAILER-DAEMON@mail.other.test (Mail Delivery System)"},
		{"To", "hello@example.com"},
	}}, untouched)
end)

scenario("a header of former versions has no meaning", function()
	deliver({sender = "<a@other.test>", fields = {{"From", "a@other.test"},
		{"X-Postern-Ticket", "forged"}, {"X-Postern-Ticket", "twice"}}}, untouched)
end)

scenario("more From fields than can be checked", function()
	local fields = {}
	for i = 1, 10000 do
		fields[i] = {"From", "a@other.test"}
	end
	deliver({sender = "<a@other.test>", fields = fields}, refused, TOO_MANY)
end)

scenario("many other header fields are no matter", function()
	local fields = {{"From", "a@other.test"}}
	for i = 1, 10000 do
		table.insert(fields, {"X-" .. i, string.rep("x", 900)})
	end
	deliver({sender = "<a@other.test>", fields = fields}, untouched)
end)

local function policy(name)
	sql("UPDATE domain SET policy = '" .. name .. "' WHERE name = 'example.com'")
end

scenario("a domain that learns, and one that is shared", function()
	local messages = {mail("<x@example.com>", "x@example.com"),
		mail("<>", "a@other.test, x@example.com")}
	for _, name in ipairs({"learn", "shared"}) do
		policy(name)
		for _, message in ipairs(messages) do
			deliver(message, untouched)
		end
	end
	deliver(mail("<x@example.com>", "x@example.com, a@idle.test"), refused,
		(UNCLEAR:gsub("example.com", "idle.test")))
	policy("exclusive")
	deliver(messages[1], refused, NO_TICKET)
end)

scenario("who is exempt", function()
	for kind, value in pairs({login = "bob", client = "10.1.0.0/16"}) do
		sql("INSERT INTO exemption (id, company_id, domain_id, kind, value, created_us) SELECT '"
			.. kind .. "', company_id, id, '" .. kind .. "', '" .. value
			.. "', 1 FROM domain WHERE name = 'example.com'")
	end
	local message = mail("<x@example.com>", "x@example.com")
	deliver(message, untouched, nil, "10.1.2.3")
	deliver(message, refused, NO_TICKET, "10.2.2.3")
	message.login = "bob"
	deliver(message, untouched, nil, "192.0.2.1")
	message.login = "eve"
	deliver(message, refused, NO_TICKET, "192.0.2.1")
	deliver(mail("<x@example.com>", "x@example.com, a@other.test"), refused, UNCLEAR,
		"10.1.2.3")
end)
