-- SIGHUP reads the settings anew, and messages go on.

scenario("3,000 SIGHUP in a row end nothing", function()
	run("for i in $(seq 3000); do kill -HUP " .. MILTER_PID .. "; done")
	-- libmilter looks after a connection whether it shall end.
	for _ = 1, 3 do
		local conn = connect()
		begin(conn, ours(stage()))
		accepted(conn)
		mt.disconnect(conn)
	end
end)
