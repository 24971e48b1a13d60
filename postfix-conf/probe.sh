# shellcheck shell=sh
# shellcheck disable=SC2154 # common.sh and settings.sh set what is used here
# Shows that Postfix asks the milter, by a message; for check, behind
# settings.sh.
#
# Each way by which emails go gets a message for an address of `postern probe add`, from
# the user that the daemons have. No milter but ours knows what to do with it: ours
# notes that it was asked, and takes the recipient off. So the milters behind ours
# are asked, too, and nobody gets it; where a rule of main.cf could add a recipient,
# or hold it, ours throws it away. When nothing was noted the message is looked for,
# what has become of it says why, and it is removed. It has no sender, so that
# nothing comes back. The ports of smtpd(8) are told its address as a sender.
#
# No message leaves this host: none is sent unless Postfix would keep it in its queue when
# it does not ask the milter.
#
# Needs: milter (its process, or unknown; empty: it does not answer, and how mail
# waits shows soon).

probe_seconds=10
probe_seconds_without=2

# Has $address, that of a new probe for that way, sendmail or smtp, and its $nonce; or
# fails and answers with the reason. Users of the host may see the address in mailq, but not
# the nonce: a message of theirs to the address does not count.
new_probe() {
	through=--through
	for _name in always_bcc sender_bcc_maps recipient_bcc_maps header_checks \
		body_checks; do
		value_of $_name
		[ -z "$answer" ] || through=
	done
	# shellcheck disable=SC2086 # a word, or none
	answer=$(run_postern --json probe add --submission "$1" $through 2>&1) || return 1
	probe=$answer
	member_of "$probe" address
	address=$answer
	member_of "$probe" nonce
	nonce=$answer
}

# Answers the message to that address with that nonce.
probe_message() {
	value_of myhostname
	answer="Postern-Nonce: $2
From: postern-probe@$answer
To: $1
Subject: Test message of postern doctor
Message-ID: <$1>
Auto-Submitted: auto-generated

This message should not have reached you: see postfix-conf/check.
"
}

# submit_by_smtp SERVER: sends the message to $address, and prints the last reply of the
# server: `unix:PATH`, `inet:HOST:PORT`, or `sendmail:PROGRAM`, which is an smtpd of its own.
# One that is no 250 is a failure. The address is in no argument, for these are there for
# everybody to read.
submit_by_smtp() {
	probe_message "$address" "$nonce"
	# shellcheck disable=SC2086 # words
	PROBE=$address MESSAGE=$answer $as_daemons perl -e "$perl_connect"'
		my ($server, $config) = @ARGV;
		my $to = delete $ENV{PROBE};
		my $message = delete $ENV{MESSAGE};
		$SIG{ALRM} = sub { print "no answer in time"; exit 1 };
		$SIG{PIPE} = "IGNORE";
		alarm(30);
		sub run {
			socketpair(my $ours, my $its,
				AF_UNIX, SOCK_STREAM, PF_UNSPEC) or return;
			my $pid = fork() // return;
			return unbuffered($ours) if $pid;
			open(STDIN, "<&", $its) and open(STDOUT, ">&", $its) and
				exec(@_);
			exit 1;
		}
		my $peer = $server =~ /^sendmail:(.*)/
			? run($1, "-C", $config, "-bs") : connect_to($server);
		$peer or print("$server: $!"), exit 1;
		my $reply;
		sub expect {
			1 while defined($reply = <$peer>) and $reply =~ /^\d+-/;
			$reply = "the connection was closed" if !defined($reply);
			$reply =~ s/\s+$//;
			$reply =~ /^$_[0]/ or print($reply), exit 1;
		}
		expect("220");
		for (["EHLO localhost", 250], ["MAIL FROM:<>", 250],
			["RCPT TO:<$to>", 250], ["DATA", 354]) {
			print $peer "$_->[0]\r\n";
			expect($_->[1]);
		}
		$message =~ s/\n/\r\n/g;
		print $peer $message, ".\r\n";
		expect("250");
		print $peer "QUIT\r\n";
		print $reply' "$1" "$config"
}

# Prints what it complains of, too.
submit_by_sendmail() {
	setting_of submission sendmail
	submit_by_smtp "sendmail:${answer:-sendmail}" 2>&1
}

# Waits up to so many seconds until the milter was asked: is_seen ADDRESS SECONDS.
is_seen() {
	shown=$(run_postern --json probe show --timeout "$2" 2>/dev/null <<-END
		$1
	END
	) || sleep "$2"
	case $shown in
	*'"seen": true'*) ;;
	*) return 1 ;;
	esac
}

# Answers the message to the address in the queue, as JSON; nothing when it is not there.
queued_for() {
	answer=$(postqueue -c "$config" -j 2>/dev/null |
		SOUGHT="\"$1\"" awk 'index($0, ENVIRON["SOUGHT"]) { print; exit }')
}

# Answers the text member of that name: member_of JSON NAME.
member_of() {
	answer=
	case $1 in
	*"\"$2\": \""*)
		answer=${1#*"\"$2\": \""}
		answer=${answer%%\"*}
		;;
	esac
}

# Waits until the milter was asked, or it is clear that it was not.
wait_for_probe() {
	left=$probe_seconds
	[ -n "$milter" ] || left=$probe_seconds_without
	until is_seen "$1" 1; do
		queued_for "$1"
		member_of "$answer" queue_name
		case $answer in
		deferred | hold) return 1 ;;
		esac
		left=$((left - 1))
		[ $left -gt 0 ] || return 1
	done
}

# Answers the last line of the mail log that has the address and those words, if there is a
# log to look into. A pipe, as /dev/stdout, would be read without end.
logged_for() {
	value_of maillog_file
	for log in "$answer" /var/log/mail.log /var/log/maillog; do
		[ -f "$log" ] && [ -r "$log" ] || continue
		answer=$(tail -n 10000 "$log" | SOUGHT="=<$1>" WORDS=$2 awk '
			index($0, ENVIRON["SOUGHT"]) && index($0, ENVIRON["WORDS"]) { last = $0 }
			END { sub(/.*]: /, "", last); print last }')
		return
	done
	answer=
}

# Answers what a milter behind ours does with a message that ours lets pass; nothing when
# it lets it pass, too: then it has left the queue.
stopped_behind() {
	left=$((probe_seconds * 10))
	while [ $left -gt 0 ]; do
		queued_for "$1"
		message=$answer
		logged_for "$1" milter-reject
		if [ -n "$answer" ]; then
			answer="what postern-milter lets pass is stopped by another \
milter behind it, $2: ${answer#* milter-reject: }"
			return
		fi
		[ -n "$message" ] || return 0
		left=$((left - 1))
		sleep 0.1
	done
	value_of "$2"
	answer="what postern-milter lets pass does not leave the queue: another \
milter behind it puts mail off ($2 is $answer), or qmgr \
does not run; see the mail log"
}

# Answers why Postfix did not ask the milter, as far as main.cf tells: the list of the way.
why_not_asked() {
	value_of receive_override_options
	_options=$answer
	if ! is_listed "$1"; then
		answer="$1 lacks it"
		return
	fi
	case $_options in
	*no_milters*) answer="receive_override_options has no_milters" ;;
	*) answer="main.cf names it; was Postfix reloaded since \
($(reload_command)), or has master.cf another $1, or no_milters?" ;;
	esac
}

# Answers what has become of a message that the milter did not see: ADDRESS LIST.
fate_of() {
	queued_for "$1"
	message=$answer
	member_of "$message" delay_reason
	reason=${answer:+ ($answer)}
	why_not_asked "$2"
	not_asked="Postfix did not ask the milter: $answer"
	member_of "$message" queue_name
	case $answer in
	maildrop | incoming)
		if why=$(try_socket); then
			value_of "$2"
			answer="the message waits, although the milter answers: \
another one puts mail off, or itself, as their logs say; $2 is $answer"
		else
			answer="the message waits, the milter does not answer: $why"
		fi
		;;
	hold) answer="$not_asked. The message is held$reason" ;;
	?*) answer="$not_asked. The message waits$reason" ;;
	'')
		logged_for "$1" ' status='
		answer="$not_asked. The message did not wait: \
${answer:-see the mail log for $1}"
		;;
	esac
}

remove_probe() {
	queued_for "$1"
	member_of "$answer" queue_id
	[ -z "$answer" ] || postsuper -c "$config" -d "$answer" >/dev/null 2>&1 || true
}

# Answers the rules of main.cf and master.cf that send a message, or a copy of it, elsewhere
# whatever transport_maps says, with blanks. The milter, if it is asked, leaves them nothing to
# send.
rules_past_transport() {
	_rules=
	for _name in always_bcc sender_bcc_maps recipient_bcc_maps content_filter; do
		value_of $_name
		[ -z "$answer" ] || _rules="$_rules $_name"
	done
	overrides_of content_filter
	while read -r _name _value; do
		[ -z "$_value" ] || _rules="$_rules content_filter of $_name"
	done <<-END
		$answer
	END
	for _name in header_checks body_checks; do
		value_of $_name
		actions_in "$answer" 'REDIRECT|FILTER|BCC'
		[ -z "$answer" ] || _rules="$_rules $_name"
	done
	answer=${_rules# }
}

# Answers the table whose REDIRECT matches a header field of the message; nothing when none does.
# Postfix asks no milter about such a message.
redirects_probe() {
	value_of header_checks
	checks=$answer
	actions_in "$checks" REDIRECT
	[ -n "$answer" ] || return 0
	probe_message 0123456789abcdef0123456789abcdef@postern.invalid \
		0123456789abcdef0123456789abcdef
	while IFS= read -r field && [ -n "$field" ]; do
		first_answer "$checks" "$field"
		case $answer in
		*': '[Rr][Ee][Dd][Ii][Rr][Ee][Cc][Tt]*) return ;;
		esac
	done <<-END
		$answer
	END
	answer=
}

# Whether main.cf and master.cf have Postfix ask the milter about all mail that comes by way of
# the list.
asks_milter() {
	is_listed "$1" || return 1
	value_of receive_override_options
	case $answer in
	*no_milters*) return 1 ;;
	esac
	_without=
	overrides_of receive_override_options
	while read -r _name _value; do
		case $_value in
		*no_milters*) _without="$_without $_name" ;;
		esac
	done <<-END
		$answer
	END
	overrides_of "$1"
	while read -r _name _value; do
		ours_in "$_value"
		[ -n "$answer" ] || _without="$_without $_name"
	done <<-END
		$answer
	END
	for _name in $_without; do
		case $1/$_name in
		smtpd_milters/* | */pickup/* | */cleanup/*) is_way_back "$_name" || return 1 ;;
		esac
	done
}

# Answers why a message to an address of a probe might leave this host, by way of the list, if
# Postfix does not ask the milter about it: one reason. Nothing when it would wait in the queue.
may_leave() {
	ways_out
	answer=${answer%%"$nl"*}
	[ -z "$answer" ] || return 0
	overrides_of transport_maps
	while read -r _name _value; do
		ours_in "$_value"
		[ -z "$_name" ] || [ -n "$answer" ] || {
			answer="master.cf: $_name has its own transport_maps, without \
postern.invalid"
			return
		}
	done <<-END
		$answer
	END
	redirects_probe
	if [ -n "$answer" ]; then
		answer="header_checks matches it: $answer"
		return
	fi
	if asks_milter "$1"; then
		answer=
		return
	fi
	rules_past_transport
	[ -z "$answer" ] ||
		answer="$1 does not cover all mail, and $answer may send it elsewhere"
}

# try_way NAME LIST COMMAND [ARGUMENT]: the way's name, the parameter that names
# the milters for it, and what submits a message.
try_way() {
	way=$1
	list=$2
	shift 2
	may_leave "$list"
	why=$answer
	if [ -n "$why" ] && ! is_listed smtpd_milters && ! is_listed non_smtpd_milters; then
		unknown "mail by $way: no test message was sent, because Postfix does not use" \
			"postern-milter yet and might deliver it elsewhere: run postern setup"
		return
	elif [ -n "$why" ]; then
		warn "mail by $way: no test message was sent, because it could leave this" \
			"host if Postfix does not ask the milter: $why"
		return
	fi
	if ! new_probe "${1#submit_by_}"; then
		warn "$way: not tried: $answer"
	elif ! said=$("$@"); then
		wrong "$way takes no message: $said"
	elif wait_for_probe "$address"; then
		stopped_behind "$address" "$list"
		if [ -n "$answer" ]; then
			wrong "mail by $way: $answer"
			remove_probe "$address"
		else
			good "the milter is asked about mail by $way"
		fi
	else
		fate_of "$address" "$list"
		wrong "mail by $way: $answer"
		remove_probe "$address"
	fi
}

# Answers the server to which postern-httpd submits, when it does so by SMTP.
smtp_server() {
	setting_of submission method
	if [ "$answer" != smtp ]; then
		answer=
		return
	fi
	setting_of submission smtp_server
	answer=${answer:-unix:$queue/public/$service}
}

# Answers the services of smtpd(8), or of postscreen(8) before it, that take mail of this host
# over TCP without TLS or a login, but those that take it back from a content filter: NAME
# HOST PORT. One that wants TLS or a header of a proxy first is left out, and so is what
# main.cf or master.cf have ask other milters, or none: other rows tell that.
tcp_services() {
	answer=
	is_listed smtpd_milters || return 0
	read_services
	value_of smtpd_milter_maps
	maps=$answer
	_tcp=
	while read -r _name _program; do
		case $_name/$_program in
		*/inet/smtpd | */inet/postscreen) ;;
		*) continue ;;
		esac
		value_for "$_name" smtpd_milters
		ours_in "$answer"
		[ -n "$answer" ] || continue
		value_for "$_name" receive_override_options
		case $answer in
		*no_milters*) continue ;;
		esac
		tls_of "$_name"
		[ -z "$answer" ] || continue
		value_for "$_name" smtpd_upstream_proxy_protocol
		[ -z "$answer" ] || continue
		value_for "$_name" postscreen_upstream_proxy_protocol
		[ -z "$answer" ] || continue
		host_of "$_name"
		_host=$answer
		unasked_for "$_host"
		[ -z "$answer" ] || continue
		_place=${_name%/inet}
		_tcp="$_tcp$_name $_host ${_place##*:}$nl"
	done <<-END
		$entries
	END
	answer=$_tcp
}

# Says MAIL FROM the address there, and no more: prints the last reply. The milter has
# told Postfix that it answers nothing before the end of a message, so Postfix writes
# what it tells when its buffer of 4 KB is full: hence so many times.
greet_by_smtp() {
	PROBE=$1 perl -e "$perl_connect"'
		$SIG{ALRM} = sub { print "no answer in time"; exit 1 };
		$SIG{PIPE} = "IGNORE";
		alarm(30);
		my $peer = connect_to("inet:$ARGV[0]:$ARGV[1]") or print("$!"), exit 1;
		sub expect {
			my $reply;
			1 while defined($reply = <$peer>) and $reply =~ /^\d+-/;
			$reply //= "the connection was closed";
			$reply =~ s/\s+$//;
			$reply =~ /^$_[0]/ or print($reply), exit 1;
		}
		expect("220");
		for (1 .. 60) {
			for ("EHLO localhost", "MAIL FROM:<$ENV{PROBE}>") {
				print $peer "$_\r\n";
				expect("250");
			}
		}
		print $peer "RSET\r\nQUIT\r\n";
		1 while <$peer>' "$2" "$3"
}

# Port 25 takes no recipient of ours, whose transport is retry(8): so the address is the
# sender there, which the milter is told before there is a recipient. Nothing is sent.
# For a moment after a reload a process that is older may take the session.
try_tcp() {
	if [ -z "$milter" ]; then
		unknown "SMTP to $2 port $3: not tried, since the milter does not answer"
		return
	elif ! new_probe any; then
		unknown "SMTP to $2 port $3: not tried: $answer"
		return
	fi
	for _ in 1 2 3 4; do
		if ! said=$(greet_by_smtp "$address" "$2" "$3"); then
			unknown "SMTP to $2 port $3 ($1) cannot be tried: $said"
			return
		elif is_seen "$address" 3; then
			good "the milter is asked about mail by SMTP to $2 port $3"
			return
		fi
	done
	why_not_asked smtpd_milters
	wrong "mail by SMTP to $2 port $3 ($1): Postfix did not ask the milter: $answer"
}

# Whether the milter that answers is known to have another database, in which no probe
# of ours is.
is_of_others() {
	[ -e "/proc/$milter/fd" ] && ! uses_store "$milter"
}

check_probes() {
	if [ -z "$in_force" ]; then
		return
	elif [ "$uid" -ne 0 ]; then
		warn "no message was sent to try whether the milter is asked: run" \
			"check as root"
		return
	elif [ -z "${postfix_runs:-}" ]; then
		return
	elif is_of_others; then
		wrong "no message was sent to try whether the milter is asked: the milter" \
			"that answers on $socket_path, process $milter, has another" \
			"database than $settings"
		return
	fi
	try_way 'sendmail(1)' non_smtpd_milters submit_by_sendmail
	smtp_server
	[ -z "$answer" ] || try_way "SMTP to $answer" smtpd_milters submit_by_smtp "$answer"
	tcp_services
	while read -r name host port; do
		[ -z "$name" ] || try_tcp "$name" "$host" "$port"
	done <<-END
		$answer
	END
}
