# shellcheck shell=sh disable=SC2154
# The process: start, signals, end. Read by run, in a shell of its own.
set +e -u # each check says itself how it went

say() {
	if [ "$1" -eq 0 ]; then echo "ok   $2"; else echo "FAIL $2"; fi
}

# Runs the milter where it must not start: status and text are given.
fails_with() {
	wanted=$1 text=$2 name=$3
	shift 3
	got=0
	said=$(timeout 60 "$build/postern-milter" "$@" 2>&1) || got=$?
	if [ "$got" -eq "$wanted" ] && printf '%s' "$said" | grep -q -- "$text"; then
		say 0 "$name"
	else
		say 1 "$name: status $got, not $wanted, or no \"$text\" in: $said"
	fi
}

edit() {
	sed "$1" "$dir/postern.conf" >"$dir/other.conf"
}

logged() {
	grep -q "$1" "$dir/milter.log"
}

# Linux gives a signal to the main thread first, where that does not block it:
# so libmilter's thread, which waits for the same ones, gets none.
takes_signals() {
	blocked=$(sed -n 's/^SigBlk:.*\(.\{8\}\)$/0x\1/p' "/proc/$milter/status")
	[ $((blocked & 0x4003)) -eq 0 ]
}

said=$("$build/postern-milter" -h) && [ "${said#usage: postern-milter}" != "$said" ]
say $? "-h prints the usage"
said=$("$build/postern-milter" --version) && [ "${said#postern-milter [0-9]}" != "$said" ]
say $? "--version prints the version"
fails_with 64 usage: "an unknown option" -x
fails_with 64 "unexpected argument: y" "an argument too many" y
fails_with 78 /nonexistent.conf "no settings" -c /nonexistent.conf

edit "s|^database.*|database = $dir/none.db|"
fails_with 78 "postern db migrate" "no database" -c "$dir/other.conf"
[ ! -e "$dir/m.sock" ]
say $? "no socket without a database"
echo "no database at all, but a file all the same" >"$dir/text.db"
edit "s|^database.*|database = $dir/text.db|"
fails_with 78 start_failed "a database that is none" -c "$dir/other.conf"
edit "s|^socket.*|socket = $dir/none/m.sock|"
fails_with 78 "postfix-conf/enable makes it" "no folder for the socket" -c "$dir/other.conf"
edit "s|^socket.*|socket = $dir/postern.conf|"
fails_with 78 "is no socket" "a file in the way of the socket" -c "$dir/other.conf"
[ -s "$dir/postern.conf" ]
say $? "the file in the way stays"

start_milter
[ "$(stat -c %a "$dir/m.sock")" = 660 ]
say $? "the mode of the socket"
fails_with 78 "another milter listens" "a second milter" -c "$dir/postern.conf"
[ -S "$dir/m.sock" ] && kill -0 "$milter"
say $? "the first milter stays"

kill -HUP "$milter"
wait_for logged event=reloaded
say $? "SIGHUP reads the settings again"
cp "$dir/postern.conf" "$dir/good.conf"
echo "nonsense = 1" >>"$dir/postern.conf"
kill -HUP "$milter"
wait_for logged event=reload_failed
say $? "faulty settings are refused"
sed "s|^socket.*|socket = $dir/new.sock|" "$dir/good.conf" >"$dir/postern.conf"
kill -HUP "$milter"
wait_for logged needs_restart=milter.socket
say $? "what needs a restart is named"
cp "$dir/good.conf" "$dir/postern.conf"
takes_signals
say $? "the main thread never blocks signals"
# The signal waits while the process is stopped; all threads wake at once then.
for _ in $(seq 100); do
	kill -STOP "$milter" && kill -HUP "$milter" && kill -CONT "$milter"
done
for _ in $(seq 500); do
	kill -HUP "$milter"
done
for signal in ALRM PIPE QUIT USR1 USR2 VTALRM; do
	kill -"$signal" "$milter"
done
: >"$dir/milter.log"
kill -HUP "$milter"
wait_for logged event=reloaded
say $? "SIGHUP, and what else ends processes, does not end it"

stop_milter
say $? "SIGTERM ends it with 0"
[ ! -e "$dir/m.sock" ] && [ ! -e "$dir/m.sock.lock" ]
say $? "the socket is gone"
logged event=stopped
say $? "the end is logged"

: >"$dir/milter.log"
start_milter
kill -KILL "$milter"
wait "$milter" 2>/dev/null || true
[ -S "$dir/m.sock" ]
say $? "a killed milter leaves its socket"
: >"$dir/milter.log"
start_milter
say $? "the next one takes its place"
kill -INT "$milter"
wait "$milter"
say $? "SIGINT ends it with 0"
