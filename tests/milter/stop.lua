-- SIGTERM: what is under way is left to Postfix, which presents it again.

scenario("SIGTERM in the middle of a message", function()
	local ticket = stage()
	local conn = connect()
	begin(conn, ours(ticket))
	-- Nothing is answered before the end; the log tells that it has begun.
	run("while ! grep -q event=message " .. LOG .. "; do sleep 0.05; done")
	run("kill -TERM " .. MILTER_PID)
	run("while ! grep -q event=stopped " .. LOG .. "; do sleep 0.05; done")
	expect("the socket", run("ls " .. SOCKET .. " 2>/dev/null || true"), "")
	expect("the state", state_of(ticket), "staged")
end)
