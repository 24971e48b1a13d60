-- A store that cannot be read or written: mail of registered domains waits, and nothing is lost.
-- Other mail passes by the milter's copy of the registered domains.

local other = {sender = "<a@other.test>", fields = {{"From", "a@other.test"}}}

scenario("the store cannot be read", function()
	local ticket = stage()
	sql("ALTER TABLE domain RENAME TO gone")
	deliver(ours(ticket), delayed, NO_STORE)
	deliver({sender = "<a@example.com>", fields = {{"From", "a@example.com"}}}, delayed, NO_STORE)
	deliver({sender = "<a@other.test>", fields = {{"From", "a@example.com"}}}, delayed, NO_STORE)
	deliver(other, untouched)
	deliver(other, untouched, nil, "192.0.2.1")
	sql("ALTER TABLE gone RENAME TO domain")
	deliver(other, untouched)
	deliver(ours(ticket), accepted)
	expect("the state", state_of(ticket), "sent")
end)

scenario("the store cannot be written", function()
	local ticket = stage()
	local no = " BEGIN SELECT RAISE (ABORT, 'no'); END"
	sql("CREATE TRIGGER no BEFORE UPDATE ON email" .. no)
	sql("CREATE TRIGGER nor BEFORE INSERT ON refusal" .. no)
	deliver(ours(ticket), delayed, NO_RECORD)
	deliver(ours(ticket, {{"From", "evil@example.com"}}), delayed, NO_RECORD)
	deliver(other, untouched)
	sql("DROP TRIGGER no")
	sql("DROP TRIGGER nor")
	expect("the state", state_of(ticket), "staged")
	deliver(ours(ticket), accepted)
	expect("the state", state_of(ticket), "sent")
end)

-- While another program writes, our email waits for it; mail of others does not.
-- The program is done when that mail is through.
scenario("another program writes meanwhile", function()
	local ticket = stage()
	local script = DATABASE .. ".lua"
	local file = assert(io.open(script, "w"))
	file:write('dofile("', HERE, '/lib.lua")\n', [[
for _ = 1, 5 do
	deliver({sender = "<a@other.test>", fields = {{"From", "a@other.test"}}}, untouched)
end
]])
	file:close()
	local pipe = io.popen("sqlite3 " .. DATABASE, "w")
	pipe:write("BEGIN IMMEDIATE;\n.shell touch ", DATABASE, ".locked\n")
	pipe:flush()
	run("while [ ! -e " .. DATABASE .. ".locked ]; do sleep 0.05; done")
	local conn = connect()
	begin(conn, ours(ticket))
	pipe:write(".shell miltertest -D SOCKET=", SOCKET, " -s ", script,
		" && touch ", DATABASE, ".others\nROLLBACK;\n")
	pipe:flush()
	accepted(conn)
	pipe:close()
	mt.disconnect(conn)
	run("test -e " .. DATABASE .. ".others")
	expect("the state", state_of(ticket), "sent")
end)

-- What the table rules out, some other program may have written.
local function spoil(statement)
	sql("PRAGMA ignore_check_constraints = 1; " .. statement)
end

scenario("a state that is none", function()
	local ticket = stage()
	spoil("UPDATE email SET state = 'later' WHERE ticket = '" .. ticket .. "'")
	deliver(ours(ticket), delayed, NO_STORE)
	sql("UPDATE email SET state = 'staged' WHERE ticket = '" .. ticket .. "'")
	deliver(ours(ticket), accepted)
end)

for column, good in pairs({policy = "exclusive", subdomains = "own"}) do
	scenario("a domain whose " .. column .. " is none", function()
		local plain = {sender = "<a@example.com>", fields = {{"From", "a@example.com"}}}
		spoil("UPDATE domain SET " .. column .. " = 'later'")
		deliver(plain, delayed, NO_STORE)
		deliver(other, untouched)
		deliver(ours(stage()), accepted) -- by its ticket, whatever the policy
		sql("UPDATE domain SET " .. column .. " = '" .. good .. "'")
		deliver(plain, refused, NO_TICKET)
	end)
end

scenario("the email was taken back", function()
	local ticket = stage()
	sql("DELETE FROM email WHERE ticket = '" .. ticket .. "'")
	deliver(ours(ticket), refused, UNKNOWN)
end)

scenario("another file in the place of the database", function()
	local ticket = stage()
	local aside = DATABASE .. ".aside"
	deliver(other, untouched)
	run("mv " .. DATABASE .. " " .. aside)
	deliver(other, untouched)
	deliver(ours(ticket), delayed, NO_STORE)
	run("cp " .. aside .. " " .. DATABASE)
	deliver(other, untouched)
	deliver(ours(ticket), delayed, NO_STORE)
	deliver(other, untouched, nil, "192.0.2.1")
	run("mv " .. aside .. " " .. DATABASE)
	deliver(ours(ticket), accepted)
	expect("the state", state_of(ticket), "sent")
end)
