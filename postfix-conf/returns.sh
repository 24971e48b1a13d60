# shellcheck shell=sh
# shellcheck disable=SC2154 # common.sh and settings.sh set what it uses
# The way back for bounces, enable --returns DOMAIN; sourced by enable, disable and check.
#
# Mail to the domain is taken by postern-intake, behind pipe(8): a service in master.cf, a
# line at the head of transport_maps for each domain, and the domain in relay_domains and,
# where that is in use, in relay_recipient_maps. Each is at the head of its list, so that
# disable takes out just these bytes.

returns_service=postern-returns
returns_lists='transport_maps relay_domains relay_recipient_maps'

# What stands in a list for a domain: returns_entry LIST DOMAIN.
returns_entry() {
	case $1 in
	transport_maps) printf 'inline:{ {%s = %s:} }\n' "$2" "$returns_service" ;;
	relay_domains) printf '%s\n' "$2" ;;
	relay_recipient_maps) printf 'inline:{ {@%s = %s} }\n' "$2" "$returns_service" ;;
	esac
}

# The domains that are there, one a line.
returns_domains() {
	value_of transport_maps | split_list |
		sed -n "s/^inline:{ {\([^ ]*\) = $returns_service:} }\$/\1/p"
}

has_returns_service() {
	has_entry "$returns_service" unix
}

# Whether a list has the item: returns_listed LIST ITEM.
returns_listed() {
	value_of "$1" | split_list | grep -Fqx -e "$2"
}

# Behind the = of the last definition; a new line at the end where there is none.
put_returns() {
	item=$(returns_entry "$1" "$2")
	if returns_listed "$1" "$item"; then
		echo "$1 has $2."
		return
	fi
	if grep -q "^$1[[:space:]]*=" "$draft"; then
		item=$item awk -v name="$1" -v newline="$(last_newline)" '
		{ lines[NR] = $0 }
		$0 ~ "^" name "[ \t]*=" { last = NR }
		END {
			for (i = 1; i <= NR; i++) {
				at = index(lines[i], "=")
				rest = substr(lines[i], at + 1)
				if (i == last)
					lines[i] = substr(lines[i], 1, at) " " \
						ENVIRON["item"] "," rest
				printf "%s%s", (i > 1 ? "\n" : ""), lines[i]
			}
			if (newline)
				print ""
		}' "$draft" | rewrite_draft
	else
		# Its default, of old, is the domains of this host.
		old=
		[ -z "$(value_of "$1")" ] || old='$mydestination'
		{
			cat "$draft"
			[ -n "$(last_newline)" ] || echo
			printf '%s = %s%s' "$1" "$item" "${old:+,$old}"
			[ -z "$(last_newline)" ] || echo
		} | rewrite_draft
	fi
	returns_listed "$1" "$item" || die "$main_cf: adding $2 to $1 would have no effect"
	echo "$1: $2 was added."
}

# Who runs postern-intake: pipe(8) runs nothing as root.
find_returns_user() {
	[ -n "$settings" ] && [ -n "$postern" ] ||
		die "--returns needs postern.conf: -p names it"
	read_settings || die "$in_force"
	intake=$(dirname "$postern")/postern-intake
	[ -x "$intake" ] || intake=$(dirname "$postern")/../sbin/postern-intake
	[ -x "$intake" ] || die "the program postern-intake is missing"
	intake=$(readlink -f "$intake")
	database=$(setting_of store database)
	[ -z "$(setting_of store url)" ] || database=$(dirname "$database")
	returns_user=$(stat -c %U "$database" 2>/dev/null) ||
		die "$database is missing: postern db migrate"
	[ "$returns_user" != root ] ||
		die "$database belongs to root, and pipe(8) runs nothing as root: chown it, and" \
			"its folder, to the user of the daemons"
}

returns_block() {
	printf '%s unix - n n - 10 pipe\n' "$returns_service"
	printf '  flags= user=%s null_sender= argv=%s -c %s -- ${sender} ${recipient}' \
		"$returns_user" "$intake" "$settings"
}

add_returns_service() {
	if has_returns_service; then
		echo "master.cf has the service $returns_service."
		return
	fi
	{
		cat "$draft"
		if [ -n "$(last_newline)" ]; then
			returns_block
			echo
		else
			echo
			returns_block
		fi
	} | rewrite_draft
	has_returns_service || die "adding $returns_service to master.cf would have no effect"
	echo "master.cf: the service $returns_service was added."
}

# The records that the DNS of a domain is to have, and what is to be done besides.
tell_returns() {
	host=$(value_of myhostname)
	echo "The DNS of $1 needs:"
	echo "  $1. IN MX 10 $host."
	echo "  $1. IN TXT \"v=spf1 a:$host -all\""
	say "" "When it has these records, and Postfix was reloaded: postern domain set NAME --return-path $1"
}

# Draft without what put_returns adds for the domains on standard input.
without_returns() {
	while IFS= read -r name; do
		for list in $returns_lists; do
			printf '%s %s\n' "$list" "$(returns_entry "$list" "$name")"
		done
	done >"$work/returns"
	awk -v newline="$(last_newline)" -v entries="$work/returns" '
	BEGIN {
		while ((getline line <entries) > 0) {
			at = index(line, " ")
			of[++n_of] = substr(line, 1, at - 1)
			text[n_of] = " " substr(line, at + 1)
		}
	}
	{ lines[NR] = $0 }
	function goes_on(i) {
		while (++i <= NR && lines[i] ~ /^[ \t]*(#|$)/)
			;
		return i <= NR && lines[i] ~ /^[ \t]/
	}
	function keep(line) {
		printf "%s%s", (n++ ? "\n" : ""), line
	}
	END {
		for (i = 1; i <= NR; i++) {
			line = lines[i]
			gone = 0
			again = match(line, /^[a-z_]+[ \t]*=/)
			head = substr(line, 1, RLENGTH)
			while (again) {
				again = 0
				rest = substr(line, length(head) + 1)
				for (k = 1; k <= n_of; k++) {
					if (head !~ "^" of[k] "[ \t]*=")
						continue
					if (rest == text[k] || rest == text[k] ",$mydestination") {
						gone = 1
					} else if (index(rest, text[k] ",") == 1) {
						line = head substr(rest, length(text[k]) + 2)
						again = 1
						break
					}
				}
			}
			if (!gone)
				keep(line)
			else if (goes_on(i))
				keep(head)
		}
		if (n && newline)
			print ""
	}' "$draft"
}

# In the draft of main.cf. What is left is somebody else's, who has moved it.
take_returns_out() {
	found=$(returns_domains)
	[ -n "$found" ] || return 0
	printf '%s\n' "$found" | without_returns | rewrite_draft
}

# Before it is taken out: what domains still send with it.
tell_about_returns() {
	[ -n "$1" ] && [ -n "$settings" ] && [ -n "$postern" ] || return 0
	run_postern --json domain list 2>/dev/null |
		grep -q '"return_path": "' &&
		say "$self: " "some domains still have a return path, which receives nothing" \
			"any more: postern domain set NAME --return-path off" >&2 || true
}

without_returns_service() {
	awk -v name="$returns_service" -v newline="$(last_newline)" '
	{ said = !/^[ \t]*(#|$)/ }
	said && !/^[ \t]/ { ours = $1 == name && $2 == "unix" }
	!said || !ours { printf "%s%s", (n++ ? "\n" : ""), $0 }
	END {
		if (n && newline)
			print ""
	}' "$draft"
}

# Has postern-intake take a message with a token that nobody issued, as its user: it reads
# the settings and the database, and does nothing.
try_intake() {
	argv=$(postconf -c "$view" -M "$returns_service/unix" 2>/dev/null)
	user=$(printf '%s\n' "$argv" | sed -n 's/.* user=\([^ :]*\).*/\1/p')
	argv=${argv#*argv=}
	argv=${argv%% -- *}
	token=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
	as=
	[ "$(id -u)" -ne 0 ] || as="setpriv --reuid $user --regid $(id -g "$user") --init-groups"
	# shellcheck disable=SC2086 # words
	printf 'Subject: check\n\n' | $as $argv -- '' "b+$token@$1" 2>&1
}

check_returns_domain() {
	taken=$(first_answer "$(value_of transport_maps)" "b+x@$1" "$1" '*')
	case $taken in
	*": $returns_service:") ;;
	*) wrong "transport_maps has mail to $1 go elsewhere: ${taken:-no table has it}" ;;
	esac
	returns_listed relay_domains "$1" ||
		wrong "relay_domains lacks $1: Postfix takes no bounces from elsewhere"
	taken=$(first_answer "$(value_of virtual_alias_maps)" "b+x@$1" "@$1")
	[ -z "$taken" ] || wrong "virtual_alias_maps takes what comes to $1: $taken"
}

check_returns() {
	names=$(returns_domains)
	for name in $names; do
		check_returns_domain "$name"
	done
	wanted=
	[ -z "$in_force" ] || wanted=$(run_postern --json domain list 2>/dev/null |
		grep -o '"return_path": "[^"]*"' | sed 's/.* "//; s/"$//' | sort -u) || true
	for name in $wanted; do
		printf '%s\n' "$names" | grep -qx "$name" ||
			wrong "emails have the return path $name, but Postfix does not give its" \
				"mail to postern-intake: enable --returns $name"
	done
	[ -n "$names" ] || return 0
	if ! has_returns_service; then
		wrong "master.cf lacks the service $returns_service: bounces wait; enable --returns" \
			"$(printf '%s\n' "$names" | head -n 1) adds it"
	elif ! why=$(try_intake "$(printf '%s\n' "$names" | head -n 1)"); then
		wrong "postern-intake takes no bounces, which wait: ${why:-it cannot be run}"
	else
		good "what comes to $(printf '%s\n' "$names" | paste -s -d ' ' -) is taken by" \
			"postern-intake"
	fi
}
