# shellcheck shell=bash
# shellcheck disable=SC2154 # shared with tools/sandbox
# Processes and ports, for tools/sandbox; needs $dir. What is done again and again
# starts no process where bash can do it itself: tests make hundreds of sandboxes.

# Whether the process lives and is one of this sandbox: a number read from a
# file may long belong to somebody else. Each command line names the folder; a
# zombie's is empty.
is_ours() {
	local words
	[ -n "${1:-}" ] || return 1
	{ mapfile -d '' words <"/proc/$1/cmdline"; } 2>/dev/null || return 1
	[[ ${words[*]} == *"$dir/"* ]]
}

# The number in a pid file, if its process is ours.
pid_in() {
	local pid
	read -r pid 2>/dev/null <"$1" || return 1
	is_ours "$pid" && echo "$pid"
}

# Whether the process itself listens on the port of 127.0.0.1. That somebody
# answers there is not enough: it may be the wrong one.
listens_on() {
	local pid=$1 inode
	inode=$(awk -v port="$(printf ':%04X' "$2")" \
		'$2 ~ port "$" && $4 == "0A" { print $10; exit }' /proc/net/tcp)
	[ -n "$inode" ] || return 1
	[ -n "$(find /proc/"$pid"/fd -lname "socket:\[$inode\]" 2>/dev/null)" ]
}

# Below the range from which the kernel takes ports for outgoing connections, and
# nobody's: Postfix and smtp-sink do not fail on a port that another one of them
# has, they share it (SO_REUSEPORT), and mail of one sandbox goes to the other.
random_port() {
	local port
	while
		port=$((20000 + RANDOM % 12000))
		awk -v port="$(printf ':%04X' $port)" \
			'$2 ~ port "$" && $4 == "0A" { found = 1; exit }
			END { exit !found }' /proc/net/tcp
	do
		:
	done
	echo "$port"
}

# Repeats a command until it succeeds; 1 after so many seconds.
wait_until() {
	local deadline=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -lt $deadline ] || return 1
		sleep 0.05
	done
}
