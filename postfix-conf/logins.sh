# shellcheck shell=sh
# shellcheck disable=SC2154 # common.sh and settings.sh set what it uses
# Services at which programs log in over SMTP with an API key, enable --smtp-auth PLACES;
# sourced by enable, disable, check and setup.
#
# Each is a service of smtpd(8) that asks postern-auth about passwords, by Dovecot's
# protocol. The milter takes a login for the id of a key by milter_macro_daemon_name
# alone, so no service that asks another SASL server may have it. A service of ours
# stands at the end of master.cf. One of the admin's gets a block of lines behind its own
# options; since the last of several options counts, disable gives back what held before.
#
# Sets: logins (KIND PLACE, one a line; kinds are tls, starttls, plain and service).

login_mark=postern-smtp-auth
login_syslog_name=postfix/postern-auth

# The last line of a block of lines; the first one has the mark.
login_end=smtpd_recipient_limit=1000

# What each such service has, besides the path of the socket and TLS.
login_options="
smtpd_sasl_auth_enable=yes
smtpd_sasl_type=dovecot
smtpd_sasl_security_options=noanonymous
smtpd_sasl_tls_security_options=noanonymous
smtpd_sasl_exceptions_networks=
smtpd_sasl_authenticated_header=no
smtpd_client_restrictions=
smtpd_helo_restrictions=
smtpd_sender_restrictions=
smtpd_relay_restrictions=permit_sasl_authenticated,reject
smtpd_recipient_restrictions=
smtpd_data_restrictions=
smtpd_end_of_data_restrictions=
smtpd_authorized_xclient_hosts=
smtpd_authorized_xforward_hosts=
smtpd_milter_maps=
smtpd_proxy_filter=
"

# The words of --smtp-auth, one a line: [tls:|starttls:][HOST:]PORT or service:NAME.
read_logins() {
	IFS=', '
	# shellcheck disable=SC2086 # words
	set -- $1
	unset IFS
	for given; do
		kind=starttls
		place=$given
		case $given in
		service:?*) kind=service place=${given#*:} ;;
		tls:*) kind=tls place=${given#*:} ;;
		starttls:*) place=${given#*:} ;;
		465 | *:465) kind=tls ;;
		127.*:* | '[::1]:'* | localhost:*) kind=plain ;;
		'') continue ;;
		esac
		port=${place##*:}
		case $kind,$port,$place in
		service,*) ;;
		*,*[!0-9]*,* | *,,* | *,??????*,* | *,*,*[!]0-9A-Za-z.:[-]*) wrong_usage \
			"--smtp-auth: a port, as 587, HOST:PORT, tls:465 or service:NAME," \
			"not $given" ;;
		esac
		logins="$logins$kind $place
"
	done
	[ -n "$logins" ] || wrong_usage "--smtp-auth: at which port?"
}

# Where postern-auth listens, as smtpd_sasl_path has it, and absolute.
find_login_socket() {
	login_socket=${socket_path%/*}/auth.sock
	if [ -n "$settings" ] && [ -n "$postern" ] && read_settings; then
		setting_of auth socket
		[ -z "$answer" ] || login_socket=$answer
	fi
	login_path=${login_socket#"$queue"/}
}

# Answers the services that take logins for ids of keys, as 587/inet, one a line.
login_services_of_ours() {
	overrides_of milter_macro_daemon_name
	_logins=
	while read -r _name _value; do
		[ "$_value" != "$login_mark" ] || _logins=$_logins$_name$nl
	done <<-END
		$answer
	END
	answer=$_logins
}

# Answers those of them that enable has added.
own_login_services() {
	login_services_of_ours
	_own=
	for _name in $answer; do
		value_for "$_name" syslog_name
		[ "$answer" != "$login_syslog_name" ] || _own=$_own$_name$nl
	done
	answer=$_own
}

# Answers the files, with blanks or commas; nothing without one.
certificate_of() {
	for _name in smtpd_tls_chain_files smtpd_tls_cert_file smtpd_tls_eccert_file; do
		value_for "$1" $_name
		case $answer in
		'' | none) ;;
		*) return ;;
		esac
	done
	answer=
}

# Answers how a service wants TLS: tls, starttls, or nothing.
tls_of() {
	value_for "$1" smtpd_tls_wrappermode
	case $answer in
	yes)
		answer=tls
		return
		;;
	esac
	value_for "$1" smtpd_tls_security_level
	case $answer in
	encrypt) answer=starttls ;;
	*) answer= ;;
	esac
}

# login_lines KIND SERVICE: prints the options, one a line.
login_lines() {
	printf '%s\n' "milter_macro_daemon_name=$login_mark" "smtpd_sasl_path=$login_path"
	case $1 in
	tls) echo smtpd_tls_wrappermode=yes ;;
	starttls | plain) echo smtpd_tls_wrappermode=no ;;
	esac
	case $1 in
	plain)
		certificate_of "$2"
		if [ -n "$answer" ]; then
			echo smtpd_tls_security_level=may
		else
			echo smtpd_tls_security_level=none
		fi
		echo smtpd_tls_auth_only=no
		;;
	*)
		echo smtpd_tls_security_level=encrypt
		echo smtpd_tls_auth_only=yes
		;;
	esac
	printf '%s\n' $login_options "$login_end"
}

# Has $chroot, as the service smtp has it: milters named by host are found there, or not.
login_chroot() {
	read_services
	look_up "$master" smtp/inet/chroot || answer=-
	chroot=$answer
}

login_block() {
	echo "$2 inet n - $chroot - - smtpd"
	printf '  -o %s\n' "syslog_name=$login_syslog_name"
	login_lines "$1" "$2/inet" | sed 's/^/  -o /'
}

is_on_loopback() {
	case $1 in
	127.* | '[::1]:'* | localhost:*) return 0 ;;
	esac
	return 1
}

# Answers where programs log in at a service, as auth.url has it: login_url SERVICE.
login_url() {
	_place=${1%/inet}
	value_of myhostname
	_host=$answer
	! is_on_loopback "$1" || _host=${_place%:*}
	port_number "$_place"
	_port=$answer
	value_for "$1" smtpd_tls_wrappermode
	case $answer in
	yes) answer=smtps://$_host:$_port ;;
	*) answer=smtp://$_host:$_port ;;
	esac
}

# Answers the number of a port that a service or a place names.
port_number() {
	answer=${1##*:}
	case $answer in
	*[!0-9]*) answer=$(getent services "$answer/tcp" |
		awk '{ sub(/\/.*/, "", $2); print $2 }') || true ;;
	esac
}

# Answers whose port it is in master.cf, nothing when nobody has it: login_rival PLACE. Two
# services of one port would end master(8).
login_rival() {
	port_number "$1"
	_wanted=$answer
	read_services
	while read -r _name _; do
		case $_name in
		*/inet) ;;
		*) continue ;;
		esac
		port_number "${_name%/inet}"
		[ "$answer" = "$_wanted" ] || continue
		answer=$_name
		case $_name,$1 in
		*:*,*:*) [ "${_name%:*}" = "${1%:*}" ] || continue ;;
		esac
		return
	done <<-END
		$entries
	END
	answer=
}

# Whether the list, one a line, has the item: has_line LIST ITEM.
has_line() {
	case $nl$1 in
	*"$nl$2$nl"*) ;;
	*) return 1 ;;
	esac
}

# Whether another program than this Postfix listens there. Fails when none does, else
# prints where.
login_port_taken() {
	perl -e '
		my ($place, $queue) = @ARGV;
		my ($host, $port) = $place =~ /^(?:\[?(.*?)\]?:)?(\d+)$/ or exit 1;
		my %master;
		if (open(my $file, "<", "$queue/pid/master.pid")) {
			my ($pid) = (<$file> // "") =~ /(\d+)/;
			/^socket:\[(\d+)\]$/ and $master{$1} = 1
				for map { readlink($_) // "" } glob("/proc/$pid/fd/*");
		}
		for my $table ("/proc/net/tcp", "/proc/net/tcp6") {
			open(my $file, "<", $table) or next;
			while (<$file>) {
				my @column = split;
				my ($hex, $its) = $column[1] =~ /^([0-9A-F]+):([0-9A-F]+)$/ or next;
				next if hex($its) != $port or $column[3] ne "0A" or $master{$column[9]};
				my $address = length($hex) == 8
					? join(".", reverse map { hex } $hex =~ /../g) : "[$hex]";
				next if defined($host) and $address =~ /^\d/ and $address ne "0.0.0.0"
					and $host =~ /^\d/ and $address ne $host;
				print "$address:$port";
				exit 0;
			}
		}
		exit 1' "$1" "$queue"
}

require_login_place() {
	kind=$1 place=$2
	if [ "$kind" = service ]; then
		full_service "$place"
		name=${answer%"$nl"}
		case $name in
		*"$nl"*) name= ;;
		esac
		[ "$name" != "${name%/inet}" ] ||
			die "--smtp-auth: master.cf has no service $place of TCP, or several"
		login_services_of_ours
		! has_line "$answer" "$name" || return 0
		value_for "$name" smtpd_sasl_auth_enable
		if [ "$answer" = yes ]; then
			value_for "$name" smtpd_sasl_type
			type=$answer
			value_for "$name" smtpd_sasl_path
			die "people log in at $name by a SASL server" \
				"($type, $answer), and could not any more:" \
				"keys need a service of their own, as --smtp-auth 2587"
		fi
	else
		login_rival "$place"
		rival=$answer
		if [ -n "$rival" ]; then
			own_login_services
			! has_line "$answer" "$rival" || return 0
			die "master.cf has the service $rival at port ${place##*:} already," \
				"which stays as it is: keys need a port of their own, as" \
				"--smtp-auth 2587; or service:${rival%/inet} when nobody logs in there"
		fi
		! taken=$(login_port_taken "$place") ||
			die "another program listens on $taken: choose another port"
		name=$place/inet
	fi
	certificate_of "$name"
	case $kind,$name in
	plain,* | service,127.* | 'service,[::1]:'* | service,localhost:*) ;;
	*) [ -n "$answer" ] ||
		die "main.cf has no certificate for TLS (smtpd_tls_chain_files), without" \
			"which no program may log in at $place: set it; without TLS a key" \
			"counts on loopback alone, as at 127.0.0.1:587" ;;
	esac
	case $login_path,$chroot in
	/*,y) die "$login_socket (auth.socket) is not in $queue, and the service would run" \
		"in a chroot there" ;;
	esac
}

require_login_places() {
	[ -n "$logins" ] || return 0
	find_login_socket
	login_chroot
	while read -r kind place; do
		[ -z "$kind" ] || require_login_place "$kind" "$place"
	done <<-END
		$logins
	END
}

# Behind the last option that the service has: prints the draft with the lines added,
# add_login_lines SERVICE LINES.
add_login_lines() {
	lines=$2 awk -v wanted="$1" -v newline="$newline" '
	{ lines[NR] = $0 }
	/^[ \t]*(#|$)/ { next }
	!/^[ \t]/ { ours = $1 "/" $2 == wanted }
	ours { last = NR }
	END {
		for (i = 1; i <= NR; i++) {
			printf "%s%s", (i > 1 ? "\n" : ""), lines[i]
			if (i == last)
				printf "\n%s", ENVIRON["lines"]
		}
		if (NR && newline)
			print ""
	}' "$draft"
}

# Answers the name of the service in master.cf that a place means: login_name KIND PLACE.
login_name() {
	if [ "$1" = service ]; then
		full_service "$2"
		answer=${answer%"$nl"}
	else
		login_rival "$2"
		answer=${answer:-$2/inet}
	fi
}

# Puts one into the draft, whose looks are those of before: add_login KIND PLACE NAME.
add_login() {
	last_newline
	if [ "$1" = service ]; then
		kind=$1
		case $3 in
		127.* | '[::1]:'* | localhost:*) kind=plain ;;
		esac
		value_for "$3" smtpd_tls_wrappermode
		[ "$answer" != yes ] || kind=tls
		add_login_lines "$3" "$(login_lines "$kind" "$3" | sed 's/^/  -o /')"
	else
		block=$(login_block "$1" "$2")
		cat "$draft"
		[ -n "$newline" ] || echo
		printf %s "$block"
		[ -z "$newline" ] || echo
	fi >"$draft.new"
	mv "$draft.new" "$draft"
}

# What postconf says of the draft is looked at before and behind all of them, since
# each look takes a while.
add_logins() {
	[ -n "$logins" ] || return 0
	login_chroot
	login_services_of_ours
	had=$answer
	names=
	while read -r kind place; do
		[ -n "$kind" ] || continue
		login_name "$kind" "$place"
		name=$answer
		names=$names$name$nl
		has_line "$had" "$name" || add_login "$kind" "$place" "$name"
	done <<-END
		$logins
	END
	draft_has_changed
	login_services_of_ours
	have=$answer
	for name in $names; do
		has_line "$have" "$name" ||
			die "adding $name to master.cf would have no effect"
		if has_line "$had" "$name"; then
			echo "master.cf: programs log in at $name with an API key."
		else
			echo "master.cf: programs may log in at $name with an API key."
		fi
	done
}

# Prints the draft without what add_logins adds, of services of ours (those in the list) and
# of others.
without_logins() {
	own=$1 awk -v newline="$newline" -v first="$login_mark" \
		-v last="$login_end" '
	BEGIN {
		first = "  -o milter_macro_daemon_name=" first
		last = "  -o " last
		split(ENVIRON["own"], names, "\n")
		for (i in names)
			own[names[i]] = 1
	}
	{ lines[NR] = $0 }
	# Where the block ends that begins in that line; 0 when it is not as it was written.
	function end_of(i) {
		for (; i <= NR && lines[i] ~ /^  -o [a-z_]+=[^ \t]*$/; i++)
			if (lines[i] == last)
				return i
		return 0
	}
	END {
		for (i = 1; i <= NR; i++) {
			said = lines[i] !~ /^[ \t]*(#|$)/
			if (said && lines[i] !~ /^[ \t]/) {
				split(lines[i], words)
				ours = (words[1] "/" words[2]) in own
			}
			if (said && ours)
				continue
			if (lines[i] == first && end_of(i)) {
				i = end_of(i)
				continue
			}
			printf "%s%s", (n++ ? "\n" : ""), lines[i]
		}
		if (n && newline)
			print ""
	}' "$draft"
}

# In the draft of master.cf. What somebody has written otherwise stays, and is named.
take_logins_out() {
	login_services_of_ours
	had=$answer
	[ -n "$had" ] || return 0
	own_login_services
	last_newline
	without_logins "$answer" >"$draft.new"
	renew_draft
	login_services_of_ours
	left=$answer
	for name in $had; do
		if has_line "$left" "$name"; then
			say "$self: " "master.cf: $name asks postern-auth by options that" \
				"enable did not write; they stay, and nobody can log in there" \
				"without postern-auth" >&2
		else
			echo "master.cf: $name takes no logins with an API key any more."
		fi
	done
}

# Answers where a service that names no host listens, for a client on this host: host_of SERVICE.
host_of() {
	_place=${1%/inet}
	answer=${_place%:*}
	[ "$answer" = "$_place" ] || return 0
	items_of inet_interfaces
	answer=${answer%%"$nl"*}
	case $answer in
	'' | all | localhost | loopback-only | \$myhostname) answer=127.0.0.1 ;;
	esac
}

# Has postern-auth greet, with the rights of Postfix's user where it can; fails, and
# prints why.
try_login_socket() {
	value_of mail_owner
	perl -MSocket -e '
		my ($path, $user) = @ARGV;
		if ($> == 0 and my @entry = getpwnam($user)) {
			$) = "$entry[3] $entry[3]";
			$> = $entry[2];
		}
		sub fail { print "@_"; exit 1 }
		my $fd;
		socket($fd, PF_UNIX, SOCK_STREAM, 0) and
			connect($fd, pack_sockaddr_un($path)) or fail("$! (as the user $user)");
		$SIG{ALRM} = sub { fail("it takes connections but does not answer") };
		alarm(10);
		my $said = "";
		while ($said !~ /^DONE$/m) {
			sysread($fd, $said, 4096, length($said)) or fail("it is no postern-auth");
		}
		$said =~ /^VERSION\t1\t/ and $said =~ /^MECH\tPLAIN\t/m or
			fail("it is no postern-auth")' "$login_socket" "$answer"
}

tell_about_logins() {
	[ -n "$logins" ] || return 0
	say "" "Any user name does at a login; the password is an API key. An smtpd that" \
		"starts while postern-auth is away ends at once."
	[ -n "$reload" ] || return 0
	why=$(try_login_socket 2>&1) || say "WARNING: " "postern-auth does not answer on" \
		"$login_socket (${why:-?}): programs cannot log in until it runs" >&2
}

# What the service offers behind TLS, or without: AUTH has to be there.
try_login_service() {
	tls_of "$1"
	tls=$answer
	host_of "$1"
	_host=$answer
	port_number "${1%/inet}"
	if [ -n "$tls" ] && ! command -v openssl >/dev/null; then
		echo "openssl is not installed"
		return 2
	fi
	perl -e "$perl_connect"'
		my ($at, $tls) = @ARGV;
		my ($in, $out, $pid, $reply, $went_on);
		$SIG{ALRM} = sub { kill("KILL", $pid) if $pid; print "no answer in time"; exit 1 };
		$SIG{PIPE} = "IGNORE";
		alarm(20);
		if ($tls) {
			open(STDERR, ">", "/dev/null");
			require IPC::Open2;
			$pid = IPC::Open2::open2($in, $out, "openssl", "s_client", "-quiet", "-connect", $at,
				$tls eq "starttls" ? ("-starttls", "smtp") : ());
		} else {
			$in = $out = connect_to("inet:$at") or print("$!"), exit 1;
		}
		unbuffered($out);
		print $out "EHLO localhost\r\n";
		while (defined($reply = <$in>)) {
			$reply =~ s/\s+$//;
			$offered = 1 if $reply =~ /^250[- ]AUTH .*PLAIN/;
			$went_on = 1 if $reply =~ /^250-/;
			# openssl shows the end of the greeting before TLS.
			last if $reply =~ /^[45]/ or ($went_on and $reply =~ /^250 /);
		}
		print $out "QUIT\r\n";
		kill("TERM", $pid) if $pid;
		exit 0 if $offered;
		print $reply // "the connection was closed";
		exit 1' "$_host:$answer" "$tls"
}

check_certificate() {
	certificate_of "$1"
	if [ -z "$answer" ]; then
		wrong "main.cf has no certificate for TLS (smtpd_tls_chain_files), which" \
			"$1 wants: no program can log in there"
		return
	fi
	IFS=', '
	# shellcheck disable=SC2086 # words
	set -- "$1" $answer
	unset IFS
	name=$1
	shift
	for file; do
		if [ -z "$file" ]; then
			continue
		elif [ ! -e "$file" ]; then
			wrong "the certificate $file, which $name needs for TLS, is missing: no" \
				"program can log in there"
		elif command -v openssl >/dev/null && openssl x509 -noout -in "$file" \
			>/dev/null 2>&1 && ! openssl x509 -checkend 0 -noout -in "$file" \
			>/dev/null; then
			wrong "the certificate $file has expired, which clients of $name" \
				"refuse: renew it, then reload Postfix"
		fi
	done
}

check_login_service() {
	value_for "$1" smtpd_sasl_type
	type=$answer
	value_for "$1" smtpd_sasl_path
	case $answer,$type in
	"$login_path,dovecot" | "$login_socket,dovecot") ;;
	*)
		wrong "master.cf: $1 has -o milter_macro_daemon_name=$login_mark, but its" \
			"logins are those of $answer: who logs in there by the id of a key" \
			"as user name sends as its company. Take that option out"
		return
		;;
	esac
	read_services
	[ "$answer" = "$login_path" ] || ! look_up "$master" "$1/chroot" || [ "$answer" != y ] ||
		wrong "$login_socket is out of reach of $1, which runs in a chroot: let" \
			"smtpd_sasl_path be below $queue"
	for option in $login_options; do
		case $option in
		smtpd_sasl_tls* | smtpd_sasl_exc* | smtpd_sasl_authenticated* | smtpd_data_* | \
			smtpd_end_* | smtpd_milter_maps* | smtpd_proxy_*) continue ;;
		esac
		value_for "$1" "${option%%=*}"
		[ "$answer" = "${option#*=}" ] ||
			warn "master.cf: $1, at which programs log in with an API key, lacks" \
				"-o $option"
	done
	tls_of "$1"
	if [ -n "$answer" ]; then
		check_certificate "$1"
	elif ! is_on_loopback "$1"; then
		value_for "$1" smtpd_tls_auth_only
		[ "$answer" = yes ] ||
			warn "master.cf: $1 lets programs send an API key without TLS:" \
				"-o smtpd_tls_security_level=encrypt"
	fi
}

# Services with our socket that the milter does not know for ours.
check_unmarked_logins() {
	overrides_of smtpd_sasl_path
	while read -r name path; do
		case $path in
		"$login_path" | "$login_socket") ;;
		*) continue ;;
		esac
		value_for "$name" milter_macro_daemon_name
		[ "$answer" = "$login_mark" ] ||
			wrong "master.cf: $name asks postern-auth, but lacks" \
				"-o milter_macro_daemon_name=$login_mark: what programs send" \
				"there is refused"
	done <<-END
		$answer
	END
}

check_logins() {
	find_login_socket
	check_unmarked_logins
	login_services_of_ours
	names=$answer
	[ -n "$names" ] || return 0
	for place in $names; do
		check_login_service "$place"
	done
	[ -n "${postfix_runs:-}" ] || return 0
	if ! why=$(try_login_socket 2>&1); then
		join "$names"
		wrong_for_root "postern-auth does not answer on $login_socket (${why:-?}):" \
			"programs cannot log in at $answer"
		return
	fi
	for place in $names; do
		result=0
		why=$(try_login_service "$place") || result=$?
		case $result in
		0) good "programs can log in at $place with an API key" ;;
		2) unknown "whether programs can log in at $place cannot be tried: $why" ;;
		*) wrong "$place offers no login: ${why:-it gives no answer}; was Postfix" \
			"reloaded since ($(reload_command))?" ;;
		esac
	done
}
