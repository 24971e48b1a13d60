# shellcheck shell=sh
# How Postfix is left so that no mail is lost; sourced by setup and by the packages'
# script, which set $conf_scripts, the folder of this file.

is_running() {
	[ -d /run/systemd/system ] && systemctl --quiet is-active "$1.service"
}

# How many emails of postern-httpd the milter has not seen yet: they have no
# recipient but their ticket, which bounces without it.
tickets() {
	postqueue -c "$1" -j 2>/dev/null | grep -c '@postern\.invalid"' || true
}

wait_for_tickets() {
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		[ "$(tickets "$1")" -gt 0 ] || return 0
		sleep 1
	done
	return 1
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
		why="$(tickets "$leave_folder") emails wait for the milter in the queue of
$leave_folder, and would bounce without it: see 'postern held list --waiting'"
		return 1
	fi
	if ! "$conf_scripts/disable" "$@" --reload; then
		why="Postfix still asks the milter, see above"
		return 1
	fi
	remove_service_files "$leave_folder"
	[ -z "$leave_files" ] || printf '%s\n' "$leave_files" | tr '\n' '\0' | xargs -0 rm -f
}
