# shellcheck shell=sh
# shellcheck disable=SC2154 # common.sh and settings.sh set what is used here
# What keeps mail from the milter or from the queue though the lists in main.cf are
# right; for check, behind settings.sh.
#
# Needs: good, warn, wrong; postfix_runs (yes, or empty: then daemons may rest
# too, and are not missed).

# An address of each network of this host that smtpd(8) can be asked from.
own_addresses() {
	{
		printf '127.0.0.1\n::1\n'
		items_of mynetworks | grep '^[][0-9a-fA-F.:/]*$' || true
	} | sed 's/[][]//g; s,/.*,,' | awk '!seen[$0]++' | head -n 50
}

# actions_in TABLES PATTERN: the actions in tables of header_checks or the like that match the
# extended regular expression, each once, in upper case. Tables that are no files are left out.
actions_in() {
	printf '%s\n' "$1" | split_list | while IFS= read -r table; do
		file=${table#*:}
		case $file in
		"{"*) printf '%s\n' "$file" ;;
		*) cat "$file" 2>/dev/null || true ;;
		esac
	done | grep -v '^[[:space:]]*#' | grep -oiE "/[a-z]*[[:space:]]+($2)[[:space:]]" |
		tr "[:lower:]" "[:upper:]" | awk '!seen[$2]++ { print $2 }'
}

# What smtpd_milter_maps, in $maps, has for the address; nothing when the lists
# hold for it, or it names the milter: "TABLE: answer".
unasked_for() {
	answer=$(first_answer "$maps" "$1")
	[ -z "$answer" ] || [ -n "$(ours_in "${answer#*: }")" ] ||
		printf '%s\n' "$answer"
}

# Services in which clients from outside log in, so that the rules hold for them,
# and for which the table holds.
login_services() {
	read_overrides
	master_services | awk '$NF != "" && $8 == "smtpd" {
		print $1 "/" $2 }' | while read -r name; do
		[ "$(value_for "$name" smtpd_sasl_auth_enable)" != yes ] ||
			[ -z "$(value_for "$name" smtpd_milter_maps)" ] ||
			echo "$name"
	done | paste -s -d ' ' -
}

check_milter_maps() {
	maps=$(value_of smtpd_milter_maps)
	[ -n "$maps" ] || return 0
	off=
	for address in $(own_addresses); do
		answer=$(unasked_for "$address")
		[ -z "$answer" ] || off="$off $address ($answer)"
	done
	if [ -n "$off" ]; then
		wrong "smtpd_milter_maps turns the milter off for clients of this" \
			"host's networks, whose mail by SMTP is neither checked" \
			"nor recorded:$off; remove them from the table, or give" \
			"them '$entry'"
	elif [ -z "$(unasked_for 192.0.2.1)$(unasked_for 2001:db8::1)" ]; then
		warn "smtpd_milter_maps can turn milters off for some clients, but" \
			"not for those of mynetworks"
	else
		good "smtpd_milter_maps leaves the milter on for mynetworks"
		outside=$(login_services)
		[ -z "$outside" ] || warn "smtpd_milter_maps turns the milter off" \
			"for clients from other networks, who may log in at" \
			"$outside: their mail is neither checked nor" \
			"recorded; set -o smtpd_milter_maps= there in master.cf"
	fi
}

# Greets the milter at unix:PATH or inet:HOST:PORT as Postfix does. Fails, and
# prints why.
try_milter() {
	perl -e "$perl_connect"'
		my ($address, $queue) = @ARGV;
		$SIG{ALRM} = sub { print "takes connections, but does not answer"; exit 1 };
		$SIG{PIPE} = "IGNORE";
		alarm(5);
		$address =~ s{^(unix|local):(?!/)}{$1:$queue/};
		my $peer = connect_to($address) or print(lc "$!"), exit 1;
		syswrite($peer, pack("N a N3", 13, "O", 6, 0x1ff, 0x1fffff));
		my $answer;
		sysread($peer, $answer, 5) == 5 and substr($answer, 4) eq "O" or
			print("is no milter"), exit 1;
		syswrite($peer, pack("N a", 1, "Q"))' "$1" "$queue"
}

# What mail meets besides ours.
check_other_milters() {
	[ -n "$postfix_runs" ] && perl -MSocket -e 1 2>/dev/null || return 0
	for list in smtpd_milters non_smtpd_milters; do
		value_of $list | split_list | while IFS= read -r item; do
			[ -n "$(ours_in "$item")" ] || printf '%s\n' "$item"
		done
	done | awk '!seen[$0]++' >"$work/others"
	while IFS= read -r item; do
		address=$(printf '%s' "$item" | sed 's/^[{ \t]*//; s/[},[:blank:]].*//')
		! why=$(try_milter "$address") || continue
		case $item in
		*default_action*) action=$(printf '%s' "$item" |
			sed 's/.*default_action[ \t]*=[ \t]*//; s/[},[:blank:]].*//') ;;
		*) action=$(value_of milter_default_action) ;;
		esac
		case $action in
		accept) warn "another milter, $address, $why: mail passes without" \
			"it; start it, or remove it from main.cf" ;;
		reject) wrong "another milter, $address, $why: all mail is" \
			"refused; start it, or remove it from main.cf" ;;
		*) wrong "another milter, $address, $why: all mail waits for it," \
			"also emails of postern-httpd; start it, or remove it from" \
			"main.cf" ;;
		esac
	done <"$work/others"
}

# The user that submits: the owner of the daemons, where it is there.
submitter() {
	if id postern >/dev/null 2>&1; then echo postern; else id -un; fi
}

# Whether a list of users, as postconf(5) has it, lets the user in: the first item
# that fits decides. What cannot be read is taken to fit.
lists_user() {
	printf '%s\n' "$1" | split_list | {
		while IFS= read -r item; do
			fits=0
			case $item in
			'!'*) fits=1 item=${item#!} ;;
			esac
			case $item in
			"$2" | static:*) exit $fits ;;
			/*) ! tr ', \t' '[\n*]' <"$item" 2>/dev/null |
				grep -qxF "$2" || exit $fits ;;
			*:*) ! postmap -c "$view" -q "$2" "${item#proxy:}" \
				>/dev/null 2>&1 || exit $fits ;;
			esac
		done
		exit 1
	}
}

check_submit_users() {
	users=$(value_of authorized_submit_users)
	who=$(submitter)
	if [ -z "$users" ] || lists_user "$users" "$who"; then
		return
	fi
	if [ "$(setting_of submission method)" = smtp ]; then
		verb=warn effect="(submission.method is smtp, which does not need it)"
	else
		verb=wrong effect="so that every request fails (503)"
	fi
	$verb "authorized_submit_users ($users) lacks the user $who, as which" \
		"postern-httpd runs: sendmail(1) refuses its mail, $effect; to fix" \
		"it: postconf -e 'authorized_submit_users = $users, $who'"
}

# other_mode PATH OWNER GROUP MODE...: what is wrong about it; nothing when it has
# one of the modes.
other_mode() {
	[ -e "$1" ] || return 0
	facts=$(stat -c '%U:%G %a' "$1")
	found="$1 is ${facts% *} with mode ${facts#* }, and not $2:$3 with $4"
	wanted=$2:$3
	shift 3
	for mode; do
		[ "$facts" != "$wanted $mode" ] || return 0
	done
	echo "$found"
}

# sendmail(1) waits in vain where it may not make a file.
check_maildrop() {
	[ -d "$queue/maildrop" ] || return 0
	owner=$(value_of mail_owner)
	group=$(value_of setgid_group)
	for why in "$(other_mode "$queue/maildrop" "$owner" "$group" 1730 730)" \
		"$(other_mode "$queue/public" "$owner" "$group" 2710 710)" \
		"$(other_mode "$(value_of command_directory)/postdrop" root \
			"$group" 2555 2755)"; do
		[ -z "$why" ] || wrong "$why: users of this host, and postern-httpd," \
			"cannot submit mail by sendmail(1); to fix it: postfix" \
			"set-permissions"
	done
}

# The time of the newest email on record, in seconds.
newest_email() {
	at=$(run_postern --json email list --limit 1 2>/dev/null |
		sed -n 's/.*"created_at": "\([^"]*\)".*/\1/p' | head -n 1)
	[ -z "$at" ] || date -d "$at" +%s 2>/dev/null || true
}

# A clock that was put back hides what came before, where times decide.
check_clock() {
	[ -n "$in_force" ] && newest=$(newest_email) && [ -n "$newest" ] || return 0
	behind=$((newest - $(date +%s)))
	[ "$behind" -le 120 ] ||
		wrong "the clock is $((behind / 60)) minutes behind the newest" \
			"email in the store: it was set back, or was ahead before." \
			"Mail goes out, but lists by time, retention and" \
			"Idempotency-Keys go wrong until it is right: timedatectl" \
			"status"
}

# Whether the process has the file open: has_open PID FILE.
has_open() {
	for file in "/proc/$1/fd"/*; do
		[ ! "$file" -ef "$2" ] || return 0
	done
	return 1
}

# The file with the settings of a process, from its arguments: settings_of_process PID.
settings_of_process() {
	tr '\0' '\n' <"/proc/$1/cmdline" 2>/dev/null | {
		its=$default_settings
		while read -r word; do
			case $word in
			-c | --config) read -r its ;;
			--config=*) its=${word#--config=} ;;
			-c*) its=${word#-c} ;;
			esac
		done
		case $its in
		/*) echo "$its" ;;
		*) echo "/proc/$1/cwd/$its" ;;
		esac
	}
}

# Whether the process uses the store, by its open files, or, of one on a server, by its
# settings: uses_store PID. Those that only root can read deny nothing to others.
uses_store() {
	url=$(setting_of store url)
	if [ -z "$url" ]; then
		has_open "$1" "$(setting_of store database)"
	else
		others=$("$postern" -c "$(settings_of_process "$1")" config 2>/dev/null) ||
			{ [ "$(id -u)" -ne 0 ]; return; }
		echo "$others" | grep -Fqx "url = $url"
	fi
}

# The processes of our programs, PID NAME, in $work/processes. Starts no program for each process,
# and reads them once: a host may have thousands.
read_processes() {
	[ -f "$work/processes" ] || for process in /proc/[0-9]*; do
		{ read -r program <"$process/comm"; } 2>/dev/null || continue
		case $program in
		postern-*) echo "${process#/proc/} $program" ;;
		esac
	done >"$work/processes"
}

# The program, as a process that uses the store: has_database_open NAME.
has_database_open() {
	read_processes
	while read -r process program; do
		[ "$program" != "$1" ] || ! uses_store "$process" || return 0
	done <"$work/processes"
	return 1
}

# Whether somebody takes connections there, as 127.0.0.1:8587.
is_listening() {
	perl -e "$perl_connect"'
		alarm(5);
		exit !connect_to("inet:$ARGV[0]")' "$1" 2>/dev/null
}

check_httpd() {
	[ -n "$in_force" ] || return 0
	listen=$(setting_of http listen)
	if has_database_open postern-httpd; then
		good "postern-httpd is running"
	elif [ -z "$postfix_runs" ]; then
		warn "postern-httpd is not running"
	elif is_listening "$listen"; then
		wrong "postern-httpd is not running, and another program listens on" \
			"its address $listen: stop that program, or set http.listen" \
			"(journalctl -u postern-httpd)"
	else
		wrong "postern-httpd is not running, so that no program can send:" \
			"its log tells why (journalctl -u postern-httpd);" \
			"systemctl start postern-httpd"
	fi
}
