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
# Most of the time a script takes is that of starting processes, and postconf
# takes the most of them. What it says of a view is kept in files until the view
# changes, and until the first change also in variables, since the shell reads a
# file one byte at a time.
#
# Sets: config (folder), view (the folder that postconf reads: config or that of
# the drafts), work (a folder that goes with the script: the drafts, and what
# postconf said), values and overrides (what it said of the first view), main_cf
# (the file in config), draft (the file in view that is being changed) and
# original (that in config), socket (as in main.cf), socket_path (absolute),
# entry (what stands in the lists of milters), queue, reload, submission,
# services (of master.cf, one a line), returns (domains, one a line), logins
# (see logins.sh); status (of the script).

self=${0##*/}
default_socket=postern/milter.sock
socket=$default_socket
socket_given=
services=
values=
overrides=
config=
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
message_size_limit milter_default_action milter_protocol mime_header_checks
mydestination myhostname mynetworks myorigin nested_header_checks
non_smtpd_milters postscreen_upstream_proxy_protocol queue_directory
receive_override_options recipient_bcc_maps recipient_canonical_maps
relay_domains relay_recipient_maps relocated_maps sender_bcc_maps
sender_canonical_maps setgid_group smtpd_command_filter smtpd_milter_maps
smtpd_milters smtpd_sasl_auth_enable smtpd_sasl_path smtpd_sasl_type
smtpd_tls_auth_only smtpd_tls_cert_file smtpd_tls_chain_files
smtpd_tls_eccert_file smtpd_tls_security_level smtpd_tls_wrappermode
smtpd_upstream_proxy_protocol syslog_name transport_maps
virtual_alias_domains virtual_alias_maps'

# Lists in which the milter, or its domain, may stand.
list_names='smtpd_milters non_smtpd_milters transport_maps'

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

# each_line LINES COMMAND ARGUMENT: runs the command with the argument and each line, until one
# succeeds; fails if none does.
each_line() {
	set -f
	IFS='
'
	# shellcheck disable=SC2086 # lines
	set -- "$2" "$3" $1
	unset IFS
	set +f
	line_command=$1
	line_argument=$2
	shift 2
	for line; do
		! "$line_command" "$line_argument" "$line" || return 0
	done
	return 1
}

# print_value NAME LINE: the value, if the line is NAME = VALUE; else fails.
print_value() {
	case $2 in
	"$1 ="*) ;;
	*) return 1 ;;
	esac
	line_value=${2#"$1 ="}
	printf '%s\n' "${line_value# }"
}

# look_up FILE NAME: the value in the first line NAME = VALUE of what postconf said; fails without
# one.
look_up() {
	lines=
	[ ! -e "$work/unchanged" ] || case $1 in
	"$work/values") lines=$values ;;
	"$work/overrides") lines=$overrides ;;
	esac
	if [ -n "$lines" ]; then
		each_line "$lines" print_value "$2"
		return
	fi
	while IFS= read -r line; do
		! print_value "$2" "$line" || return 0
	done <"$1"
	return 1
}

# The value of a parameter, as it is in effect.
value_of() {
	[ -f "$work/values" ] || read_values
	look_up "$work/values" "$1" ||
		postconf -c "$view" -x -h "$1" 2>/dev/null ||
		[ -s "$work/values" ] # this Postfix does not know it
}

read_values() {
	# shellcheck disable=SC2086 # words
	values=$(postconf -c "$view" -x $parameters 2>/dev/null) || values=
	printf '%s' "${values:+$values
}" >"$work/values"
}

make_work() {
	work=$(mktemp -d) || die "cannot make a temporary folder"
	: >"$work/unchanged" # the view, so that the variables hold
	trap 'rm -rf "$work"' EXIT
	trap 'exit 1' HUP INT TERM
}

# A list as main.cf has it, with $names; fails without one.
raw_value_of() {
	[ -f "$work/raw" ] || postconf -c "$view" -n >"$work/raw" 2>/dev/null || true
	look_up "$work/raw" "$1"
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
	[ -n "$config" ] || config=$(postconf -d -h config_directory)
	[ -f "$config/main.cf" ] ||
		die "$config/main.cf is missing: no Postfix is set up there"
	main_cf=$(readlink -f "$config/main.cf")
	make_work
	view=$config
	read_values
	[ -s "$work/values" ] ||
		! fault=$(postconf -c "$config" -h queue_directory 2>&1 >/dev/null |
			grep fatal) || die "$fault"
	case $(value_of mail_version) in
	2.*) die "Postfix 3.0 or later is needed for settings in braces" ;;
	esac
	queue=$(value_of queue_directory)
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

# One item a line, out of a list as main.cf has it: separated by commas and
# blanks, but not those within braces.
split_list() {
	IFS= read -r list || return 0
	case $list in
	"$entry") printf '%s\n' "$list" ;;
	*[,{[:space:]]*) printf '%s\n' "$list" | list_items '' ;;
	?*) printf '%s\n' "$list" ;;
	esac
}

# Our entries in a list; nothing when it has none. Ours are milters at our socket,
# by its relative or its absolute name, and tables in main.cf about the domain of
# tickets.
ours_in() {
	case $1 in
	"$entry" | "$wait_value") # alone, as is usual
		printf '%s\n' "$1"
		return
		;;
	*"${socket#unix:}"* | *postern*invalid*) ;;
	*) return 0 ;;
	esac
	printf '%s\n' "$1" | list_items yes
}

# What an item of a list is to us, for awk with relative and absolute set.
awk_is_ours='
	function is_ours(item) {
		if (item ~ /^(regexp|pcre|inline):[{].*postern[\\]?[.]invalid/)
			return 1
		gsub(/^[{ \t]+|[ \t}]+$/, "", item)
		sub(/[, \t].*$/, "", item)
		sub(/^local:/, "unix:", item)
		return item == relative || item == absolute
	}
'

# list_items OURS: those items on standard input, or all.
list_items() {
	awk -v only_ours="$1" -v relative="$socket" \
		-v absolute="unix:$socket_path" "$awk_is_ours"'
	function put(item) {
		if (item != "" && (!only_ours || is_ours(item)))
			print item
	}
	{
		item = ""
		depth = 0
		for (i = 1; i <= length($0); i++) {
			c = substr($0, i, 1)
			if (c == "{")
				depth++
			if (depth == 0 && c ~ /[, \t]/) {
				put(item)
				item = ""
				continue
			}
			item = item c
			if (c == "}" && depth > 0)
				depth--
		}
		put(item)
	}'
}

# edit_services ACTION SERVICE: the draft of master.cf with the milter put into
# the service's own smtpd_milters, or taken out of all its lists; no service
# means each. ACTION is add or remove. An option is edited where it stands in a
# line, in either form:
#
#   -o smtpd_milters=inet:localhost:1     -o { smtpd_milters = inet:localhost:1 }
edit_services() {
	service_entry=$service_entry awk -v action="$1" -v wanted="$2" \
		-v newline="$(last_newline)" -v relative="$socket" \
		-v absolute="unix:$socket_path" "$awk_is_ours"'
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

# The services of master.cf, one a line, with their options in the lines behind.
master_services() {
	read_services
	cat "$work/services"
}

read_services() {
	[ -f "$work/services" ] ||
		postconf -c "$view" -M >"$work/services" 2>/dev/null || true
}

# Whether master.cf has it: has_entry NAME TYPE.
has_entry() {
	read_services
	while read -r entry_name entry_type _; do
		[ "$entry_name/$entry_type" != "$1/$2" ] || return 0
	done <"$work/services"
	return 1
}

# The full name, as submission/inet, of a service that was given with --service.
full_service() {
	master_services | awk -v name="$1" '
	name == $1 || name == $1 "/" $2 { print $1 "/" $2 }'
}

# Has $service_names, one a line: what --service means.
find_services() {
	service_names=
	for given in $services; do
		found=$(full_service "$given")
		case $(printf '%s' "$found" | grep -c .) in
		0) die "master.cf has no service $given; it has:" \
			"$(master_services |
				awk '$NF != "" && /smtpd/ { print $1 "/" $2 }' |
				paste -s -d ' ' -)" ;;
		1) ;;
		*) die "master.cf has several services $given: say which," \
			"$(echo "$found" | paste -s -d ' ' -)" ;;
		esac
		service_names="$service_names$found
"
	done
}

is_listed() {
	[ -n "$(ours_in "$(value_of "$1")")" ]
}

# All lists in which there is something of ours; of those of milters the one that
# the other refers to comes first.
lists() {
	case $(raw_value_of smtpd_milters) in
	*non_smtpd_milters*) echo "non_smtpd_milters smtpd_milters" ;;
	*) echo "smtpd_milters non_smtpd_milters" ;;
	esac
	echo transport_maps
}

# What enable writes into the list.
entry_for() {
	case $1/$(value_of mail_version) in
	transport_maps/3.[0-6] | transport_maps/3.[0-6][!0-9]*)
		printf '%s\n' "$wait_inline"
		;;
	transport_maps/*)
		if postconf -c "$view" -m | grep -qx regexp; then
			printf '%s\n' "$wait_regexp"
		else
			printf '%s\n' "$wait_inline"
		fi
		;;
	*) printf '%s\n' "$entry" ;;
	esac
}

# first_answer LIST KEY...: the first answer of the tables in the list, asked for
# one key after the other, with the table's name before it: "hash:/x: answer".
# Like Postfix, tables of patterns are asked for the first key only, which is the
# whole; the others are its parts. Without proxymap(8), which may not run.
first_answer() {
	[ -n "$1" ] || return 0
	tables=$(printf '%s\n' "$1" | split_list)
	part=
	shift
	for key; do
		while IFS= read -r table; do
			table=${table#proxy:}
			case $part$table in
			part-regexp:* | part-pcre:* | part-cidr:*) continue ;;
			*:*) ;;
			*) continue ;;
			esac
			answer=$(postmap -c "$view" -q "$key" "$table" \
				2>/dev/null) || continue
			printf '%s: %s\n' "$table" "$answer"
			return
		done <<-END
			$tables
		END
		part=part-
	done
}

# What would become of an email when the milter is not asked, one line for each
# parameter because of which it would not wait. Nothing when all is well.
ways_out() {
	[ -f "$work/ways_out" ] || find_ways_out >"$work/ways_out"
	cat "$work/ways_out"
}

find_ways_out() {
	address=0123456789abcdef0123456789abcdef@postern.invalid
	if fault=$(postmap -c "$view" -q x 'inline:{x=y}' 2>&1 | grep fatal); then
		echo "cannot ask the tables: $fault"
		return
	fi
	for name in canonical_maps recipient_canonical_maps virtual_alias_maps \
		relocated_maps; do
		taken=$(first_answer "$(value_of $name)" $address @postern.invalid)
		case $taken in
		'' | *": $address") ;;
		*) echo "$name takes tickets, which are addresses in the domain" \
			"postern.invalid: $taken" ;;
		esac
	done
	command="RCPT TO:<$address>"
	taken=$(first_answer "$(value_of smtpd_command_filter)" "$command")
	case $taken in
	'' | *": $command") ;;
	*) echo "smtpd_command_filter changes what postern-httpd says to" \
		"sendmail -bs, $command: $taken" ;;
	esac
	taken=$(first_answer "$(value_of virtual_alias_domains)" postern.invalid)
	[ -z "$taken" ] || echo "virtual_alias_domains takes the domain of" \
		"tickets, postern.invalid: $taken"
	taken=$(first_answer "$(value_of transport_maps)" $address \
		postern.invalid .invalid invalid '*')
	case $taken in
	*": retry:"*) ;;
	*) echo "transport_maps does not have mail to postern.invalid wait:" \
		"${taken:-no table has it}" ;;
	esac
}

# Makes the file of all settings in master.cf: SERVICE/NAME = VALUE.
read_overrides() {
	[ ! -f "$work/overrides" ] || return 0
	overrides=$(postconf -c "$view" -x -P 2>/dev/null) || overrides=
	printf '%s' "${overrides:+$overrides
}" >"$work/overrides"
}

# print_override NAME LINE: SERVICE VALUE, if the line is SERVICE/NAME = VALUE. Fails.
print_override() {
	case $2 in
	*"/$1 ="*) ;;
	*) return 1 ;;
	esac
	line_value=${2#*"/$1 ="}
	case ${2%%"/$1 ="*} in
	*' '*) ;; # it stands in a value
	*) printf '%s %s\n' "${2%%"/$1 ="*}" "${line_value# }" ;;
	esac
	return 1
}

# Services of master.cf with a setting of their own: SERVICE VALUE.
overrides_of() {
	read_overrides
	if [ -n "$overrides" ] && [ -e "$work/unchanged" ]; then
		each_line "$overrides" print_override "$1" || true
	else
		sed -n "s|^\([^ ]*\)/$1 = *|\1 |p" "$work/overrides"
	fi
}

# value_for SERVICE NAME: its own setting, else that of main.cf. No service means
# main.cf.
value_for() {
	look_up "$work/overrides" "$1/$2" || value_of "$2"
}

# What Postfix does with mail while the milter in the list is away; nothing where
# the list lacks it: default_action_for SERVICE LIST. The worst, of several.
default_action_for() {
	ours_in "$(value_for "$1" "$2")" |
		awk -v otherwise="$(value_for "$1" milter_default_action)" '
		{
			action = ""
			if (match($0, /.*default_action[ \t]*=[ \t]*/))
				action = substr($0, RLENGTH + 1)
			sub(/[ \t,}].*/, "", action)
			if (action == "")
				action = otherwise
		}
		!worst || worst == "tempfail" { worst = action }
		END { print worst }'
}

# Lists in which the milter stands so that mail would not wait while it is away,
# one on a line: SERVICE LIST: default_action.
not_waiting() {
	read_overrides
	{
		echo
		sed -nE 's,/((non_)?smtpd_milters|milter_default_action) =.*,,p' \
			"$work/overrides" | sort -u
	} | while IFS= read -r at; do
		for name in smtpd_milters non_smtpd_milters; do
			action=$(default_action_for "$at" $name)
			case $action in
			tempfail | '') ;;
			*) echo "${at:+master.cf: $at: }$name: default_action is" \
				"$action for $socket" ;;
			esac
		done
	done
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
	case $(value_for "$1" receive_override_options) in
	*no_milters*) return 0 ;;
	esac
	read_overrides
	grep -q "^$1/smtpd_milters = *$" "$work/overrides"
}

# Whether main.cf, or a service of master.cf, has mail go through a content filter.
has_filter() {
	[ -z "$(value_of content_filter)" ] || return 0
	[ -n "$(overrides_of content_filter | sed -n 's/^[^ ]* *[^ ].*/yes/p')" ]
}

# Whether main.cf sets the parameter, or did before the draft was changed.
is_set() {
	look_up "$work/set" "$1" >/dev/null
}

# Copies of both files, of which main.cf is to be changed first.
begin_draft() {
	view=$work/draft
	mkdir "$view"
	: >"$view/master.cf"
	[ ! -f "$config/master.cf" ] ||
		cat "$config/master.cf" >"$view/master.cf"
	cat "$main_cf" >"$view/main.cf"
	cp "$view/main.cf" "$work/main.cf"
	cp "$view/master.cf" "$work/master.cf"
	postconf -c "$config" -n 2>/dev/null | tee "$work/set" >"$work/raw"
	change main.cf
}

# Before anything is said to be done.
require_writable() {
	if [ ! -w "$original" ] || [ ! -w "${original%/*}" ]; then
		[ "$(id -u)" -ne 0 ] || die "$original cannot be changed: is its" \
			"file system read-only?"
		die "$original cannot be changed by $(id -un): run it as root"
	fi
}

# What names the milter or the domain of tickets in the view, one on a line: FILE:
# NAME = VALUE. Tables of smtpd_milter_maps are read as they stand.
names_us() {
	read_overrides
	postconf -c "$view" -x -n 2>/dev/null | sed 's/^/main.cf: /'
	sed 's/^/master.cf: /' "$work/overrides"
	value_of smtpd_milter_maps | split_list | while IFS= read -r table; do
		table=${table#proxy:}
		case $table in
		*:/*) [ ! -r "${table#*:}" ] || sed -n \
			"/^[[:space:]]*#/!s|^|smtpd_milter_maps: ${table#*:}: |p" \
			"${table#*:}" ;;
		esac
	done
}
find_us() {
	names_us | grep -F -e "$socket_path" -e "${socket#unix:}" \
		-e postern.invalid -e 'postern\.invalid' || true
}

# Folders of other instances of Postfix, as the default main.cf names them.
other_instances() {
	postconf -h multi_instance_directories alternate_config_directories 2>/dev/null |
		tr ', \t' '[\n*]' | sed '/^$/d' | sort -u | while IFS= read -r other; do
		[ ! -f "$other/main.cf" ] ||
			[ "$(readlink -f "$other")" = "$(readlink -f "$config")" ] ||
			echo "$other"
	done
}

# Says which of the two files is to be changed.
change() {
	draft=$view/$1
	original=$(readlink -f "$config/$1")
	age_draft
}

# postconf waits a second or two before it reads a file that is new.
age_draft() {
	touch -t 200001010000 "$draft"
}

# What postconf said of the draft before is forgotten.
draft_has_changed() {
	age_draft
	rm -f "$work/values" "$work/raw" "$work/overrides" "$work/options" "$work/services" \
		"$work/ways_out" "$work/unchanged"
}

# Puts what comes on standard input into the draft.
rewrite_draft() {
	cat >"$draft.new"
	if cmp -s "$draft.new" "$draft"; then
		rm "$draft.new"
	else
		mv "$draft.new" "$draft"
		draft_has_changed
	fi
}

# Whether master.cf has the service for postern-httpd.
has_service() {
	has_entry "$service" unix
}

# What it sets an option to.
service_option() {
	[ -f "$work/options" ] ||
		postconf -c "$view" -P "$service/unix/*" >"$work/options" \
			2>/dev/null || true
	look_up "$work/options" "$service/unix/$1" || true
}

# Whether it is the one that enable adds.
is_our_service() {
	[ "$(service_option syslog_name)" = "$service_mark" ]
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

# Services that ask the milter from a chroot, which have the queue folder alone.
services_in_chroot() {
	chroot=y
	[ "$(value_of compatibility_level)" != 0 ] || chroot='[-y]'
	postconf -c "$config" -F '*/*/chroot' 2>/dev/null |
		sed -n "s|/chroot = $chroot\$||p" | while read -r name; do
		case $(postconf -c "$config" -F "$name/command" 2>/dev/null) in
		*" = smtpd"* | *" = cleanup"*) echo "$name" ;;
		esac
	done | paste -s -d , - | sed 's/,/, /g'
}

# Fails when all can reach the socket; else what to say about it.
out_of_reach() {
	case $socket_path in
	"$queue"/*) return 1 ;;
	esac
	names=$(services_in_chroot)
	[ -n "$names" ] || return 1
	echo "$socket_path is not in $queue, and these services run in a chroot" \
		"there: $names; they cannot reach it, so mail waits for good. Have" \
		"the socket below $queue, or set the services' chroot to n in" \
		"master.cf"
}

# "yes" when the draft ends in a newline, or is empty.
last_newline() {
	[ -n "$(tail -c 1 "$draft")" ] || echo yes
}

# Puts the draft in the place of its original, if they differ: at once, and with
# the owner and permissions that it has. What somebody else has written since the
# draft was begun is not lost.
use_draft() {
	! cmp -s "$draft" "$original" || return 0
	cmp -s "$work/${draft##*/}" "$original" ||
		die "$original was changed by somebody else meanwhile, and stays" \
			"as it is: run $self again"
	changed=yes
	new=$original.postern-new
	if cp -p "$original" "$new" && cat "$draft" >"$new" &&
		mv "$new" "$original"; then
		return
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
		print "$pid $uid"' "$socket_path" "$(value_of mail_owner)"
}

# The command, for people; the folder is only named where Postfix needs it.
reload_command() {
	if [ "$config" = "$(postconf -d -h config_directory)" ]; then
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
	[ -n "$(value_of maillog_file)" ] && [ -S "$queue/public/postlog" ] || return 1
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
	[ -w "$queue/pid/master.pid" ] &&
		! MAIL_CONFIG=$config "$(value_of daemon_directory)/master" -t >/dev/null 2>&1
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
	elif is_postfix_running; then
		postfix -c "$config" reload
	else
		echo "Postfix is not running; it will find this when it starts."
	fi
}
