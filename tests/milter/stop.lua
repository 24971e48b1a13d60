-- SIGTERM: messages that have begun are finished, nobody new gets in.

scenario("a message that has begun is finished after SIGTERM", function()
	local ticket = stage()
	local conn = connect()
	begin(conn, ours(ticket))
	-- Nothing is answered before the end; the log tells that it has begun.
	run("while ! grep -q event=message " .. LOG .. "; do sleep 0.05; done")
	run("kill -TERM " .. MILTER_PID)
	run("while [ -e " .. SOCKET .. " ]; do sleep 0.05; done")
	expect("a new connection", pcall(mt.connect, "unix:" .. SOCKET), false)
	accepted(conn)
	expect("the state", state_of(ticket), "sent")
	run("while ! grep -q event=stopped " .. LOG .. "; do sleep 0.05; done")
	expect("cut off", run("grep -c cut_off " .. LOG .. " || true"), "0")
end)
