# shellcheck shell=bash
# shellcheck disable=SC2154 # shared with tools/sandbox
# Processes and ports, for tools/sandbox; needs $dir. What is done again and again
# starts no process where bash can do it itself: tests make hundreds of sandboxes.

# usage: whole NAME FILE
# Sets the variable to what is in the file, without the newline at its end.
whole() {
	{ IFS= read -rd '' "$1" || true; } <"$2"
	printf -v "$1" '%s' "${!1%$'\n'}"
}

# Whether the process lives and is one of this sandbox: a number read from a
# file may long belong to somebody else. Each command line names the folder; a
# zombie's is empty.
is_ours() {
	local words
	[ -n "${1:-}" ] || return 1
	{ mapfile -d '' words <"/proc/$1/cmdline"; } 2>/dev/null || return 1
	[[ ${words[*]} == *"$dir/"* ]]
}

# Sets $pid to the number in a pid file, if its process is ours, or to nothing.
pid_in() {
	{ read -r pid <"$1" && is_ours "$pid"; } 2>/dev/null && return 0
	pid=
	return 1
}

# Sets $inode to that of the socket that listens on the port, or to nothing. The
# kernel names those that listen first; behind them may be thousands that were closed
# a while ago.
listener_on() {
	local hex line lines words
	printf -v hex ':%04X' "$1"
	inode=
	mapfile -t -s 1 -n 1000 lines </proc/net/tcp
	for line in "${lines[@]}"; do
		read -ra words <<<"$line"
		[ "${words[3]}" = 0A ] || return 1
		[[ ${words[1]} == *"$hex" ]] || continue
		inode=${words[9]}
		return 0
	done
	return 1
}

# Whether somebody takes connections there, who need not be the right one. Cheaper than
# the list above, for which the kernel looks through all connections of the host.
is_taken() {
	{ : <>"/dev/tcp/127.0.0.1/$1"; } 2>/dev/null
}

# Whether the process itself listens on the port of 127.0.0.1. That somebody
# answers there is not enough: it may be the wrong one.
listens_on() {
	local inode
	listener_on "$2" &&
		[ -n "$(find /proc/"$1"/fd -lname "socket:\[$inode\]" 2>/dev/null)" ]
}

# Sets $port to one below the range from which the kernel takes ports for outgoing
# connections, and nobody's: Postfix and smtp-sink do not fail on a port that another
# one of them has, they share it (SO_REUSEPORT), and mail of one sandbox goes to the
# other. It stays ours while nobody listens there.
random_port() {
	local range=${POSTERN_SANDBOX_PORTS:-20000-31999}
	local first=${range%-*} last=${range#*-} tries
	[ -d "$claims" ] || mkdir -p "$claims"
	for ((tries = 20 * (last - first + 1); tries > 0; tries--)); do
		port=$((first + RANDOM % (last - first + 1)))
		! claim_port || is_taken "$port" || return 0
	done
	die "no port is free of $range"
}

# A claim is a file that is named as its port, and holds the name of another, which
# lasts as long as who has the port.
claims=/run/postern-sandbox

claim_port() {
	local holder=
	set -C # the file must be new
	if { echo "$dir/.sandbox" >"$claims/$port"; } 2>/dev/null; then
		set +C
		return 0
	fi
	set +C
	read -r holder 2>/dev/null <"$claims/$port" || return 1
	[ -e "$holder" ] || rm -f "$claims/$port"
	return 1
}

give_ports_back() {
	local file port holder given=()
	for file in "$dir"/run/*.port; do
		if read -r port && read -r holder <"$claims/$port"; then
			[ "$holder" != "$dir/.sandbox" ] || given+=("$claims/$port")
		fi 2>/dev/null <"$file"
	done
	[ ${#given[@]} -eq 0 ] || rm -f "${given[@]}"
}

# Repeats a command until it succeeds; 1 after so many seconds. Nothing comes from the
# pipe: sleep(1) without a process.
wait_until() {
	local deadline=$((SECONDS + $1)) nothing
	shift
	! "$@" || return 0
	exec {nothing}<>"$dir/run/nothing"
	while
		read -rt 0.05 -u "$nothing" || true
		! "$@"
	do
		[ $SECONDS -ge $deadline ] || continue
		exec {nothing}>&-
		return 1
	done
	exec {nothing}>&-
}
