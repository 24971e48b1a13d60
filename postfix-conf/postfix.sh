# shellcheck shell=sh
# shellcheck disable=SC2034,SC2154 # what it sets is for those who source it; common.sh sets the rest
# A Postfix: what its files have, as postconf(1) says it, how it is reloaded, and whether it runs;
# sourced by common.sh.
#
# What postconf says of a view is kept until the view changes.
#
# Sets: config (its folder), main_cf (the file there), view (the folder that postconf reads: config,
# or that of the drafts), queue (folder), version; values, raw, overrides, master and entries (what
# postconf said of the view; empty: not read).

own_config=
values=
raw=
overrides=
master=
entries=

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

# Has $own_config: the folder of Postfix's own main.cf.
find_own_config() {
	[ -n "$own_config" ] || own_config=$(postconf -d -h config_directory)
}

is_own_config() {
	find_own_config
	[ "$config" = "$own_config" ]
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
		die "$config/main.cf is missing: no Postfix is set up there; on Debian:" \
			"dpkg-reconfigure postfix"
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

read_values() {
	# shellcheck disable=SC2086 # words
	values=$(postconf -c "$view" -x $parameters 2>/dev/null)$nl || true
}

# Answers the value of a parameter, as it is in effect; of one that this Postfix does not
# know, none.
value_of() {
	[ -n "$values" ] || read_values
	look_up "$values" "$1" ||
		answer=$(postconf -c "$view" -x -h "$1" 2>/dev/null) || true
}

# Answers a list as main.cf has it, with $names; fails without one.
raw_value_of() {
	[ -n "$raw" ] || raw=$(postconf -c "$view" -n 2>/dev/null)$nl || true
	look_up "$raw" "$1"
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

# Whether it is a service of that program: runs NAME/TYPE PROGRAM.
runs() {
	read_services
	case $nl$entries in
	*"$nl$1 $2$nl"*) ;;
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

# The command, for people; the folder is only named where Postfix needs it.
reload_command() {
	if is_own_config; then
		echo "postfix reload"
	else
		echo "postfix -c $config reload"
	fi
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

is_postfix_running() {
	! log_is_stuck && is_master_running
}

# As `postfix status`, which starts five more programs and writes into the log.
is_master_running() {
	[ -w "$queue/pid/master.pid" ] || return 1
	value_of daemon_directory
	! MAIL_CONFIG=$config "$answer/master" -t >/dev/null 2>&1
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
