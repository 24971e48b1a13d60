-- Keys and domains that change between submission and the milter.

scenario("a domain that became inactive, and active again", function()
	local ticket = stage()
	run(POSTERN .. " domain deactivate example.com")
	deliver(ours(ticket), refused, INACTIVE)
	expect("the state", state_of(ticket), "refused")
	run(POSTERN .. " domain activate example.com")
	deliver(ours(ticket), refused, SPENT)
	expect("the state", state_of(ticket), "refused")
	deliver(ours(stage()), accepted)
end)

scenario("a domain that never was active", function()
	local ticket = stage({domain = "idle.test", sender = "a@idle.test"})
	deliver({sender = "<a@idle.test>", recipients = {address_of(ticket)},
		fields = {{"From", "a@idle.test"}, {"Message-ID", message_id_of(ticket)}}}, refused, (INACTIVE:gsub("example.com", "idle.test")))
	expect("the state", state_of(ticket), "refused")
end)

scenario("a domain of another company", function()
	local ticket = stage({domain = "foreign.test", sender = "a@foreign.test"})
	deliver({sender = "<a@foreign.test>", recipients = {address_of(ticket)},
		fields = {{"From", "a@foreign.test"}, {"Message-ID", message_id_of(ticket)}}}, refused,
		(NOT_OWNED:gsub("example.com", "foreign.test")))
end)

scenario("a key that does not exist", function()
	local ticket = stage({key = "00000000-0000-4000-8000-000000000000"})
	deliver(ours(ticket), refused, KEY_INVALID)
end)

scenario("a revoked key", function()
	local ticket = stage()
	run(POSTERN .. " key revoke " .. KEY)
	deliver(ours(ticket), refused, KEY_INVALID)
	expect("the state", state_of(ticket), "refused")
end)

scenario("a domain that was removed", function()
	local ticket = stage()
	run(POSTERN .. " domain remove example.com")
	deliver(ours(ticket), refused, KEY_INVALID)
	deliver({sender = "<hello@example.com>", fields = {{"From", "hello@example.com"}}},
		untouched)
end)
