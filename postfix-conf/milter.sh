# shellcheck shell=sh
# shellcheck disable=SC2034,SC2154 # what it sets is for those who source it; postfix.sh sets the rest
# Our milter in a Postfix: the lists in which it stands, and what becomes of mail while it is away;
# sourced by common.sh.
#
# Sets: socket (as in main.cf), socket_path (absolute), entry (what stands in the lists of milters)
# and service_entry (the same in master.cf).

known_ways=

# What has Postfix keep an email whose ticket no milter has exchanged for its
# recipients. A table of regular expressions is asked with whole addresses, and
# so before any other. Before Postfix 3.7 they cannot stand in main.cf: there
# the domain is looked up, which a later table may precede.
wait_result='retry:4.3.5 postern-milter is not in charge'
wait_regexp="regexp:{ {/@postern\\.invalid\$\$/ $wait_result} }"
wait_value="regexp:{ {/@postern\\.invalid\$/ $wait_result} }" # as postconf -x has it
wait_inline="inline:{ {postern.invalid = $wait_result} }"

# A socket below the queue folder is named relative to it: that is right for
# daemons in a chroot and for others.
name_socket() {
	socket=${socket#unix:}
	socket=${socket#"$queue"/}
	case $socket in
	*[[:space:]]* | *[,{}\$]*) wrong_usage "-s: not a path for main.cf: $socket" ;;
	/*) socket_path=$socket ;;
	?*) socket_path=$queue/$socket ;;
	*) wrong_usage "-s: which socket?" ;;
	esac
	socket=unix:$socket
	entry="{ $socket, default_action=tempfail }"
	# An option of master.cf has no blanks, unless it is in braces itself.
	service_entry="{$socket,default_action=tempfail}"
}

# Answers what an item of a list of milters names, as unix:a.sock.
address_of() {
	answer=${1#"${1%%[!{[:blank:]]*}"}
	answer=${answer%%[\},[:blank:]]*}
}

# Whether the item of a list is ours; edit_services does the same in awk.
is_ours() {
	case $1 in
	"regexp:{"* | "pcre:{"* | "inline:{"*)
		case $1 in
		*postern.invalid* | *'postern\.invalid'*) return 0 ;;
		esac
		;;
	esac
	address_of "$1"
	case $answer in
	"$socket" | "local:${socket#unix:}" | "unix:$socket_path" | "local:$socket_path") ;;
	*) return 1 ;;
	esac
}

# Answers our entries in a list. Ours are milters at our socket, by its relative or its
# absolute name, and tables in main.cf about the domain of tickets.
ours_in() {
	answer=
	case $1 in
	*"${socket#unix:}"* | *postern*invalid*) split_list "$1" ;;
	esac
	_items=$answer
	_ours=
	IFS=$nl
	for _item in $_items; do
		! is_ours "$_item" || _ours=$_ours$_item$nl
	done
	unset IFS
	answer=$_ours
}

is_listed() {
	value_of "$1"
	ours_in "$answer"
	[ -n "$answer" ]
}

# Answers all lists in which there is something of ours; of those of milters the one that
# the other refers to comes first.
lists() {
	raw_value_of smtpd_milters || true
	case $answer in
	*non_smtpd_milters*) answer="non_smtpd_milters smtpd_milters transport_maps" ;;
	*) answer="smtpd_milters non_smtpd_milters transport_maps" ;;
	esac
}

# Answers what enable writes into the list.
entry_for() {
	case $1/$version in
	transport_maps/3.[0-6] | transport_maps/3.[0-6][!0-9]*) answer=$wait_inline ;;
	transport_maps/*)
		answer=$wait_inline
		case $nl$(postconf -c "$config" -m)$nl in
		*"${nl}regexp$nl"*) answer=$wait_regexp ;;
		esac
		;;
	*) answer=$entry ;;
	esac
}

# Answers what names the milter or the domain of tickets in the view, one on a line: FILE:
# NAME = VALUE. Tables of smtpd_milter_maps are read as they stand.
find_us() {
	read_overrides
	found=
	find_us_in main.cf "$(postconf -c "$view" -x -n 2>/dev/null)"
	find_us_in master.cf "$overrides"
	value_of smtpd_milter_maps
	split_list "$answer"
	while IFS= read -r _table; do
		_table=${_table#proxy:}
		case $_table in
		*:/*) find_us_in "smtpd_milter_maps: ${_table#*:}" \
			"$(grep -v '^[[:space:]]*#' "${_table#*:}" 2>/dev/null)" ;;
		esac
	done <<-END
		$answer
	END
	answer=$found
}

# Adds to $found those of the lines that name the milter or the domain of tickets:
# find_us_in LABEL LINES.
find_us_in() {
	IFS=$nl
	for _line in $2; do
		case $_line in
		*"$socket_path"* | *"${socket#unix:}"* | *postern.invalid* | \
			*'postern\.invalid'*) found="$found$1: $_line$nl" ;;
		esac
	done
	unset IFS
}

# Answers the default_action in an item of a list of milters; nothing without one.
action_of() {
	answer=
	case $1 in
	*default_action*) ;;
	*) return 0 ;;
	esac
	_text=${1##*default_action}
	_text=${_text#"${_text%%[![:blank:]]*}"}
	case $_text in
	=*) ;;
	*) return 0 ;;
	esac
	_text=${_text#=}
	_text=${_text#"${_text%%[![:blank:]]*}"}
	answer=${_text%%[[:blank:],\}]*}
}

# Answers what Postfix does with mail while the milter in the list is away; nothing where
# the list lacks it: default_action_for SERVICE LIST. The worst, of several.
default_action_for() {
	value_for "$1" "$2"
	ours_in "$answer"
	_ours=$answer _worst=
	value_for "$1" milter_default_action
	_otherwise=$answer
	IFS=$nl
	for _item in $_ours; do
		action_of "$_item"
		case $_worst in
		'' | tempfail) _worst=${answer:-$_otherwise} ;;
		esac
	done
	unset IFS
	answer=$_worst
}

# Answers the lists in which the milter stands so that mail would not wait while it is away,
# one on a line: SERVICE LIST: default_action.
not_waiting() {
	overrides_of smtpd_milters
	_places=$answer
	overrides_of non_smtpd_milters
	_places=$_places$answer
	overrides_of milter_default_action
	_places=$nl$_places$answer
	_seen=
	_found=
	while read -r _at _; do
		case $_seen in
		*"$nl$_at$nl"*) continue ;;
		esac
		_seen=$_seen$nl$_at$nl
		for _name in smtpd_milters non_smtpd_milters; do
			default_action_for "$_at" $_name
			case $answer in
			tempfail | '') ;;
			*) _found="$_found${_at:+master.cf: $_at: }$_name: default_action is \
$answer for $socket$nl" ;;
			esac
		done
	done <<-END
		$_places
	END
	answer=$_found
}

# Answers what would become of an email when the milter is not asked, one line for each
# parameter because of which it would not wait. Nothing when all is well.
ways_out() {
	[ -n "$known_ways" ] || find_ways_out
	answer=${known_ways#known}
}

find_ways_out() {
	_ways=
	_address=0123456789abcdef0123456789abcdef@postern.invalid
	for _name in canonical_maps recipient_canonical_maps virtual_alias_maps \
		relocated_maps; do
		value_of $_name
		first_answer "$answer" $_address @postern.invalid
		case $answer in
		'' | *": $_address") ;;
		*) _ways="$_ways$_name takes tickets, which are addresses in the domain \
postern.invalid: $answer$nl" ;;
		esac
	done
	_command="RCPT TO:<$_address>"
	value_of smtpd_command_filter
	first_answer "$answer" "$_command"
	case $answer in
	'' | *": $_command") ;;
	*) _ways="${_ways}smtpd_command_filter changes what postern-httpd says to \
sendmail -bs, $_command: $answer$nl" ;;
	esac
	value_of virtual_alias_domains
	first_answer "$answer" postern.invalid
	[ -z "$answer" ] || _ways="${_ways}virtual_alias_domains takes the domain of \
tickets, postern.invalid: $answer$nl"
	value_of transport_maps
	first_answer "$answer" $_address postern.invalid .invalid invalid '*'
	case $answer in
	*": retry:"*) ;;
	*)
		_ways="${_ways}transport_maps does not have mail to postern.invalid wait: \
${answer:-no table has it}$nl"
		! _fault=$(postmap -c "$view" -q x 'inline:{x=y}' 2>&1 | grep fatal) ||
			_ways="cannot ask the tables: $_fault$nl"
		;;
	esac
	known_ways=known$_ways
}

# Whether the service, as 127.0.0.1:10026/inet, takes mail back from a content filter: it
# listens on loopback, not on a port to which others submit, and there is a filter. Such
# mail has been judged, and its ticket is gone, so it asks no milter.
is_way_back() {
	has_filter || return 1
	case $1 in
	127.*:25/* | 127.*:smtp/* | 127.*:587/* | 127.*:465/* | 127.*:submission*/* | \
		localhost:25/* | localhost:smtp/* | localhost:587/* | localhost:465/* | \
		localhost:submission*/* | *]:25/* | *]:smtp/* | *]:587/* | *]:465/* | \
		*]:submission*/*) return 1 ;;
	127.*:*/inet | localhost:*/inet | '[::1]:'*/inet) ;;
	*) return 1 ;;
	esac
	value_for "$1" receive_override_options
	case $answer in
	*no_milters*) return 0 ;;
	esac
	look_up "$overrides" "$1/smtpd_milters" && [ -z "$answer" ]
}

# Services that ask the milter from a chroot, which have the queue folder alone: answers them
# with commas.
services_in_chroot() {
	value_of compatibility_level
	_chroot=y
	[ "$answer" != 0 ] || _chroot='[-y]'
	read_services
	_found=
	while read -r _name _program; do
		case $_program in
		smtpd* | cleanup*) ;;
		*) continue ;;
		esac
		look_up "$master" "$_name/chroot" || continue
		# shellcheck disable=SC2254 # a pattern
		case $answer in
		$_chroot) _found="$_found${_found:+, }$_name" ;;
		esac
	done <<-END
		$entries
	END
	answer=$_found
}

# Fails when all can reach the socket; else answers what to say about it.
out_of_reach() {
	case $socket_path in
	"$queue"/*) return 1 ;;
	esac
	services_in_chroot
	[ -n "$answer" ] || return 1
	answer="$socket_path is not in $queue, and these services run in a chroot \
there: $answer; they cannot reach it, so mail waits for good. Have \
the socket below $queue, or set the services' chroot to n in \
master.cf"
}

# Greets the milter as Postfix does, with the rights of Postfix's user when it can,
# and prints its process and user. Else fails, and prints why. A process that was
# stopped (SIGSTOP) or hangs goes on taking connections, but answers nothing: one
# that was stopped is not waited for.
try_socket() {
	value_of mail_owner
	perl -MSocket -e '
		my ($path, $user) = @ARGV;
		if ($> == 0 and my @entry = getpwnam($user)) {
			$) = "$entry[3] $entry[3]";
			$> = $entry[2];
		}
		sub fail { print "@_"; exit 1 }
		my ($fd, $answer);
		socket($fd, PF_UNIX, SOCK_STREAM, 0) and
			connect($fd, pack_sockaddr_un($path)) or
			fail("$! (as the user $user)");
		my $credentials = getsockopt($fd, SOL_SOCKET, SO_PEERCRED);
		my ($pid, $uid) = unpack("iI", $credentials);
		my $seconds = 10;
		$SIG{ALRM} = sub {
			open(my $file, "<", "/proc/$pid/stat");
			my ($state) = <$file> =~ /\) (.)/;
			my $stopped = $state =~ /[tT]/;
			fail("process $pid takes connections but does not",
				"answer:", $stopped
				? "it was stopped, kill -CONT $pid lets it go on"
				: "it hangs") if $stopped or --$seconds <= 0;
			alarm(1);
		};
		$SIG{PIPE} = "IGNORE";
		alarm(1);
		# Version 6, and all that Postfix offers.
		syswrite($fd, pack("N a N3", 13, "O", 6, 0x1ff, 0x1fffff));
		sysread($fd, $answer, 5) == 5 and substr($answer, 4) eq "O" or
			fail("process $pid is no milter");
		syswrite($fd, pack("N a", 1, "Q"));
		print "$pid $uid"' "$socket_path" "$answer"
}
