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

# The inode of the socket that listens on the port. The kernel names those that
# listen first; behind them may be thousands that were closed a while ago.
listener_on() {
	local hex
	printf -v hex ':%04X' "$1"
	awk -v port="$hex" 'NR > 1 && $4 != "0A" { exit }
		$2 ~ port "$" { print $10; exit }' /proc/net/tcp
}

# Whether the process itself listens on the port of 127.0.0.1. That somebody
# answers there is not enough: it may be the wrong one.
listens_on() {
	local pid=$1 inode
	inode=$(listener_on "$2")
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
		[ -n "$(listener_on $port)" ]
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
		read -rt 0.05 <> <(:) || true # sleep(1) without a program
	done
}
