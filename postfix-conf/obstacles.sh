# shellcheck shell=sh
# shellcheck disable=SC2154 # common.sh and settings.sh set what is used here
# What keeps mail from the milter or from the queue though the lists in main.cf are
# right; for check, behind settings.sh.
#
# Needs: good, warn, wrong; postfix_runs (yes, or empty: then daemons may rest
# too, and are not missed).

processes=

# Answers an address of each network of this host that smtpd(8) can be asked from.
own_addresses() {
	items_of mynetworks
	answer=$(printf '127.0.0.1\n::1\n%s' "$answer" | grep '^[][0-9a-fA-F.:/]*$' |
		sed 's/[][]//g; s,/.*,,' | awk '!seen[$0]++' | head -n 50)
}

# actions_in TABLES PATTERN: answers the actions in tables of header_checks or the like that match
# the extended regular expression, each once, in upper case. Tables that are no files are left out.
actions_in() {
	answer=
	[ -n "$1" ] || return 0
	split_list "$1"
	answer=$(printf %s "$answer" | while IFS= read -r table; do
		file=${table#*:}
		case $file in
		"{"*) printf '%s\n' "$file" ;;
		*) cat "$file" 2>/dev/null || true ;;
		esac
	done | grep -v '^[[:space:]]*#' | grep -oiE "/[a-z]*[[:space:]]+($2)([[:space:]}]|\$)" |
		tr -d "}" | tr "[:lower:]" "[:upper:]" | awk '!seen[$2]++ { print $2 }')
}

# Answers what smtpd_milter_maps, in $maps, has for the address; nothing when the lists
# hold for it, or it names the milter: "TABLE: answer".
unasked_for() {
	first_answer "$maps" "$1"
	[ -n "$answer" ] || return 0
	_unasked=$answer
	ours_in "${answer#*: }"
	if [ -z "$answer" ]; then answer=$_unasked; else answer=; fi
}

# Answers the services in which clients from outside log in, so that the rules hold for them,
# and for which the table holds.
login_services() {
	read_services
	_found=
	while read -r _name _program; do
		[ "$_program" = smtpd ] || continue
		value_for "$_name" smtpd_sasl_auth_enable
		[ "$answer" = yes ] || continue
		value_for "$_name" smtpd_milter_maps
		[ -z "$answer" ] || _found="$_found${_found:+ }$_name"
	done <<-END
		$entries
	END
	answer=$_found
}

check_milter_maps() {
	value_of smtpd_milter_maps
	maps=$answer
	[ -n "$maps" ] || return 0
	off=
	own_addresses
	for address in $answer; do
		unasked_for "$address"
		[ -z "$answer" ] || off="$off $address ($answer)"
	done
	if [ -n "$off" ]; then
		wrong "smtpd_milter_maps turns the milter off for clients of this" \
			"host's networks, whose mail by SMTP is neither checked" \
			"nor recorded:$off; remove them from the table, or give" \
			"them '$entry'"
		return
	fi
	unasked_for 192.0.2.1
	[ -n "$answer" ] || unasked_for 2001:db8::1
	if [ -z "$answer" ]; then
		warn "smtpd_milter_maps can turn milters off for some clients, but" \
			"not for those of mynetworks"
		return
	fi
	good "smtpd_milter_maps leaves the milter on for mynetworks"
	login_services
	[ -z "$answer" ] || warn "smtpd_milter_maps turns the milter off" \
		"for clients from other networks, who may log in at" \
		"$answer: their mail is neither checked nor" \
		"recorded; set -o smtpd_milter_maps= there in master.cf"
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
	[ -n "$postfix_runs" ] || return 0
	value_of smtpd_milters
	others=$answer
	value_of non_smtpd_milters
	split_list "$others, $answer"
	others=$answer seen=$nl
	while IFS= read -r item; do
		case $seen in
		*"$nl$item$nl"*) continue ;;
		esac
		seen=$seen$item$nl
		[ -n "$item" ] && ! is_ours "$item" || continue
		address_of "$item"
		address=$answer
		lacks=0
		why=$(try_milter "$address" 2>/dev/null) || lacks=$?
		[ $lacks -eq 1 ] || continue # without perl it cannot be tried
		action_of "$item"
		[ -n "$answer" ] || value_of milter_default_action
		case $answer in
		accept) warn "another milter, $address, $why: mail passes without" \
			"it; start it, or remove it from main.cf" ;;
		reject) wrong "another milter, $address, $why: all mail is" \
			"refused; start it, or remove it from main.cf" ;;
		*) wrong "another milter, $address, $why: all mail waits for it," \
			"also emails of postern-httpd; start it, or remove it from" \
			"main.cf" ;;
		esac
	done <<-END
		$others
	END
}

# Whether a list of users, as postconf(5) has it, lets the user in: the first item
# that fits decides. What cannot be read is taken to fit.
lists_user() {
	split_list "$1"
	while IFS= read -r item; do
		fits=0
		case $item in
		'!'*) fits=1 item=${item#!} ;;
		esac
		case $item in
		"$2" | static:*) return $fits ;;
		/*) ! tr ', \t' '[\n*]' <"$item" 2>/dev/null |
			grep -qxF "$2" || return $fits ;;
		*:*) ! postmap -c "$view" -q "$2" "${item#proxy:}" \
			>/dev/null 2>&1 || return $fits ;;
		esac
	done <<-END
		$answer
	END
	return 1
}

check_submit_users() {
	value_of authorized_submit_users
	users=$answer
	case $users in
	'' | static:anyone) return ;;
	esac
	who=postern
	has_daemons_user || who=$(id -un)
	! lists_user "$users" "$who" || return 0
	setting_of submission method
	if [ "$answer" = smtp ]; then
		verb=warn effect="(submission.method is smtp, which does not need it)"
	else
		verb=wrong effect="so that every request fails (503)"
	fi
	$verb "authorized_submit_users ($users) lacks the user $who, as which" \
		"postern-httpd runs: sendmail(1) refuses its mail, $effect; to fix" \
		"it: postconf -e 'authorized_submit_users = $users, $who'"
}

# sendmail(1) waits in vain where it may not make a file.
check_maildrop() {
	[ -d "$queue/maildrop" ] || return 0
	value_of mail_owner
	user=$answer
	value_of setgid_group
	group=$answer
	value_of command_directory
	facts=$(stat -c '%U:%G %a %n' "$queue/maildrop" "$queue/public" "$answer/postdrop" \
		2>/dev/null) || true
	while read -r owner mode path; do
		case $path in
		*/maildrop) wanted="$user:$group 1730" other=730 ;;
		*/public) wanted="$user:$group 2710" other=710 ;;
		*/postdrop) wanted="root:$group 2555" other=2755 ;;
		*) continue ;;
		esac
		case "$owner $mode" in
		"$wanted" | "${wanted% *} $other") ;;
		*) wrong "$path is $owner with mode $mode, and not ${wanted% *} with" \
			"${wanted#* }: users of this host, and postern-httpd," \
			"cannot submit mail by sendmail(1); to fix it: postfix" \
			"set-permissions" ;;
		esac
	done <<-END
		$facts
	END
}

# A clock that was put back hides what came before, where times decide.
check_clock() {
	[ -n "$in_force" ] || return 0
	newest=$(run_postern --json email list --limit 1 2>/dev/null) || return 0
	member_of "$newest" created_at
	[ -n "$answer" ] && newest=$(date -d "$answer" +%s 2>/dev/null) || return 0
	behind=$((newest - $(date +%s)))
	[ "$behind" -le 120 ] ||
		wrong "the clock is $((behind / 60)) minutes behind the newest" \
			"email in the store: it was set back, or was ahead before." \
			"Mail goes out, but lists by time, retention and" \
			"Idempotency-Keys go wrong until it is right: timedatectl" \
			"status"
}

# Whether the process has the file open, as far as this user may see: has_open PID FILE.
has_open() {
	[ ! -e "/proc/$1/fd" ] || [ -r "/proc/$1/fd" ] || return 0
	set +f
	for file in "/proc/$1/fd"/*; do
		if [ "$file" -ef "$2" ]; then
			set -f
			return 0
		fi
	done
	set -f
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
	setting_of store url
	if [ -z "$answer" ]; then
		setting_of store database
		has_open "$1" "$answer"
		return
	fi
	its=$("$postern" -c "$(settings_of_process "$1")" config 2>/dev/null) ||
		{ [ "$uid" -ne 0 ]; return; }
	case $nl$its$nl in
	*"${nl}url = $answer$nl"*) ;;
	*) return 1 ;;
	esac
}

# Has $processes, those of our programs, PID NAME. Starts no program for each process,
# and reads them once: a host may have thousands.
read_processes() {
	[ -z "$processes" ] || return 0
	processes=$nl
	set +f
	for process in /proc/[0-9]*; do
		{ read -r program <"$process/comm"; } 2>/dev/null || continue
		case $program in
		postern-*) processes="$processes${process#/proc/} $program$nl" ;;
		esac
	done
	set -f
}

# The program, as a process that uses the store: has_database_open NAME.
has_database_open() {
	read_processes
	while read -r process program; do
		[ "$program" != "$1" ] || ! uses_store "$process" || return 0
	done <<-END
		$processes
	END
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
	if has_database_open postern-httpd; then
		good "postern-httpd is running"
		return
	elif [ -z "$postfix_runs" ]; then
		warn "postern-httpd is not running"
		return
	fi
	setting_of http listen
	if is_listening "$answer"; then
		wrong "postern-httpd is not running, and another program listens on" \
			"its address $answer: stop that program, or set http.listen" \
			"(journalctl -u postern-httpd)"
	else
		wrong "postern-httpd is not running, so that no program can send:" \
			"its log tells why (journalctl -u postern-httpd);" \
			"systemctl start postern-httpd"
	fi
}
