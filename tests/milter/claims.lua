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
		"a@other.test, x@example.com", "Friends: x@example.com;",
		"=?utf-8?q?x?=\n <x@example.com>"}) do
		deliver(mail("<a@other.test>", from), refused, NO_TICKET)
		deliver(mail("<>", from), refused, NO_TICKET)
	end
end)

scenario("a registered domain in a second From", function()
	deliver(mail("<a@other.test>", "a@other.test", "x@example.com"), refused, NO_TICKET)
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

scenario("a forged ticket on mail of others comes off", function()
	deliver({sender = "<a@other.test>", fields = {{"From", "a@other.test"},
		{TICKET, "forged"}, {TICKET, "twice"}}}, accepted)
end)

scenario("more From fields than can be checked", function()
	local fields = {}
	for i = 1, 10000 do
		fields[i] = {"From", "a@other.test"}
	end
	deliver({sender = "<a@other.test>", fields = fields}, refused, TOO_MANY)
end)

scenario("more tickets than can be taken off", function()
	local fields = {{"From", "a@other.test"}}
	for i = 1, 10000 do
		table.insert(fields, {TICKET, "forged"})
	end
	deliver({sender = "<a@other.test>", fields = fields}, refused, TOO_MANY)
	deliver({sender = "<a@other.test>", fields = fields}, refused, TOO_MANY, "192.0.2.1")
end)

scenario("many other header fields are no matter", function()
	local fields = {{"From", "a@other.test"}}
	for i = 1, 10000 do
		table.insert(fields, {"X-" .. i, string.rep("x", 900)})
	end
	deliver({sender = "<a@other.test>", fields = fields}, untouched)
end)
