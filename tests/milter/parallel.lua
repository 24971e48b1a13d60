-- Run by several clients at once: each message meets the right record.

scenario("one of several clients at once", function()
	for i = 1, 25 do
		local good, bad = stage(), stage()
		local conn = connect()
		begin(conn, ours(good))
		accepted(conn)
		begin(conn, ours(bad, {{"From", "evil@example.com"}}))
		refused(conn, MISMATCH)
		mt.disconnect(conn)
		expect("the good one", state_of(good), "sent")
		expect("the bad one", state_of(bad), "staged")
	end
end)
