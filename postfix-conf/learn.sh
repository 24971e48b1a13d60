# shellcheck shell=sh
# shellcheck disable=SC2154 # settings.sh sets settings
# What Postern has to know of Postfix's settings; sourced by the scripts behind
# settings.sh, together with logins.sh.
#
# enable writes it into a file of its own in the folder beside postern.conf:
# internal_hosts from mynetworks, local_domains from mydestination and myorigin.
# Both are lists that add up with what an admin has set. Unless an admin has set
# auth.url, it is the first service of master.cf where programs of other hosts log in.
# postern.conf itself stays as it is, so that a package can replace it without asking
# when it is upgraded.
# disable removes the file; check says when Postfix's settings are others by now.
#
# Before, it stood in postern.conf itself, as a block between two comments.

block_begin='# Learnt from Postfix by postfix-conf/enable; disable takes it out.'
block_end='# End of what was learnt.'

# Answers the items, one a line. A path stands for what is in the file, as Debian's
# myorigin does.
items_of() {
	value_of "$1"
	_items=
	IFS=", 	$nl"
	for _item in $answer; do
		case $_item in
		'') ;;
		/*) [ ! -r "$_item" ] || for _line in $(sed 's/#.*//' "$_item"); do
			_items=$_items${_line:+$_line$nl}
		done ;;
		*) _items=$_items$_item$nl ;;
		esac
	done
	unset IFS
	answer=$_items
}

# Whether the item can be learnt: is_plain PARAMETER ITEM.
is_plain() {
	case $1/$2 in
	mynetworks/*[!][0-9a-fA-F.:/]*) return 1 ;;
	mynetworks/*) ;;
	*/*[!A-Za-z0-9._-]*) return 1 ;;
	esac
}

# Adds to $learnt a setting for each item of the parameters that can be learnt:
# learn_items SETTING PARAMETER...
learn_items() {
	_setting=$1
	shift
	for _name; do
		items_of "$_name"
		for _item in $answer; do
			is_plain "$_name" "$_item" || continue
			case $learnt in
			*"$nl$_setting = $_item$nl"*) ;;
			*) learnt="$learnt$_setting = $_item$nl" ;;
			esac
		done
	done
}

# Whether a file of the admin's sets auth.url. `postern config` does not tell which file does.
sets_login_url() {
	set +f
	set -- "$settings" "$settings.d"/*.conf
	set -f
	for file; do
		[ "$file" != "$learnt_file" ] && [ -f "$file" ] || continue
		awk '
		/^[ \t]*\[/ { in_auth = /^[ \t]*\[auth\]/ }
		in_auth && /^[ \t]*url[ \t]*=/ { found = 1 }
		END { exit !found }' "$file" && return 0
	done
	return 1
}

# Answers where programs log in from other hosts, unless an admin has set it.
learnt_login_url() {
	login_services_of_ours
	_place=
	for _name in $answer; do
		is_on_loopback "$_name" || { _place=$_name && break; }
	done
	answer=
	[ -n "$_place" ] && ! sets_login_url || return 0
	login_url "$_place"
	answer=$(printf '%s\n' "$answer" | tr '[:upper:]' '[:lower:]' |
		grep -Ex 'smtps?://[a-z0-9-]+(\.[a-z0-9-]+)+:[0-9]+') || true
}

# Has $learnt, what is to be in learnt.conf, and $learnt_url, auth.url in it.
learnt_text() {
	learnt="# Learnt from Postfix by postfix-conf/enable, which writes it anew.
[milter]
internal_hosts = 127.0.0.0/8
internal_hosts = [::1]/128
"
	learn_items internal_hosts mynetworks
	learn_items local_domains mydestination myorigin
	learnt_login_url
	learnt_url=$answer
	learnt=$learnt${learnt_url:+[auth]${nl}url = $learnt_url$nl}
}

has_learnt() {
	[ -n "$settings" ] && [ -f "$learnt_file" ]
}

# Has $in_file, what learnt.conf says, and $learnt.
is_up_to_date() {
	in_file=$(cat "$learnt_file")$nl
	learnt_text
	[ "$in_file" = "$learnt" ] && ! has_block
}

# Whether they differ in auth.url at most.
has_rules() {
	[ "${in_file%%"[auth]$nl"*}" = "${learnt%%"[auth]$nl"*}" ] && ! has_block
}

has_block() {
	[ -n "$settings" ] && grep -qxF "$block_begin" "$settings"
}

# Without its end nobody knows what is the admin's.
require_whole_block() {
	! has_block || sed "1,\|^$block_begin\$|d" "$settings" | grep -qxF "$block_end" ||
		die "$settings: put the line '$block_end' back after the learnt" \
			"settings"
}

# usage: COMMAND | write_file FILE; one that is there keeps its owner and mode.
write_file() {
	new=$1.postern-new
	if { [ ! -e "$1" ] || cp -p "$1" "$new"; } && cat >"$new" &&
		mv "$new" "$1"; then
		return
	fi
	rm -f "$new"
	die "cannot write $1"
}

take_block_out() {
	! has_block || sed "\|^$block_begin\$|,/^$block_end\$/d" "$settings" |
		write_file "$settings"
}

# Names what cannot be learnt: tables, files, exceptions.
tell_unlearnt() {
	for name in mynetworks mydestination; do
		items_of "$name"
		while IFS= read -r item; do
			[ -z "$item" ] || is_plain "$name" "$item" ||
				"$1" "$name: cannot learn $item; see" \
					"internal_hosts and local_domains in postern.conf(5)"
		done <<-END
			$answer
		END
	done
}

# A milter that does not run reads it when it starts; of setup's units setup takes care.
then_reload() {
	answer=
	[ -n "${milter_is_cared_for:-}" ] || [ ! -S "$socket_path" ] ||
		answer='; reload postern-milter'
}

learn() {
	[ -n "$settings" ] || return 0
	tell_unlearnt echo
	if has_learnt && is_up_to_date; then
		say "" "$learnt_file: up to date with mynetworks and the local domains."
		return
	fi
	[ -d "$settings.d" ] || install -d -m 755 "$settings.d" ||
		die "cannot make $settings.d"
	learnt_text
	(umask 022 && printf %s "$learnt" | write_file "$learnt_file")
	has_learnt_anew=yes
	take_block_out
	then_reload
	say "" "$learnt_file: mynetworks and the local domains were written to it$answer."
	[ -z "$learnt_url" ] ||
		say "" "After a restart of postern-httpd, everybody who creates a key" \
			"is shown $learnt_url (auth.url)."
}

unlearn() {
	has_learnt || has_block || return 0
	rm -f "$learnt_file"
	rmdir "$settings.d" 2>/dev/null || true
	take_block_out
	then_reload
	say "" "$settings: what was learnt from Postfix was removed$answer."
}

check_learnt() {
	[ -n "$settings" ] || return 0
	if ! has_learnt; then
		warn "$settings: internal_hosts and local_domains were not" \
			"learnt from Postfix: run postern setup"
	elif is_up_to_date || { has_rules && sets_login_url; }; then
		good "$learnt_file has mynetworks and the local domains"
	elif has_rules; then
		warn "$learnt_file: the services of master.cf where programs log in, or auth.url," \
			"have changed since: run postern setup"
	else
		wrong "$learnt_file: mynetworks, mydestination or myorigin of" \
			"Postfix have changed since: run postern setup"
	fi
	tell_unlearnt warn
}
