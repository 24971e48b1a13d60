# shellcheck shell=sh
# shellcheck disable=SC2154 # common.sh sets config, here and socket_path
# postern.conf, as the scripts read it; sourced by them behind common.sh.
#
# What is in force is asked of postern(1), the one beside which the scripts are
# installed or built.
#
# Sets: settings (the file; empty: there is none), postern (the command; empty:
# it is missing), in_force (what `postern config` says), read (valid or refused; empty:
# not read yet), learnt_file (see learn.sh), as_daemons (the words that run a program with
# their rights).

settings=
default_settings=/etc/postern/postern.conf
postern=
in_force=
read=
domains=
as_daemons=
daemons_user=

# Without -p, postern.conf is only meant with Postfix's own main.cf.
find_settings() {
	if [ -z "$settings" ] && [ -f "$default_settings" ] && is_own_config; then
		settings=$default_settings
	fi
	[ -z "$settings" ] || [ -f "$settings" ] || die "$settings is missing"
	[ -z "$settings" ] || settings=$(readlink -f "$settings")
	learnt_file=$settings.d/learnt.conf
	for postern in "$here/../../../bin/postern" \
		"$here/../${BUILD:-build}/postern" "${BUILD:-}/postern" \
		"$(command -v postern)" ''; do
		[ ! -x "$postern" ] || break
	done
	as_daemons=
	if [ -n "$settings" ] && [ "$settings" -ef "$default_settings" ] &&
		[ "$uid" -eq 0 ] && has_daemons_user; then
		as_daemons='setpriv --reuid postern --regid postern --init-groups'
	fi
	settle_socket
}

# Whether this host has the user postern.
has_daemons_user() {
	[ -n "$daemons_user" ] || daemons_user=$(id -u postern 2>/dev/null) || daemons_user=none
	[ "$daemons_user" != none ]
}

# Without -s, the socket is the one that the settings name, if they do; else both
# sides find it below Postfix's queue folder.
settle_socket() {
	[ -z "$socket_given" ] && [ -n "$settings" ] && [ -n "$postern" ] || return 0
	set +f
	set -- "$settings" "$settings.d"/*.conf
	set -f
	grep -qs socket "$@" && read_settings || return 0
	setting_of milter socket
	[ -n "$answer" ] || return 0
	socket=$answer
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

# Answers the value that is in force: setting_of SECTION NAME.
setting_of() {
	answer=
	_section=
	IFS=$nl
	for _line in $in_force; do
		case $_line in
		'['*) _section=$_line ;;
		"$2 ="*)
			[ "$_section" = "[$1]" ] || continue
			_line=${_line#"$2 ="}
			answer=$answer${answer:+$nl}${_line# }
			;;
		esac
	done
	unset IFS
}

# Whether postern-httpd submits to the service in master.cf.
wants_service() {
	setting_of submission method
	[ "$answer" = smtp ] || return 1
	setting_of submission smtp_server
	[ -z "$answer" ]
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

# Has $domains, those in the store, as JSON.
check_database() {
	if domains=$(run_postern --json domain list 2>&1); then
		good "the database can be used"
	else
		wrong_for_root "$domains"
		domains=
	fi
}

# Of several instances of Postfix each needs a milter of its own.
check_milter_socket() {
	setting_of milter socket
	listens=$answer
	if [ -z "$listens" ]; then
		setting_of submission postfix_config
		if [ "${answer:-$own_config}" = "$config" ]; then
			listens=$queue/$default_socket
		else
			[ -n "$answer" ] || find_own_config
			listens=$(postconf -c "${answer:-$own_config}" -x -h queue_directory \
				2>/dev/null)/$default_socket
		fi
	fi
	[ "$listens" = "$socket_path" ] ||
		[ "$(readlink -m "$listens")" = "$(readlink -m "$socket_path")" ] ||
		wrong "$settings: postern-milter listens on $listens" \
			"(milter.socket, or the queue folder of" \
			"submission.postfix_config), but Postfix asks" \
			"$socket_path: set the one or the other"
}

# Neither daemon starts without settings.
lacks_settings() {
	if is_own_config; then
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
