-- What the scenarios share. Given by run: SOCKET, DATABASE, POSTERN (command
-- with its -c), COMPANY, KEY, MILTER_PID, LOG, HERE (this folder).

mt.set_timeout(60)

-- The recipient that stands for a ticket.
function address_of(ticket)
	return "<" .. ticket .. "@postern.invalid>"
end

-- The texts that go with a refusal or a delay.
NO_TICKET = "example.com: Mail from this domain must be sent with an API key."
UNKNOWN = "example.com: The message is for a ticket that was never given out."
NETWORK = "Nobody but the programs of this host may use tickets."
UNCLEAR = "example.com: The sender can be read in several ways, and in one of them it is of this domain."
MISMATCH = "example.com: The message is not the one that its ticket was given to."
SPENT = "example.com: The message of this ticket was refused before."
KEY_INVALID = "example.com: The API key of this message may not send it any more."
NOT_OWNED = "example.com: The domain of the sender no longer belongs to the company of the API key."
INACTIVE = "example.com: The domain of the sender is not active for sending."
LOST = "example.com: A setting of Postfix has given the message another recipient in the place of its ticket."
OTHER_WAY = "example.com: The message did not come the way that its ticket was given out for."
TOO_MANY = "The message has more header fields that name its sender than can be checked."
NO_STORE = "The sending rules cannot be checked now, try again later."
NO_RECORD = "example.com: The message cannot be recorded now, try again later."

-- Runs one scenario and prints how it went, for run to count.
function scenario(name, body)
	local ok, fault = pcall(body)
	if ok then
		print("ok   " .. name)
	else
		print("FAIL " .. name .. ": " .. tostring(fault))
	end
	io.stdout:flush()
end

function expect(what, got, wanted)
	if got ~= wanted then
		error(what .. " is " .. tostring(got) .. ", not " .. tostring(wanted), 3)
	end
end

-- Runs a command, returns what it prints.
function run(command)
	local pipe = assert(io.popen(command .. " 2>&1; echo \"$?\""))
	local said = pipe:read("*a")
	pipe:close()
	local text, status = said:match("^(.-)\n?(%d+)\n$")
	if status ~= "0" then
		error(command .. ": " .. text, 2)
	end
	return text
end

function sql(statement)
	return run("sqlite3 -cmd '.timeout 20000' -cmd 'PRAGMA foreign_keys = ON' " .. DATABASE .. " \"" .. statement .. "\"")
end

-- Inserts an email with these columns; the others that must not be NULL are
-- empty, whichever there are.
local function insert(values)
	local names, texts = {}, {}
	for line in (sql("PRAGMA table_info(email)") .. "\n"):gmatch("(.-)\n") do
		local name, kind, needed, fallback, key =
			line:match("^%d+|(.-)|(.-)|(%d)|(.-)|(%d)$")
		local text = values[name]
		if not text and needed == "1" and fallback == "" and key == "0" then
			text = kind == "INTEGER" and "1" or ""
		end
		if text then
			table.insert(names, name)
			table.insert(texts, "'" .. text .. "'")
		end
	end
	sql("INSERT INTO email (" .. table.concat(names, ", ") .. ") VALUES ("
		.. table.concat(texts, ", ") .. ")")
end

-- Inserts the recipients of an email, all of them in the envelope.
local function insert_recipients(ticket, addresses)
	for n, address in ipairs(addresses) do
		sql("INSERT INTO email_recipient (email, n, kind, address, state) SELECT seq, " .. n
			.. ", 'to', '" .. address .. "', 'queued' FROM email WHERE ticket = '"
			.. ticket .. "'")
	end
end

-- The Message-ID of the email with this ticket.
function message_id_of(ticket)
	return "<id-" .. ticket .. "@example.com>"
end

-- Stages an email as httpd does; returns its ticket.
function stage(options)
	options = options or {}
	local ticket = run("od -An -N16 -tx1 /dev/urandom"):gsub("%s", "")
	local sender = options.sender or "hello@example.com"
	insert({
		id = table.concat({ticket:sub(1, 8), ticket:sub(9, 12), "4" .. ticket:sub(14, 16),
			"8" .. ticket:sub(18, 20), ticket:sub(21)}, "-"),
		ticket = ticket,
		message_id = message_id_of(ticket),
		company_id = options.company or COMPANY,
		key_id = options.key or KEY,
		domain = options.domain or "example.com",
		sender = sender,
		header_from = options.from or sender,
		way = options.way or "any",
	})
	insert_recipients(ticket, options.recipients or {"a@dst.test"})
	return ticket
end

function id_of(ticket)
	return sql("SELECT id FROM email WHERE ticket = '" .. ticket .. "'")
end

-- What the record of a ticket says.
function state_of(ticket)
	return sql("SELECT state FROM email WHERE ticket = '" .. ticket .. "'")
end

function queue_id_of(ticket)
	return sql("SELECT queue_id FROM email WHERE ticket = '" .. ticket .. "'")
end

-- A connection from that address, negotiated; without one as httpd's SMTP makes
-- it, by a Unix-domain socket.
function connect(address)
	local conn = mt.connect("unix:" .. SOCKET)
	if conn == nil then
		error("no connection", 2)
	end
	assert(mt.negotiate(conn, nil, nil, nil) == nil)
	assert(mt.conninfo(conn, "client.test", address or "unspec") == nil)
	return conn
end

-- The first recipient of the last message of each connection.
local recipient_in = {}

-- Sends a message up to its end: { sender=, fields={{name, value}...},
-- queue_id=, login=, resolved=,
-- recipients= }. There must be a field: miltertest makes up what is left
-- out.
function begin(conn, message)
	local macros = {"i", message.queue_id or "4F2A"}
	for macro, key in pairs({["{auth_authen}"] = "login", ["{mail_addr}"] = "resolved"}) do
		if message[key] then
			table.insert(macros, macro)
			table.insert(macros, message[key])
		end
	end
	mt.macro(conn, SMFIC_MAIL, table.unpack(macros))
	assert(mt.mailfrom(conn, message.sender) == nil)
	recipient_in[tostring(conn)] = message.recipients and message.recipients[1]
	for _, recipient in ipairs(message.recipients or {}) do
		assert(mt.rcptto(conn, recipient) == nil)
	end
	for _, field in ipairs(message.fields or {}) do
		assert(mt.header(conn, field[1], field[2]) == nil)
	end
end

-- The same, with the id of the email in front, as httpd has it.
function traced(ticket, more)
	local message = ours(ticket, more)
	table.insert(message.fields, 1, {"X-Postern-Email-Id", id_of(ticket)})
	return message
end

-- The message that httpd submits with this ticket; more goes behind its fields.
function ours(ticket, more)
	local message = {
		sender = "<hello@example.com>",
		recipients = {address_of(ticket)},
		fields = {
			{"From", "Acme <hello@example.com>"},
			{"Subject", "hi"},
			{"Message-ID", message_id_of(ticket)},
		},
	}
	for _, field in ipairs(more or {}) do
		table.insert(message.fields, field)
	end
	return message
end

local function check_passed(conn)
	expect("the reply", mt.getreply(conn), SMFIR_ACCEPT)
end

-- Ends the message and expects what becomes of it: the recipients of its email are
-- there instead of its ticket.

function accepted(conn, _, recipients)
	assert(mt.eom(conn) == nil)
	check_passed(conn)
	for _, address in ipairs(recipients or {"a@dst.test"}) do
		expect("that <" .. address .. "> is added",
			mt.eom_check(conn, MT_RCPTADD, "<" .. address .. ">"), true)
	end
	expect("that the ticket is removed",
		mt.eom_check(conn, MT_RCPTDELETE, recipient_in[tostring(conn)]), true)
end

function untouched(conn)
	assert(mt.eom(conn) == nil)
	check_passed(conn)
	expect("that nobody is added", mt.eom_check(conn, MT_RCPTADD, "<a@dst.test>"), false)
	for _, change in ipairs({MT_HDRADD, MT_HDRCHANGE, MT_HDRDELETE, MT_HDRINSERT,
		MT_BODYCHANGE, MT_QUARANTINE}) do
		expect("change " .. change, mt.eom_check(conn, change), false)
	end
end

local function replied(conn, code, status, text)
	assert(mt.eom(conn) == nil)
	if code == "550" then
		expect("that nobody is added", mt.eom_check(conn, MT_RCPTADD, "<a@dst.test>"), false)
	end
	expect("the reply", mt.getreply(conn), SMFIR_REPLYCODE)
	expect(code .. " " .. text, mt.eom_check(conn, MT_SMTPREPLY, code, status, text), true)
end

function refused(conn, text)
	replied(conn, "550", "5.7.1", text)
end

function discarded(conn)
	assert(mt.eom(conn) == nil)
	expect("the reply", mt.getreply(conn), SMFIR_DISCARD)
end

function delayed(conn, text)
	replied(conn, "451", "4.7.1", text)
end

-- One message on a connection of its own: deliver(message, refused, TEXT).
function deliver(message, ending, text, address)
	local conn = connect(address)
	begin(conn, message)
	ending(conn, text, message.added)
	mt.disconnect(conn)
end
