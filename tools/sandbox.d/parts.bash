# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # shared with tools/sandbox
# The parts of a sandbox and their watchers, for tools/sandbox; needs $dir and
# $build.
#
#   DIR/PART.pid         process id of the program
#   DIR/run/PART.watch   process id of its watcher
#   DIR/run/PART.port    the port it listens on
#   DIR/run/PART.stopped it was stopped on purpose
#   DIR/run/PART.ended   it has ended since it was started
#   DIR/run/guard        process id of what waits for the end of the owner
#   DIR/log/PART.log     what it said
#   DIR/log/watch.log    when it ended, and how
#
# Postfix has a watcher of its own, its master.

all_parts="httpd milter events webhook auth held sink postfix postgresql"
sink_user=nobody

# Sets $port to that of the part.
port_of() {
	read -r port <"$dir/run/$1.port"
}

# Sets $command to the words that start the part.
part_command() {
	local port
	case $1 in
	httpd) command=("$build/postern-httpd" -c "$dir/postern.conf") ;;
	milter) command=("$build/postern-milter" -c "$dir/postern.conf") ;;
	events) command=("$build/postern-events" -c "$dir/postern.conf") ;;
	webhook) command=("$build/postern-webhook" -c "$dir/postern.conf") ;;
	auth) command=("$build/postern-auth" -c "$dir/postern.conf") ;;
	held) command=("$build/postern" -c "$dir/postern.conf" held serve) ;;
	sink) port_of sink
		command=(smtp-sink -u "$sink_user" -d "$dir/sink/mail."
			"127.0.0.1:$port" 256) ;;
	esac
}

# Whether the process $pid has said that it serves. What an earlier process with the same number
# said does not count: process ids come again.
has_started() {
	local lines=() line last=
	{ mapfile -t lines <"$dir/log/$1.log"; } 2>/dev/null
	for line in "${lines[@]}"; do
		[[ $line != *\ event=@(started|listening)\ * ]] || last=$line
	done
	[[ $last == *"[$pid] "* ]]
}

part_is_ready() {
	local pid port
	pid_in "$dir/$1.pid" || return 1
	case $1 in
	sink) port_of sink && is_taken "$port" && listens_on "$pid" "$port" ;;
	held) return 0 ;; # it serves nobody, and says nothing
	*) has_started "$1" ;;
	esac
}

part_has_ended() {
	[ -e "$dir/run/$1.ended" ]
}

part_ready_or_ended() {
	part_has_ended "$1" || part_is_ready "$1"
}

# Starts a part and waits until it serves; 1 when it ended instead. The patience is
# for a machine that is busy.
start_watched() {
	local part=$1 pid command
	pid_in "$dir/run/$part.watch" && return 0
	[ ! -e "$dir/run/$part.stopped" ] || rm "$dir/run/$part.stopped"
	[ ! -e "$dir/run/$part.ended" ] || rm "$dir/run/$part.ended"
	part_command "$part"
	setsid "$tools/sandbox.d/watch" "$dir/" "$part" "${command[@]}" </dev/null \
		>>"$dir/log/watch.log" 2>&1 &
	echo $! >"$dir/run/$part.watch"
	wait_until 180 part_ready_or_ended "$part" && ! part_has_ended "$part"
}

try_start() {
	case $1 in
	postfix) start_postfix ;;
	postgresql) start_postgresql ;;
	*) start_watched "$1" ;;
	esac
}

start_part() {
	try_start "$1" || {
		stop_part "$1"
		die "$1 does not start, see $dir/log"
	}
}

# The log of a part speaks of a taken port.
port_was_taken() {
	grep -qi 'address already in use' "$dir/log/$1.log"
}

# A free port may be taken between choosing and binding: then another one.
start_on_free_port() {
	local part=$1 attempt port
	for attempt in 1 2 3 4 5 6 7 8 9 10; do
		random_port
		echo "$port" >"$dir/run/$part.port"
		case $part in
		httpd) settings[http.listen]=127.0.0.1:$port
			random_port
			echo "$port" >"$dir/run/admin.port"
			settings[admin.listen]=127.0.0.1:$port
			write_postern_conf ;;
		postfix) random_port
			echo "$port" >"$dir/run/auth.port"
			write_master_cf
			enable_postern ;;
		esac
		: >"$dir/log/$part.log"
		try_start "$part" && return 0
		stop_part "$part"
		port_was_taken "$part" || break
		sed -i "/^$part [0-9]* ended/d" "$dir/log/watch.log"
	done
	die "$part does not start, see $dir/log (attempt $attempt)"
}

# The watcher is gone, and with it the program. A program that the watcher
# started at the last moment is told as well, each one once.
watcher_is_gone() {
	local pid
	pid_in "$dir/$1.pid" || {
		! pid_in "$dir/run/$1.watch"
		return $? # in a trap it would be that of what came before
	}
	[ "$pid" = "${told:-}" ] || kill -TERM "$pid" 2>/dev/null || true
	told=$pid
	return 1
}

stop_watched() {
	local part=$1 file pid told=
	: >"$dir/run/$part.stopped"
	wait_until 180 watcher_is_gone "$part" && return 0
	echo "sandbox: $part does not stop, killing it" >&2
	for file in "$dir/$part.pid" "$dir/run/$part.watch"; do
		! pid_in "$file" || kill -KILL "$pid" || true
	done
	rm -f "$dir/$part.pid" "$dir/run/$part.watch"
}

stop_part() {
	case $1 in
	postfix) stop_postfix ;;
	postgresql) stop_postgresql ;;
	*) stop_watched "$1" ;;
	esac
}

# Has a watcher of its own, too. Whoever runs postern-intake may come in.
start_postgresql() {
	local like=()
	[ -z "${is_kept:-}" ] || like=(--copy-of "$kept_store/data")
	settings[store.url]=$("$tools/sandbox.d/postgresql" start "$dir/pg" \
		${like+"${like[@]}"} "$sink_user")
}

stop_postgresql() {
	[ ! -d "$dir/pg" ] || "$tools/sandbox.d/postgresql" stop "$dir/pg"
}

sandbox_is_down() {
	local part pid
	for part in httpd milter events webhook auth held sink; do
		! pid_in "$dir/run/$part.watch" || return 1
	done
	[ ! -e "$dir/pg/data/postmaster.pid" ] && ! postfix_is_up
}

# Takes the sandbox down, and with it the files: nobody asks for them any more.
clear_all() {
	begin_end
	down_all
	remove_files
	rmdir "$dir"
}

# The owner may end in whatever way.
start_guard() {
	setsid "$tools/sandbox.d/guard" "$dir/" "$1" "$self" </dev/null >/dev/null 2>&1 &
	wait_until 180 test -s "$dir/run/guard"
}

stop_guard() {
	local pid=
	pid_in "$dir/run/guard" || true
	rm -f "$dir/run/guard"
	[ -z "$pid" ] || kill "$pid" 2>/dev/null || true
}
