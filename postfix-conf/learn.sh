# shellcheck shell=sh
# shellcheck disable=SC2154 # settings.sh sets settings
# What postern-milter has to know of Postfix's settings; sourced by the scripts
# behind settings.sh.
#
# enable writes it as a block at the end of postern.conf, between two comments:
# internal_hosts from mynetworks, local_domains from mydestination and myorigin.
# Both are lists that add up, so the block stands beside what an admin has set.
# Its lines bring their section (milter.local_domains), so that it opens none:
# what an admin writes behind it stays in the section that it is in. When it is
# written anew it stays where it is. disable takes it out again, whatever else
# was changed meanwhile; check says when Postfix's settings are others by now.

learn_begin='# Learnt from Postfix by postfix-conf/enable; disable takes it out.'
learn_end='# End of what was learnt.'

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

learnt_block() {
	echo "$learn_begin"
	learnt_hosts | sed 's/^/milter.internal_hosts = /'
	learnt_domains | sed 's/^/milter.local_domains = /'
	echo "$learn_end"
}

# The block that stands in the file.
present_block() {
	sed -n "/^$(quoted "$learn_begin")\$/,/^$(quoted "$learn_end")\$/p" "$settings"
}

quoted() {
	printf '%s' "$1" | sed 's|[/.*^$]|\\&|g'
}

has_learnt() {
	[ -n "$settings" ] && grep -qxF "$learn_begin" "$settings"
}

is_up_to_date() {
	[ "$(present_block)" = "$(learnt_block)" ]
}

# Without its end nobody knows what is the admin's.
require_whole_block() {
	! has_learnt || present_block | grep -qxF "$learn_end" ||
		die "$settings: put the line '$learn_end' back behind what was" \
			"learnt"
}

# The file with $2 in the place of the block. A file without a newline at its
# end gets none.
replace_block() {
	block=$2 awk -v begin="$learn_begin" -v end="$learn_end" -v newline="$1" '
	function put(text) {
		printf "%s%s", (n++ ? "\n" : ""), text
	}
	$0 == begin { inside = 1 }
	$0 == begin && ENVIRON["block"] { put(ENVIRON["block"]) }
	!inside { put($0) }
	$0 == end { inside = 0 }
	END {
		if (n && newline)
			print ""
	}' "$settings"
}

without_block() {
	replace_block "$1" ''
}

with_block() {
	if has_learnt; then
		replace_block "$1" "$(learnt_block)"
		return
	fi
	cat "$settings"
	if [ -n "$1" ]; then
		learnt_block
	else
		printf '\n%s' "$(learnt_block)"
	fi
}

# Puts what the function prints in the place of postern.conf.
rewrite_settings() {
	newline=$([ -n "$(tail -c 1 "$settings")" ] || echo yes)
	new=$settings.postern-new
	if cp -p "$settings" "$new" && "$1" "$newline" >"$new" &&
		mv "$new" "$settings"; then
		return
	fi
	rm -f "$new"
	die "cannot write $settings"
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

# A milter that does not run reads it when it starts.
then_reload() {
	[ ! -S "$socket_path" ] || printf '; reload postern-milter'
}

learn() {
	[ -n "$settings" ] || return 0
	tell_unlearnt echo
	if has_learnt && is_up_to_date; then
		say "" "$settings has mynetworks and the local domains."
		return
	fi
	rewrite_settings with_block
	say "" "$settings: has mynetworks and the local domains now$(then_reload)."
}

unlearn() {
	has_learnt || return 0
	rewrite_settings without_block
	say "" "$settings: what was learnt from Postfix is out$(then_reload)."
}

check_learnt() {
	[ -n "$settings" ] || return 0
	if ! has_learnt; then
		warn "$settings: internal_hosts and local_domains were not" \
			"learnt from Postfix: run enable"
	elif is_up_to_date; then
		good "$settings has mynetworks and the local domains"
	else
		wrong "$settings: mynetworks, mydestination or myorigin of" \
			"Postfix have changed since: run enable"
	fi
	tell_unlearnt warn
}
