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

# Prints the address of a new probe for that way, sendmail or smtp, and its nonce; or
# fails, with the reason. Users of the host may see the address in mailq, but not the
# nonce: a message of theirs to the address does not count.
new_probe() {
	through=--through
	for name in always_bcc sender_bcc_maps recipient_bcc_maps header_checks \
		body_checks; do
		[ -z "$(value_of $name)" ] || through=
	done
	# shellcheck disable=SC2086 # a word, or none
	if ! answer=$(run_postern --json probe add --submission "$1" $through 2>&1); then
		echo "$answer"
		return 1
	fi
	echo "$(member_of "$answer" address)" "$(member_of "$answer" nonce)"
}

# The message to that address with that nonce.
probe_message() {
	echo "Postern-Nonce: $2"
	echo "From: postern-probe@$(value_of myhostname)"
	echo "To: $1"
	echo "Subject: Test message of postern doctor"
	echo "Message-ID: <$1>"
	echo "Auto-Submitted: auto-generated"
	echo
	echo "This message should not have reached you: see postfix-conf/check."
}

# submit_by_smtp ADDRESS NONCE SERVER: prints the last reply of the server: `unix:PATH`,
# `inet:HOST:PORT`, or `sendmail:PROGRAM`, which is an smtpd of its own. One that is no
# 250 is a failure. The address is in no argument, for these are there for everybody to
# read.
submit_by_smtp() {
	probe_message "$1" "$2" | {
		PROBE=$1
		export PROBE
		run_as_daemons perl -e "$perl_connect"'
		my ($server, $config) = @ARGV;
		my $to = delete $ENV{PROBE};
		my @message = <STDIN>;
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
		s/\n/\r\n/ for @message;
		print $peer @message, ".\r\n";
		expect("250");
		print $peer "QUIT\r\n";
		print $reply' "$3" "$config"
	}
}

# Prints what it complains of, too.
submit_by_sendmail() {
	program=$(setting_of submission sendmail)
	submit_by_smtp "$1" "$2" "sendmail:${program:-sendmail}" 2>&1
}

# The lines of the input that have this text. As above, it is in no argument.
lines_with() {
	SOUGHT=$1 awk 'index($0, ENVIRON["SOUGHT"])'
}

# Waits up to so many seconds until the milter was asked: is_seen ADDRESS SECONDS.
is_seen() {
	shown=$(echo "$1" | run_postern --json probe show --timeout "$2" 2>/dev/null) || sleep "$2"
	case $shown in
	*'"seen": true'*) ;;
	*) return 1 ;;
	esac
}

# The message to the address in the queue, as JSON; nothing when it is not there.
queued_for() {
	postqueue -c "$config" -j 2>/dev/null | lines_with "\"$1\"" | head -n 1
}

# The text member of that name.
member_of() {
	printf '%s\n' "$1" | sed -n "s/.*\"$2\": \"\([^\"]*\)\".*/\1/p"
}

# Waits until the milter was asked, or it is clear that it was not.
wait_for_probe() {
	left=$probe_seconds
	[ -n "$milter" ] || left=$probe_seconds_without
	until is_seen "$1" 1; do
		case $(member_of "$(queued_for "$1")" queue_name) in
		deferred | hold) return 1 ;;
		esac
		left=$((left - 1))
		[ $left -gt 0 ] || return 1
	done
}

# The line of the mail log that has the address and those words, if there is a log
# to look into.
logged_for() {
	log=$(value_of maillog_file)
	for log in "$log" /var/log/mail.log /var/log/maillog; do
		[ -r "$log" ] || continue
		tail -n 10000 "$log" | lines_with "=<$1>" | grep -F "$2" |
			tail -n 1 | sed 's/.*]: //'
		return
	done
}

# What a milter behind ours does with a message that ours lets pass; nothing when
# it lets it pass, too: then it has left the queue.
stopped_behind() {
	left=$((probe_seconds * 5))
	while [ $left -gt 0 ]; do
		message=$(queued_for "$1")
		refusal=$(logged_for "$1" milter-reject)
		if [ -n "$refusal" ]; then
			echo "what postern-milter lets pass is stopped by another" \
				"milter behind it, $2: ${refusal#* milter-reject: }"
			return
		fi
		[ -n "$message" ] || return 0
		left=$((left - 1))
		sleep 0.2
	done
	echo "what postern-milter lets pass does not leave the queue: another" \
		"milter behind it puts mail off ($2 is $(value_of "$2")), or qmgr" \
		"does not run; see the mail log"
}

# Why Postfix did not ask the milter, as far as main.cf tells: the list of the way.
why_not_asked() {
	case $(value_of receive_override_options)/$(is_listed "$1" || echo lacking) in
	*/lacking) echo "$1 lacks it" ;;
	*no_milters*) echo "receive_override_options has no_milters" ;;
	*) echo "main.cf names it; was Postfix reloaded since" \
		"($(reload_command)), or has master.cf another $1, or" \
		"no_milters?" ;;
	esac
}

# What has become of a message that the milter did not see: ADDRESS LIST.
fate_of() {
	message=$(queued_for "$1")
	reason=$(member_of "$message" delay_reason)
	not_asked="Postfix did not ask the milter: $(why_not_asked "$2")"
	case $(member_of "$message" queue_name) in
	maildrop | incoming)
		if why=$(try_socket); then
			echo "the message waits, although the milter answers:" \
				"another one puts mail off, or itself, as their" \
				"logs say; $2 is $(value_of "$2")"
		else
			echo "the message waits, the milter does not answer: $why"
		fi
		;;
	hold) echo "$not_asked. The message is held${reason:+ ($reason)}" ;;
	?*) echo "$not_asked. The message waits${reason:+ ($reason)}" ;;
	'') echo "$not_asked. The message did not wait:" \
		"$(logged_for "$1" ' status=' | grep . || echo "see the mail log for $1")" ;;
	esac
}

remove_probe() {
	id=$(member_of "$(queued_for "$1")" queue_id)
	[ -z "$id" ] || postsuper -c "$config" -d "$id" >/dev/null 2>&1 || true
}

# Rules of main.cf and master.cf that send a message, or a copy of it, elsewhere whatever
# transport_maps says, one on a line. The milter, if it is asked, leaves them nothing to send.
rules_past_transport() {
	for name in always_bcc sender_bcc_maps recipient_bcc_maps content_filter; do
		[ -z "$(value_of $name)" ] || echo "$name"
	done
	overrides_of content_filter | awk '$2 != "" { print "content_filter of " $1 }'
	for name in header_checks body_checks; do
		[ -z "$(actions_in "$(value_of $name)" 'REDIRECT|FILTER|BCC')" ] || echo "$name"
	done
}

# The table whose REDIRECT matches a header field of the message; nothing when none does. Postfix
# asks no milter about such a message.
redirects_probe() {
	[ -n "$(actions_in "$(value_of header_checks)" REDIRECT)" ] || return 0
	probe_message 0123456789abcdef0123456789abcdef@postern.invalid \
		0123456789abcdef0123456789abcdef | sed '/^$/q' | while IFS= read -r field; do
		first_answer "$(value_of header_checks)" "$field"
	done | grep -i ': REDIRECT' | head -n 1
}

# Whether main.cf and master.cf have Postfix ask the milter about all mail that comes by way of
# the list.
asks_milter() {
	is_listed "$1" || return 1
	case $(value_of receive_override_options) in
	*no_milters*) return 1 ;;
	esac
	without=$({
		overrides_of receive_override_options | grep no_milters
		overrides_of "$1" | while read -r name value; do
			[ -n "$(ours_in "$value")" ] || echo "$name"
		done
	} | while read -r name value; do
		case $1/$name in
		smtpd_milters/* | */pickup/* | */cleanup/*) is_way_back "$name" || echo "$name" ;;
		esac
	done)
	[ -z "$without" ]
}

# Why a message to an address of a probe might leave this host, by way of the list, if Postfix
# does not ask the milter about it: one reason. Nothing when it would wait in the queue.
may_leave() {
	ways_out | head -n 1 | grep . && return
	overrides_of transport_maps | while read -r name value; do
		[ -n "$(ours_in "$value")" ] ||
			echo "master.cf: $name has its own transport_maps, without" \
				"postern.invalid"
	done | head -n 1 | grep . && return
	redirected=$(redirects_probe)
	if [ -n "$redirected" ]; then
		echo "header_checks matches it: $redirected"
		return
	fi
	asks_milter "$1" && return
	past=$(rules_past_transport | paste -s -d ' ' -)
	[ -z "$past" ] || echo "$1 does not cover all mail, and $past may send it elsewhere"
}

# try_way NAME LIST COMMAND [ARGUMENT]: the way's name, the parameter that names
# the milters for it, and what submits a message: to the address and with the nonce
# that are put in front of the argument.
try_way() {
	name=$1
	list=$2
	shift 2
	submit=$1
	shift
	why=$(may_leave "$list")
	if [ -n "$why" ] && ! is_listed smtpd_milters && ! is_listed non_smtpd_milters; then
		unknown "mail by $name: no test message was sent, because Postfix does not use" \
			"postern-milter yet and might deliver it elsewhere: run postern setup"
		return
	elif [ -n "$why" ]; then
		warn "mail by $name: no test message was sent, because it could leave this" \
			"host if Postfix does not ask the milter: $why"
		return
	fi
	if ! probe=$(new_probe "${submit#submit_by_}"); then
		warn "$name: not tried: $probe"
		return
	fi
	address=${probe% *}
	if ! said=$("$submit" "$address" "${probe#* }" "$@"); then
		wrong "$name takes no message: $said"
	elif wait_for_probe "$address"; then
		why=$(stopped_behind "$address" "$list")
		if [ -n "$why" ]; then
			wrong "mail by $name: $why"
			remove_probe "$address"
			return
		fi
		good "the milter is asked about mail by $name"
	else
		wrong "mail by $name: $(fate_of "$address" "$list")"
		remove_probe "$address"
	fi
}

# The server to which postern-httpd submits, when it does so by SMTP.
smtp_server() {
	[ "$(setting_of submission method)" = smtp ] || return 0
	server=$(setting_of submission smtp_server)
	echo "${server:-unix:$queue/public/$service}"
}

# Services of smtpd(8), or of postscreen(8) before it, that take mail of this host over
# TCP without TLS or a login, but those that take it back from a content filter: NAME
# HOST PORT. One that wants TLS or a header of a proxy first is left out, and so is what
# main.cf or master.cf have ask other milters, or none: other rows tell that.
tcp_services() {
	is_listed smtpd_milters || return 0
	read_overrides
	maps=$(value_of smtpd_milter_maps)
	master_services | awk '$2 == "inet" &&
		($8 == "smtpd" || $8 == "postscreen") { print $1 "/" $2 }' |
		while read -r name; do
			[ -n "$(ours_in "$(value_for "$name" smtpd_milters)")" ] || continue
			case $(value_for "$name" receive_override_options) in
			*no_milters*) continue ;;
			esac
			case $(value_for "$name" smtpd_tls_wrappermode),$(
				value_for "$name" smtpd_tls_security_level),$(
				value_for "$name" smtpd_upstream_proxy_protocol)$(
				value_for "$name" postscreen_upstream_proxy_protocol) in
			yes,* | *,encrypt,* | *,*,?*) continue ;;
			esac
			place=${name%/inet}
			host=${place%:*} port=${place##*:}
			[ "$host" != "$place" ] || host=$(items_of inet_interfaces |
				sed 's/^\(all\|localhost\|loopback-only\|\$myhostname\)$/127.0.0.1/' |
				head -n 1)
			[ -n "$(unasked_for "${host:=127.0.0.1}")" ] ||
				printf '%s %s %s\n' "$name" "$host" "$port"
		done
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
	elif ! probe=$(new_probe any); then
		unknown "SMTP to $2 port $3: not tried: $probe"
		return
	fi
	address=${probe% *}
	for _ in 1 2 3 4; do
		if ! said=$(greet_by_smtp "$address" "$2" "$3"); then
			unknown "SMTP to $2 port $3 ($1) cannot be tried: $said"
			return
		elif is_seen "$address" 3; then
			good "the milter is asked about mail by SMTP to $2 port $3"
			return
		fi
	done
	wrong "mail by SMTP to $2 port $3 ($1): Postfix did not ask the milter:" \
		"$(why_not_asked smtpd_milters)"
}

# Whether the milter that answers is known to have another database, in which no probe
# of ours is.
is_of_others() {
	[ -e "/proc/$milter/fd" ] && ! uses_store "$milter"
}

check_probes() {
	if [ -z "$in_force" ]; then
		return
	elif [ "$(id -u)" -ne 0 ]; then
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
	server=$(smtp_server)
	[ -z "$server" ] ||
		try_way "SMTP to $server" smtpd_milters submit_by_smtp "$server"
	while read -r name host port; do
		[ -z "$name" ] || try_tcp "$name" "$host" "$port"
	done <<-END
		$(tcp_services)
	END
}
