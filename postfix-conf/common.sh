# shellcheck shell=sh
# shellcheck disable=SC2034 # what it sets is for those who source it
# What enable, disable and check share; sourced by them.
#
# Postfix is read through postconf(1). main.cf is changed in place, a few bytes
# at a known spot, because postconf -e would fold values into one line and
# could not be undone exactly:
#
#   smtpd_milters =          becomes   smtpd_milters = { unix:... },
#       inet:localhost:8891                inet:localhost:8891
#
# and where there is no value, a line is added at the end. The same is done to
# transport_maps. disable takes just these bytes out again, whatever else was
# changed meanwhile. All is done on a draft, which postconf has to agree with
# before it becomes main.cf.
#
# master.cf gets a service at its end, with --submission smtp, in the same way.
#
# Most of the time a script takes is that of starting processes, and each $(...) or
# pipe is one. So what a function finds it leaves in $answer ("Answers ..."), where the
# next function puts its own; of several there is one a line, each with a newline at its
# end. Variables that begin with _ are of the function alone, and any function that it
# calls may change them. What postconf says of a view is kept until the view changes.
#
# Sets: config (folder), view (the folder that postconf reads: config or that of
# the drafts), work (a folder for the drafts that goes with the script), values,
# raw, overrides, master and entries (what postconf said of the view; empty: not read),
# main_cf (the file in config), draft (the file in view that is being changed) and
# original (that in config), socket (as in main.cf), socket_path (absolute),
# entry (what stands in the lists of milters), queue, version, uid, reload, submission,
# services (of --service, one a line), returns (domains, one a line), logins
# (see logins.sh); status (of the script).

# A name with * or ? stands for itself; where files are looked for, that is off.
set -f

self=${0##*/}
nl='
'
uid=$(id -u)
default_socket=postern/milter.sock
socket=$default_socket
socket_given=
services=
values=
raw=
overrides=
master=
entries=
known_ways=
config=
own_config=
set_before=
reload=
changed=
submission=
returns=
logins=
status=0

# What has Postfix keep an email whose ticket no milter has exchanged for its
# recipients. A table of regular expressions is asked with whole addresses, and
# so before any other. Before Postfix 3.7 they cannot stand in main.cf: there
# the domain is looked up, which a later table may precede.
wait_result='retry:4.3.5 postern-milter is not in charge'
wait_regexp="regexp:{ {/@postern\\.invalid\$\$/ $wait_result} }"
wait_value="regexp:{ {/@postern\\.invalid\$/ $wait_result} }" # as postconf -x has it
wait_inline="inline:{ {postern.invalid = $wait_result} }"

# The parameters that are looked at, which postconf is asked for at once.
parameters='always_bcc authorized_submit_users body_checks canonical_maps command_directory
compatibility_level content_filter daemon_directory inet_interfaces
enable_original_recipient header_address_token_limit header_checks
header_size_limit hopcount_limit internal_mail_filter_classes mail_owner
mail_version maillog_file masquerade_domains maximal_queue_lifetime
message_size_limit milter_default_action milter_macro_daemon_name milter_protocol mime_header_checks
mydestination myhostname mynetworks myorigin nested_header_checks
non_smtpd_milters postscreen_upstream_proxy_protocol queue_directory
receive_override_options recipient_bcc_maps recipient_canonical_maps
relay_domains relay_recipient_maps relayhost relocated_maps sender_bcc_maps
sender_canonical_maps setgid_group smtpd_command_filter smtpd_milter_maps
smtpd_milters smtpd_sasl_auth_enable smtpd_sasl_path smtpd_sasl_type
smtpd_tls_auth_only smtpd_tls_cert_file smtpd_tls_chain_files
smtpd_tls_eccert_file smtpd_tls_security_level smtpd_tls_wrappermode
smtpd_upstream_proxy_protocol syslog_name transport_maps
virtual_alias_domains virtual_alias_maps virtual_mailbox_domains'

# The service for postern-httpd, and its options. Each is explained in README.md.
# The syslog_name tells it from a service of that name that is somebody else's.
service=postern
service_mark=postfix/postern
service_line='postern   unix  n       -       n       -       256     smtpd'
service_options="
syslog_name=$service_mark
mynetworks=127.0.0.1/32,[::1]/128
smtpd_relay_restrictions=permit_mynetworks,reject
smtpd_client_restrictions=
smtpd_helo_restrictions=
smtpd_sender_restrictions=
smtpd_recipient_restrictions=
smtpd_data_restrictions=
smtpd_end_of_data_restrictions=
smtpd_reject_unlisted_sender=no
smtpd_reject_unlisted_recipient=no
local_header_rewrite_clients=permit_mynetworks
smtpd_command_filter=
smtpd_milter_maps=
smtpd_proxy_filter=
smtpd_upstream_proxy_protocol=
smtpd_tls_security_level=none
smtpd_sasl_auth_enable=no
smtpd_discard_ehlo_keywords=
smtpd_client_connection_count_limit=0
smtpd_client_connection_rate_limit=0
smtpd_client_message_rate_limit=0
smtpd_client_recipient_rate_limit=0
smtpd_recipient_limit=1000
smtpd_error_sleep_time=0
smtpd_timeout=300s
"

# say LABEL TEXT...: a line for people. On a terminal it is broken between words,
# with all of the text to the right of the label.
say() {
	label=$1
	shift
	if [ ! -t 1 ]; then
		echo "$label$*"
		return
	fi
	{ width=$(stty size <&3 2>/dev/null); } 3>&1
	printf '%s\n' "$*" | awk -v label="$label" -v width="${width#* }" '
	BEGIN {
		if (width < 40)
			width = 80
	}
	{
		line = label
		gsub(/./, " ", label)
		for (i = 1; i <= NF; i++) {
			if (i > 1 && length(line $i) > width) {
				sub(/ $/, "", line)
				print line
				line = label
			}
			line = line $i (i < NF ? " " : "")
		}
		print line
	}'
}

die() {
	say "$self: " "$*" >&2
	exit 1
}

wrong_usage() {
	say "$self: " "$*" >&2
	usage >&2
	exit 64
}

# join LINES: answers them in one, for people.
join() {
	IFS=$nl
	# shellcheck disable=SC2086 # lines
	set -- $1
	unset IFS
	answer=$*
}

# Answers the value in the first of the lines NAME = VALUE; fails without one:
# look_up LINES NAME.
look_up() {
	answer=
	case $nl$1 in
	*"$nl$2 ="*) ;;
	*) return 1 ;;
	esac
	IFS=$nl
	for _line in $1; do
		case $_line in
		"$2 ="*)
			answer=${_line#"$2 ="}
			answer=${answer# }
			break
			;;
		esac
	done
	unset IFS
}

# Answers the value of a parameter, as it is in effect; of one that this Postfix does not
# know, none.
value_of() {
	[ -n "$values" ] || read_values
	look_up "$values" "$1" ||
		answer=$(postconf -c "$view" -x -h "$1" 2>/dev/null) || true
}

read_values() {
	# shellcheck disable=SC2086 # words
	values=$(postconf -c "$view" -x $parameters 2>/dev/null)$nl || true
}

make_work() {
	work=$(mktemp -d) || die "cannot make a temporary folder"
	trap 'rm -rf "$work"' EXIT
	trap 'exit 1' HUP INT TERM
}

# Has $own_config: the folder of Postfix's own main.cf.
find_own_config() {
	[ -n "$own_config" ] || own_config=$(postconf -d -h config_directory)
}

is_own_config() {
	find_own_config
	[ "$config" = "$own_config" ]
}

# Answers a list as main.cf has it, with $names; fails without one.
raw_value_of() {
	[ -n "$raw" ] || raw=$(postconf -c "$view" -n 2>/dev/null)$nl || true
	look_up "$raw" "$1"
}

# -c CONFIG_DIR, -s SOCKET, -p POSTERN_CONF, -h and, where $reload_works is set,
# --reload and --service NAME; where $submission_works is, --submission METHOD.
read_options() {
	while [ $# -gt 0 ]; do
		case $1 in
		-c | -s | -p | --submission | --service | --returns | --smtp-auth | --domain | \
			--policy | --name | --user | --to)
			[ $# -ge 2 ] || wrong_usage "$1 needs a value"
			read_value "$1" "$2"
			shift
			;;
		--reload)
			[ -n "${reload_works:-}" ] || wrong_usage "what is $1?"
			reload=yes
			;;
		--dry-run)
			[ -n "${dry_run_works:-}${setup_works:-}" ] ||
				wrong_usage "what is $1?"
			dry_run=yes mode=dry-run
			;;
		--yes)
			[ -n "${setup_works:-}" ] || wrong_usage "what is $1?"
			yes=yes
			;;
		--undo)
			[ -n "${setup_works:-}" ] || wrong_usage "what is $1?"
			mode=undo
			;;
		--rows)
			[ -n "${rows_work:-}" ] || wrong_usage "what is $1?"
			rows=yes
			;;
		-h | --help)
			usage
			exit 0
			;;
		*) wrong_usage "what is $1?" ;;
		esac
		shift
	done
}

read_value() {
	case $1$2 in
	-c*) config=$2 ;;
	-s*) socket=$2 socket_given=yes ;;
	-p*) settings=$2 ;;
	--domain* | --policy* | --name* | --user* | --to*)
		[ -n "${setup_works:-}" ] || wrong_usage "what is $1?"
		case $1 in
		--domain) domain=$2 ;;
		--policy) policy=$2 ;;
		--name) company=$2 ;;
		--user) user=$2 ;;
		--to) to=$2 ;;
		esac
		;;
	--returns*)
		[ -n "${returns_work:-}" ] || wrong_usage "what is $1?"
		case $2 in
		*[!a-z0-9.-]* | .* | -* | *. | '') wrong_usage "--returns: a domain in lower" \
			"case, not $2" ;;
		*.*) returns="$returns$2
" ;;
		*) wrong_usage "--returns: a domain, not $2" ;;
		esac
		;;
	--smtp-auth*)
		[ -n "${logins_work:-}" ] || wrong_usage "what is $1?"
		read_logins "$2"
		;;
	--service*)
		[ -n "${reload_works:-}" ] || wrong_usage "what is $1?"
		services="$services$2
"
		;;
	*)
		[ -n "${submission_works:-}" ] || wrong_usage "what is $1?"
		case $2 in
		sendmail | smtp) submission=$2 ;;
		*) wrong_usage "$1: sendmail or smtp, not $2" ;;
		esac
		;;
	esac
}

# Finds the Postfix that the options mean.
find_postfix() {
	PATH=$PATH:/usr/sbin:/sbin
	command -v postconf >/dev/null || die "postconf is missing: no Postfix?"
	if [ -z "$config" ]; then
		find_own_config
		config=$own_config
	fi
	[ -f "$config/main.cf" ] ||
		die "$config/main.cf is missing: no Postfix is set up there"
	main_cf=$(readlink -f "$config/main.cf")
	make_work
	view=$config
	read_values
	[ "$values" != "$nl" ] ||
		! fault=$(postconf -c "$config" -h queue_directory 2>&1 >/dev/null |
			grep fatal) || die "$fault"
	value_of mail_version
	version=$answer
	case $version in
	2.*) die "Postfix 3.0 or later is needed for settings in braces" ;;
	esac
	value_of queue_directory
	queue=$answer
	name_socket
}

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

# Answers the items of a list as main.cf has it, one a line: separated by commas and
# blanks, but not those within braces.
split_list() {
	answer=
	_item=
	_depth=0
	_rest="$1 "
	while [ -n "$_rest" ]; do
		_text=${_rest%%[{\},[:space:]]*}
		_rest=${_rest#"$_text"}
		_sign=${_rest%"${_rest#?}"}
		_rest=${_rest#?}
		_item=$_item$_text
		case $_depth$_sign in
		*"{") _depth=$((_depth + 1)) ;;
		0"}") ;;
		*"}") _depth=$((_depth - 1)) ;;
		0*)
			answer=$answer${_item:+$_item$nl}
			_item=
			continue
			;;
		esac
		_item=$_item$_sign
	done
	answer=$answer${_item:+${_item% }$nl}
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

# edit_services ACTION SERVICE: the draft of master.cf with the milter put into
# the service's own smtpd_milters, or taken out of all its lists; no service
# means each. ACTION is add or remove. An option is edited where it stands in a
# line, in either form:
#
#   -o smtpd_milters=inet:localhost:1     -o { smtpd_milters = inet:localhost:1 }
edit_services() {
	last_newline
	service_entry=$service_entry awk -v action="$1" -v wanted="$2" \
		-v newline="$newline" -v relative="$socket" \
		-v absolute="unix:$socket_path" '
	function is_ours(item) {
		if (item ~ /^(regexp|pcre|inline):[{].*postern[\\]?[.]invalid/)
			return 1
		gsub(/^[{ \t]+|[ \t}]+$/, "", item)
		sub(/[, \t].*$/, "", item)
		sub(/^local:/, "unix:", item)
		return item == relative || item == absolute
	}
	BEGIN {
		added = ENVIRON["service_entry"] ","
		names = action == "add" ? "smtpd_milters" \
			: "(non_smtpd_milters|smtpd_milters|transport_maps)"
		option = "[ \t{]" names "[ \t]*="
	}
	# The items of a value without ours, and where it ends: past, a global.
	function without(text, braced, i, c, depth, item, kept, dropped) {
		for (i = 1; i <= length(text) + 1; i++) {
			c = substr(text, i, 1)
			past = i
			if (c == "" || (depth == 0 && (c ~ /[, \t]/ || c == "}"))) {
				if (item != "" && is_ours(item))
					dropped = 1
				else if (item != "")
					kept = kept (kept == "" ? "" : braced ? \
						", " : ",") item
				item = ""
				if (c == "" || c == "}" || (!braced && c ~ /[ \t]/))
					break
				continue
			}
			depth += (c == "{") - (c == "}")
			item = item c
		}
		return dropped ? kept : "\n"
	}
	function edited(line, done, at, rest, braced, kept) {
		while (match(line, option)) {
			at = RSTART + RLENGTH
			braced = substr(line, 1, RSTART) ~ /[{][ \t]*$/
			done = done substr(line, 1, at - 1)
			rest = substr(line, at)
			if (action == "add") {
				done = done added
			} else if (index(rest, added) == 1) {
				rest = substr(rest, length(added) + 1)
			} else if ((kept = without(rest, braced)) != "\n") {
				done = done (braced ? " " : "") kept \
					(braced ? " " : "")
				rest = substr(rest, past)
			}
			line = rest
		}
		return done line
	}
	{
		lines[NR] = $0
		if (/^[ \t]*(#|$)/)
			next
		if (!/^[ \t]/)
			current = $1 "/" $2
		if ((wanted == "" || current == wanted) && match($0, option))
			last[++n] = NR
	}
	END {
		# Of several options the last one counts.
		for (i = action == "add" && n > 0 ? n : 1; i <= n; i++)
			lines[last[i]] = edited(lines[last[i]])
		for (i = 1; i <= NR; i++)
			printf "%s%s", (i > 1 ? "\n" : ""), lines[i]
		if (NR && newline)
			print ""
	}' "$draft"
}

# Has $entries, the services of master.cf: NAME/TYPE PROGRAM, one a line; and $master, with
# their chroot, as postconf has it.
read_services() {
	[ -z "$master" ] || return 0
	master=$(postconf -c "$view" -F '*/*/command' '*/*/chroot' 2>/dev/null)$nl || true
	entries=
	IFS=$nl
	for _line in $master; do
		case $_line in
		*/command' = '*)
			_text=${_line#*/command = }
			entries="$entries${_line%%/command = *} ${_text%% *}$nl"
			;;
		esac
	done
	unset IFS
}

# Whether master.cf has it: has_entry NAME/TYPE.
has_entry() {
	read_services
	case $nl$entries in
	*"$nl$1 "*) ;;
	*) return 1 ;;
	esac
}

# Answers the full names, as submission/inet, of a service that was given with --service.
full_service() {
	read_services
	answer=
	while read -r _name _; do
		case $_name in
		"$1" | "$1"/*) answer=$answer$_name$nl ;;
		esac
	done <<-END
		$entries
	END
}

# Has $service_names, one a line: what --service means.
find_services() {
	service_names=
	for given in $services; do
		full_service "$given"
		case $answer in
		'') die "master.cf has no service $given; it has:" \
			"$(printf %s "$entries" | sed -n 's/ .*smtpd.*//p' | paste -s -d ' ' -)" ;;
		*"$nl"?*)
			join "$answer"
			die "master.cf has several services $given: say which, $answer"
			;;
		esac
		service_names=$service_names$answer
	done
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
		case $nl$(postconf -c "$view" -m)$nl in
		*"${nl}regexp$nl"*) answer=$wait_regexp ;;
		esac
		;;
	*) answer=$entry ;;
	esac
}

# first_answer LIST KEY...: answers with the first answer of the tables in the list, asked
# for one key after the other, with the table's name before it: "hash:/x: answer".
# Like Postfix, tables of patterns are asked for the first key only, which is the
# whole; the others are its parts. Without proxymap(8), which may not run.
first_answer() {
	split_list "$1"
	_tables=$answer
	_part=
	shift
	for _key; do
		while IFS= read -r _table; do
			_table=${_table#proxy:}
			case $_part$_table in
			part-regexp:* | part-pcre:* | part-cidr:*) continue ;;
			*:*) ;;
			*) continue ;;
			esac
			answer=$(postmap -c "$view" -q "$_key" "$_table" \
				2>/dev/null) || continue
			answer="$_table: $answer"
			return
		done <<-END
			$_tables
		END
		_part=part-
	done
	answer=
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

# Has $overrides, all settings in master.cf: SERVICE/NAME = VALUE, one a line.
read_overrides() {
	[ -n "$overrides" ] || overrides=$(postconf -c "$view" -x -P 2>/dev/null)$nl || true
}

# Answers the services of master.cf with a setting of their own: SERVICE VALUE, one a line.
overrides_of() {
	read_overrides
	answer=
	IFS=$nl
	for _line in $overrides; do
		case $_line in
		*"/$1 ="*) ;;
		*) continue ;;
		esac
		_text=${_line#*"/$1 ="}
		_line=${_line%%"/$1 ="*}
		case $_line in
		*' '*) ;; # it stands in a value
		*) answer="$answer$_line ${_text# }$nl" ;;
		esac
	done
	unset IFS
}

# Answers a service's own setting, else that of main.cf: value_for SERVICE NAME. No service
# means main.cf.
value_for() {
	read_overrides
	look_up "$overrides" "$1/$2" || value_of "$2"
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

# Whether main.cf, or a service of master.cf, has mail go through a content filter.
has_filter() {
	value_of content_filter
	[ -z "$answer" ] || return 0
	overrides_of content_filter
	while read -r _ _text; do
		[ -z "$_text" ] || return 0
	done <<-END
		$answer
	END
	return 1
}

# Whether main.cf sets the parameter, or did before the draft was changed.
is_set() {
	look_up "$set_before" "$1"
}

# Copies of both files, of which main.cf is to be changed first.
begin_draft() {
	raw_value_of smtpd_milters || true
	set_before=$raw
	view=$work/draft
	mkdir "$view"
	tee "$work/main.cf" <"$main_cf" >"$view/main.cf"
	: >"$work/master.cf"
	[ ! -f "$config/master.cf" ] || cat "$config/master.cf" >"$work/master.cf"
	cat "$work/master.cf" >"$view/master.cf"
	change main.cf
}

# Before anything is said to be done.
require_writable() {
	if [ ! -w "$original" ] || [ ! -w "${original%/*}" ]; then
		[ "$uid" -ne 0 ] || die "$original cannot be changed: is its" \
			"file system read-only?"
		die "$original cannot be changed by $(id -un): run it as root"
	fi
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

# Answers the folders of other instances of Postfix, as the default main.cf names them, one
# a line.
other_instances() {
	answer=
	IFS=", 	$nl"
	for _folder in $(postconf -h multi_instance_directories alternate_config_directories \
		2>/dev/null); do
		[ ! -f "$_folder/main.cf" ] || [ "$_folder" -ef "$config" ] || case $nl$answer in
		*"$nl$_folder$nl"*) ;;
		*) answer=$answer$_folder$nl ;;
		esac
	done
	unset IFS
}

# Says which of the two files is to be changed.
change() {
	draft=$view/$1
	original=$main_cf
	[ "$1" = main.cf ] || original=$(readlink -f "$config/$1")
	age_draft
}

# postconf waits a second or two before it reads a file that is new.
age_draft() {
	touch -t 200001010000 "$draft"
}

# What postconf said of the draft before is forgotten, as far as the file matters to it.
draft_has_changed() {
	age_draft
	overrides=
	case $draft in
	*/master.cf) master= ;;
	*)
		values=
		raw=
		known_ways=
		;;
	esac
}

# Whether master.cf has the service for postern-httpd.
has_service() {
	has_entry "$service/unix"
}

# Whether it is the one that enable adds.
is_our_service() {
	read_overrides
	look_up "$overrides" "$service/unix/syslog_name" && [ "$answer" = "$service_mark" ]
}

# What to say of one that is not.
foreign_service() {
	line=$(awk -v name="$service" '$1 == name && $2 == "unix" {
		print NR
		exit
	}' "$config/master.cf")
	echo "$config/master.cf, line $line: this service $service is not the one" \
		"that enable adds, it lacks -o syslog_name=$service_mark"
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

# Puts what was written to $draft.new in the place of the draft.
renew_draft() {
	if cmp -s "$draft.new" "$draft"; then
		rm "$draft.new"
	else
		mv "$draft.new" "$draft"
		draft_has_changed
	fi
}

# Has $newline: "yes" when the draft ends in one, or is empty.
last_newline() {
	newline=
	[ -n "$(tail -c 1 "$draft")" ] || newline=yes
}

# Puts the draft in the place of its original, if they differ: at once, and with
# the owner and permissions that it has. What somebody else has written since the
# draft was begun is not lost. It is never seen half written, so its date is such that
# no program of Postfix waits for the end of the changes (see age_draft).
use_draft() {
	! cmp -s "$draft" "$original" || return 0
	cmp -s "$work/${draft##*/}" "$original" ||
		die "$original was changed by somebody else meanwhile, and stays" \
			"as it is: run $self again"
	changed=yes
	new=$original.postern-new
	if cp -p "$original" "$new" && cat "$draft" >"$new"; then
		touch -d '-2 seconds' "$new" || true
		mv "$new" "$original" && return
	fi
	rm -f "$new"
	die "cannot write $original"
}

# For perl: connect_to(SERVER) gives a handle for `unix:PATH` or `inet:HOST:PORT`;
# nothing, with $! set, where nobody answers. IO::Socket takes much longer to load
# than all that is said takes.
perl_connect='
	use Socket qw(:DEFAULT getaddrinfo);
	sub unbuffered {
		select((select($_[0]), $| = 1)[0]);
		return $_[0];
	}
	sub connect_to {
		my ($error, @found);
		if ($_[0] =~ /^(?:unix|local):(.*)/) {
			@found = {family => PF_UNIX, addr => pack_sockaddr_un("$1")};
		} elsif ($_[0] =~ /^inet6?:\[?(.*?)\]?:(\w+)$/) {
			($error, @found) = getaddrinfo($1, $2, {socktype => SOCK_STREAM});
		}
		for (@found) {
			my $peer;
			socket($peer, $_->{family}, SOCK_STREAM, 0) and
				connect($peer, $_->{addr}) and return unbuffered($peer);
		}
		return;
	}
'

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

# The command, for people; the folder is only named where Postfix needs it.
reload_command() {
	if is_own_config; then
		echo "postfix reload"
	else
		echo "postfix -c $config reload"
	fi
}

# True if Postfix stands still in its own log. With maillog_file each of its processes
# writes to a socket that postlogd(8) reads, and waits while that is full. If master(8)
# waits there before it has started postlogd again, it waits for ever, and so does each
# command that logs: postfix(1), sendmail(1).
log_is_stuck() {
	value_of maillog_file
	[ -n "$answer" ] && [ -S "$queue/public/postlog" ] || return 1
	perl -MSocket -e '
		my ($log, $writable) = (undef, "");
		socket($log, PF_UNIX, SOCK_DGRAM, 0) and
			connect($log, pack_sockaddr_un($ARGV[0])) or exit 1;
		vec($writable, fileno($log), 1) = 1;
		exit(select(undef, $writable, undef, 5) != 0)' "$queue/public/postlog"
}

# How to start it again: `postfix stop` would wait, too.
restart_stuck() {
	echo "kill \$(cat $queue/pid/master.pid), and a few seconds later:" \
		"postfix -c $config start"
}

is_postfix_running() {
	! log_is_stuck && is_master_running
}

# As `postfix status`, which starts five more programs and writes into the log.
is_master_running() {
	[ -w "$queue/pid/master.pid" ] || return 1
	value_of daemon_directory
	! MAIL_CONFIG=$config "$answer/master" -t >/dev/null 2>&1
}

tell_about_reload() {
	if [ -z "$reload$changed" ]; then
		echo "Postfix's files are as they were."
	elif [ -z "$reload" ]; then
		say "" "To put it in effect: $(reload_command); and reload" \
			"postern-httpd if it runs."
	elif log_is_stuck; then
		echo "Postfix stands still in its log, and will find this when it is" \
			"started again: $(restart_stuck)"
	elif is_master_running; then
		postfix -c "$config" reload
	else
		echo "Postfix is not running; it will find this when it starts."
	fi
}
