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

# One item a line. A path stands for what is in the file, as Debian's myorigin
# does.
items_of() {
	value_of "$1" | tr ', \t' '[\n*]' | while IFS= read -r item; do
		case $item in
		/*) [ ! -r "$item" ] || sed 's/#.*//' "$item" | tr ', \t' '[\n*]' ;;
		*) printf '%s\n' "$item" ;;
		esac
	done | sed '/^$/d'
}

# What is in the list, of what can be learnt: items of just these characters.
plain_items() {
	items_of "$1" | grep "^[$2]*\$" || true
}

learnt_hosts() {
	{
		printf '%s\n' 127.0.0.0/8 '[::1]/128'
		plain_items mynetworks '][0-9a-fA-F.:/'
	} | awk '!seen[$0]++'
}

learnt_domains() {
	{
		plain_items mydestination 'A-Za-z0-9._-'
		plain_items myorigin 'A-Za-z0-9._-'
	} | awk '!seen[$0]++'
}

learnt_file() {
	echo "$settings.d/learnt.conf"
}

# Whether a file of the admin's sets auth.url. `postern config` does not tell which file does.
sets_login_url() {
	for file in "$settings" "$settings.d"/*.conf; do
		[ "$file" != "$(learnt_file)" ] && [ -f "$file" ] || continue
		awk '
		/^[ \t]*\[/ { in_auth = /^[ \t]*\[auth\]/ }
		in_auth && /^[ \t]*url[ \t]*=/ { found = 1 }
		END { exit !found }' "$file" && return 0
	done
	return 1
}

learnt_login_url() {
	! sets_login_url || return 0
	for name in $(login_services_of_ours); do
		! is_on_loopback "$name" || continue
		login_url "$name" | tr '[:upper:]' '[:lower:]' |
			grep -Ex 'smtps?://[a-z0-9-]+(\.[a-z0-9-]+)+:[0-9]+' || true
		return
	done
}

learnt_rules() {
	echo '# Learnt from Postfix by postfix-conf/enable, which writes it anew.'
	echo '[milter]'
	learnt_hosts | sed 's/^/internal_hosts = /'
	learnt_domains | sed 's/^/local_domains = /'
}

learnt_text() {
	learnt_rules
	url=$(learnt_login_url)
	[ -z "$url" ] || printf '%s\n' '[auth]' "url = $url"
}

has_learnt() {
	[ -n "$settings" ] && [ -f "$(learnt_file)" ]
}

is_up_to_date() {
	[ "$(cat "$(learnt_file)")" = "$(learnt_text)" ] && ! has_block
}

has_rules() {
	[ "$(sed '/^\[auth\]$/,$d' "$(learnt_file)")" = "$(learnt_rules)" ] && ! has_block
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
		case $name in
		mynetworks) plain='][0-9a-fA-F.:/' ;;
		*) plain='A-Za-z0-9._-' ;;
		esac
		items_of "$name" | grep -v "^[$plain]*\$" | while IFS= read -r item; do
			"$1" "$name: cannot learn $item; see" \
				"internal_hosts and local_domains in postern.conf(5)"
		done
	done
}

# A milter that does not run reads it when it starts; of setup's units setup takes care.
then_reload() {
	[ -n "${milter_is_cared_for:-}" ] || [ ! -S "$socket_path" ] || printf '; reload postern-milter'
}

learn() {
	[ -n "$settings" ] || return 0
	tell_unlearnt echo
	if has_learnt && is_up_to_date; then
		say "" "$(learnt_file): up to date with mynetworks and the local domains."
		return
	fi
	[ -d "$settings.d" ] || install -d -m 755 "$settings.d" ||
		die "cannot make $settings.d"
	(umask 022 && learnt_text | write_file "$(learnt_file)")
	has_learnt_anew=yes
	take_block_out
	say "" "$(learnt_file): mynetworks and the local domains were written to it$(then_reload)."
	url=$(learnt_login_url)
	[ -z "$url" ] || say "" "After a restart of postern-httpd, everybody who creates a key" \
		"is shown $url (auth.url)."
}

unlearn() {
	has_learnt || has_block || return 0
	rm -f "$(learnt_file)"
	rmdir "$settings.d" 2>/dev/null || true
	take_block_out
	say "" "$settings: what was learnt from Postfix was removed$(then_reload)."
}

check_learnt() {
	[ -n "$settings" ] || return 0
	if ! has_learnt; then
		warn "$settings: internal_hosts and local_domains were not" \
			"learnt from Postfix: run postern setup"
	elif is_up_to_date || { has_rules && sets_login_url; }; then
		good "$(learnt_file) has mynetworks and the local domains"
	elif has_rules; then
		warn "$(learnt_file): the services of master.cf where programs log in, or auth.url," \
			"have changed since: run postern setup"
	else
		wrong "$(learnt_file): mynetworks, mydestination or myorigin of" \
			"Postfix have changed since: run postern setup"
	fi
	tell_unlearnt warn
}
