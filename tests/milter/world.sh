# shellcheck shell=sh disable=SC2154,SC2034
# A store with two companies, and a milter on it, for run and process.sh.
#
# Sets: dir, company, key; milter (process id, or nothing).

make_world() {
	dir=$(mktemp -d /tmp/postern-milter.XXXXXX)
	cat >"$dir/postern.conf" <<END
[store]
database = $dir/postern.db
[milter]
socket = $dir/m.sock
internal_hosts = 127.0.0.0/8 10.0.0.0/8 !10.9.0.0/16
[log]
level = debug
END
	: >"$dir/milter.log"
	postern db migrate >/dev/null
	company=$(postern --json company add Acme | id_of)
	postern domain add example.com --company "$company" >/dev/null
	postern domain add idle.test --company "$company" --inactive >/dev/null
	postern domain add foreign.test \
		--company "$(postern --json company add Other | id_of)" >/dev/null
	key=$(postern --json key create --company "$company" --name k | id_of)
}

postern() {
	"$build/postern" -c "$dir/postern.conf" "$@"
}

id_of() {
	sed -n 's/.*"id": *"\([^"]*\)".*/\1/p' | head -n 1
}

# Waits until a command is true, for at most a minute.
wait_for() {
	turns=0
	until "$@" 2>/dev/null; do
		turns=$((turns + 1))
		[ $turns -lt 1200 ] || return 1
		sleep 0.05
	done
}

start_milter() {
	"$build/postern-milter" -c "$dir/postern.conf" 2>>"$dir/milter.log" &
	milter=$!
	wait_for grep -q event=started "$dir/milter.log" || {
		echo "the milter does not start:"
		cat "$dir/milter.log"
		return 1
	}
}

# Its exit status: 0 when it ended as it should, without leaks.
stop_milter() {
	kill -TERM "$milter" 2>/dev/null || true
	stopped=0
	wait "$milter" || stopped=$?
	milter=
	return "$stopped"
}
