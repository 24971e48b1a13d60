# shellcheck shell=sh
# How Postfix is left so that no mail is lost; sourced by setup and by the packages'
# script, which set $conf_scripts, the folder of this file.

is_running() {
	[ -d /run/systemd/system ] && systemctl --quiet is-active "$1.service"
}

# Emails of postern-httpd that the milter has not seen yet, one on a line: QUEUE ID SENDER. They
# have no recipient but their ticket, which bounces without the milter. The first that are
# enough to see.
tickets() {
	postqueue -c "$1" -j 2>/dev/null | grep '@postern\.invalid"' | head -n 100 |
		sed 's/.*"queue_name": "\([^"]*\)", "queue_id": "\([^"]*\)".*"sender": "\([^"]*\)".*/\1 \2 \3/'
}

# False, too, if Postfix stands still, see log_is_stuck in postfix.sh.
answers() {
	timeout 10 postfix -c "$1" status >/dev/null 2>&1
}

# How many seconds an email may take to the milter. pickup(8) tries a message that was put off
# again after a minute, or when it is told to.
ticket_seconds() {
	if ! answers "$1"; then
		echo 0
	elif [ -d /run/systemd/system ] && ! is_running postern-milter; then
		echo 10 # unless it runs without systemd, nobody sees them
	else
		echo 60
	fi
}

# Until the milter has seen all; fails, with those that wait in $left_tickets.
wait_for_tickets() {
	wait_until=
	while left_tickets=$(tickets "$1") && [ -n "$left_tickets" ]; do
		if [ -z "$wait_until" ]; then
			seconds=$(ticket_seconds "$1")
			wait_until=$(($(date +%s) + seconds))
			[ "$seconds" -eq 0 ] || echo "Waiting for at most $seconds s until the milter" \
				"has seen $(echo "$left_tickets" | wc -l) emails in the queue of $1."
		fi
		# Those of other queues have passed by it already, and come no nearer.
		echo "$left_tickets" | grep -qE '^(maildrop|incoming|active) ' || return 1
		[ "$(date +%s)" -lt "$wait_until" ] || return 1
		postkick -c "$1" public pickup W >/dev/null 2>&1 || true
		sleep 0.5
	done
}

# Why Postfix cannot be left, in one paragraph: the emails in $left_tickets, and what to do.
tell_about_tickets() {
	names=$(echo "$left_tickets" | head -n 3 | sed 's/\([^ ]*\) \([^ ]*\) \(.*\)/\2 (\1, from \3)/' |
		paste -s -d , - | sed 's/,\([0-9A-Za-z]* (\)/, \1/g')
	echo "Emails that wait for the milter in the queue of $1, and would bounce without it:" \
		"$(echo "$left_tickets" | wc -l), such as $names."
	if ! answers "$1"; then
		echo "Postfix is not running: start it, and try again."
	elif echo "$left_tickets" | grep -q '^maildrop '; then
		echo "They go on once postern-milter answers: start it, and try again."
	else
		echo "Have them go on by 'postern held release --waiting', and try again."
	fi
}

# What master(8) leaves of a service that is gone.
remove_service_files() {
	[ -z "$(postconf -c "$1" -M postern/unix 2>/dev/null)" ] || return 0
	leave_queue=$(postconf -c "$1" -x -h queue_directory)
	rm -f "$leave_queue/public/postern" "$leave_queue/pid/unix.postern"
}

# Of the services that enable --smtp-auth has added: of master(8), one a line.
login_service_files() {
	leave_queue=$(postconf -c "$1" -x -h queue_directory)
	postconf -c "$1" -P 2>/dev/null |
		sed -n "s|^\(.*\)/inet/syslog_name = postfix/postern-auth\$|$leave_queue/pid/inet.\1|p"
}

# leave_instance CONFIG_DIR [OPTION...]: it asks the milter no more, in its files and
# in what runs. Fails, with the reason in $why, and changes nothing while emails wait
# for the milter. The options are those of disable.
leave_instance() {
	leave_folder=$1
	shift
	leave_files=$(login_service_files "$leave_folder")
	if ! wait_for_tickets "$leave_folder"; then
		why=$(tell_about_tickets "$leave_folder")
		return 1
	fi
	if ! "$conf_scripts/disable" "$@" --reload; then
		why="Postfix still asks the milter, see above"
		return 1
	fi
	remove_service_files "$leave_folder"
	[ -z "$leave_files" ] || printf '%s\n' "$leave_files" | tr '\n' '\0' | xargs -0 rm -f
}
