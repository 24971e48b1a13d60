# shellcheck shell=sh
# shellcheck disable=SC2154 # common.sh sets config, here and socket_path
# postern.conf, as the scripts read it; sourced by them behind common.sh.
#
# What is in force is asked of postern(1), the one beside which the scripts are
# installed or built.
#
# Sets: settings (the file; empty: there is none), postern (the command; empty:
# it is missing), in_force (what `postern config` says), read (valid or refused; empty:
# not read yet), as_daemons (the words that run a program with their rights).

settings=
default_settings=/etc/postern/postern.conf
postern=
in_force=
read=
as_daemons=

# Without -p, postern.conf is only meant with Postfix's own main.cf.
find_settings() {
	if [ -z "$settings" ] && [ -f "$default_settings" ] &&
		[ "$config" = "$(postconf -d -h config_directory)" ]; then
		settings=$default_settings
	fi
	[ -z "$settings" ] || [ -f "$settings" ] || die "$settings is missing"
	[ -z "$settings" ] || settings=$(readlink -f "$settings")
	for postern in "$here/../../../bin/postern" \
		"$here/../${BUILD:-build}/postern" "${BUILD:-}/postern" \
		"$(command -v postern)" ''; do
		[ ! -x "$postern" ] || break
	done
	as_daemons=
	if [ -n "$settings" ] && [ "$settings" = "$(readlink -f "$default_settings")" ] &&
		[ "$(id -u)" -eq 0 ] && id postern >/dev/null 2>&1; then
		as_daemons='setpriv --reuid postern --regid postern --init-groups'
	fi
	settle_socket
}

# Without -s, the socket is the one that the settings name, if they do; else both
# sides find it below Postfix's queue folder.
settle_socket() {
	[ -z "$socket_given" ] && [ -n "$settings" ] && [ -n "$postern" ] &&
		grep -qs socket "$settings" "$settings.d"/*.conf && read_settings || return 0
	named=$(setting_of milter socket)
	[ -n "$named" ] || return 0
	socket=$named
	name_socket
}

# Fails, with the reason in in_force, when the file is refused. It is read once.
read_settings() {
	if [ -z "$read" ]; then
		read=valid
		in_force=$("$postern" -c "$settings" config 2>&1) || read=refused
	fi
	[ $read = valid ]
}

# The value that is in force: setting_of SECTION NAME.
setting_of() {
	newline='
'
	rest=$newline$in_force$newline
	case $rest in
	*"$newline[$1]$newline"*) ;;
	*) return 0 ;;
	esac
	rest=$newline${rest#*"$newline[$1]$newline"}
	rest=${rest%%"$newline["*}$newline
	while [ "$rest" != "${rest#*"$newline$2 ="}" ]; do
		rest=${rest#*"$newline$2 ="}
		value=${rest%%"$newline"*}
		printf '%s\n' "${value# }"
	done
}

# Whether postern-httpd submits to the service in master.cf.
wants_service() {
	[ "$(setting_of submission method)" = smtp ] &&
		[ -z "$(setting_of submission smtp_server)" ]
}

# As the daemons do, which run as the user postern where the file is theirs:
# run_as_daemons PROGRAM ARGUMENT..., run_postern ARGUMENT...
run_postern() {
	run_as_daemons "$postern" -c "$settings" "$@"
}

run_as_daemons() {
	# shellcheck disable=SC2086 # words
	$as_daemons "$@"
}

check_database() {
	if why=$(run_postern company list 2>&1 >/dev/null); then
		good "the database can be used"
	else
		wrong "$why"
	fi
}

# Of several instances of Postfix each needs a milter of its own.
check_milter_socket() {
	listens=$(setting_of milter socket)
	if [ -z "$listens" ]; then
		instance=$(setting_of submission postfix_config)
		[ -n "$instance" ] || instance=$(postconf -d -h config_directory)
		listens=$(postconf -c "$instance" -x -h queue_directory \
			2>/dev/null)/$default_socket
	fi
	[ "$(readlink -m "$listens")" = "$(readlink -m "$socket_path")" ] ||
		wrong "$settings: postern-milter listens on $listens" \
			"(milter.socket, or the queue folder of" \
			"submission.postfix_config), but Postfix asks" \
			"$socket_path: set the one or the other"
}

# Neither daemon starts without settings.
lacks_settings() {
	if [ "$config" = "$(postconf -d -h config_directory)" ]; then
		wrong "$default_settings is missing: neither daemon starts"
	else
		warn "no postern.conf was looked at: -p names it"
	fi
}

check_settings() {
	if [ -z "$settings" ]; then
		lacks_settings
	elif [ -z "$postern" ]; then
		warn "cannot check $settings: the command postern is missing"
	elif read_settings; then
		good "$settings has no fault"
		check_milter_socket
		check_database
	else
		wrong "$in_force"
		in_force=
	fi
}
