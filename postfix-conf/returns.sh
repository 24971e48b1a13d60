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

# Answers what stands in a list for a domain: returns_entry LIST DOMAIN.
returns_entry() {
	case $1 in
	transport_maps) answer="inline:{ {$2 = $returns_service:} }" ;;
	relay_domains) answer=$2 ;;
	relay_recipient_maps) answer="inline:{ {@$2 = $returns_service} }" ;;
	esac
}

# Answers the domains that are there, one a line.
returns_domains() {
	value_of transport_maps
	split_list "$answer"
	_domains=
	while IFS= read -r _item; do
		_name=${_item#"inline:{ {"}
		_name=${_name%" = $returns_service:} }"}
		case $_item in
		"inline:{ {$_name = $returns_service:} }") _domains=$_domains$_name$nl ;;
		esac
	done <<-END
		$answer
	END
	answer=$_domains
}

has_returns_service() {
	has_entry "$returns_service/unix"
}

# Whether a list has the item: returns_listed LIST ITEM.
returns_listed() {
	value_of "$1"
	split_list "$answer"
	case $nl$answer in
	*"$nl$2$nl"*) ;;
	*) return 1 ;;
	esac
}

# Behind the = of the last definition; a new line at the end where there is none.
put_returns() {
	returns_entry "$1" "$2"
	item=$answer
	if returns_listed "$1" "$item"; then
		echo "$1 has $2."
		return
	fi
	last_newline
	if grep -q "^$1[[:space:]]*=" "$draft"; then
		item=$item awk -v name="$1" -v newline="$newline" '
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
		}' "$draft"
	else
		# Its default, of old, is the domains of this host.
		value_of "$1"
		[ -z "$answer" ] || answer=,\$mydestination
		cat "$draft"
		[ -n "$newline" ] || echo
		printf '%s = %s%s' "$1" "$item" "$answer"
		[ -z "$newline" ] || echo
	fi >"$draft.new"
	renew_draft
	returns_listed "$1" "$item" || die "$main_cf: adding $2 to $1 would have no effect"
	echo "$1: $2 was added."
}

# Who runs postern-intake: pipe(8) runs nothing as root.
find_returns_user() {
	[ -n "$settings" ] && [ -n "$postern" ] ||
		die "--returns needs postern.conf: -p names it"
	read_settings || die "$in_force"
	intake=${postern%/*}/postern-intake
	[ -x "$intake" ] || intake=${postern%/*}/../sbin/postern-intake
	[ -x "$intake" ] || die "the program postern-intake is missing"
	intake=$(readlink -f "$intake")
	setting_of store database
	database=$answer
	setting_of store url
	[ -z "$answer" ] || database=${database%/*}
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
	last_newline
	{
		cat "$draft"
		[ -n "$newline" ] || echo
		returns_block
		[ -z "$newline" ] || echo
	} >"$draft.new"
	renew_draft
	has_returns_service || die "adding $returns_service to master.cf would have no effect"
	echo "master.cf: the service $returns_service was added."
}

# The records that the DNS of a domain is to have, and what is to be done besides.
tell_returns() {
	value_of myhostname
	echo "The DNS of $1 needs:"
	echo "  $1. IN MX 10 $answer."
	echo "  $1. IN TXT \"v=spf1 a:$answer -all\""
	say "" "When it has these records, and Postfix was reloaded: postern domain set NAME --return-path $1"
}

# Prints the draft without what put_returns adds for the domains, one a line.
without_returns() {
	for _name in $1; do
		for list in $returns_lists; do
			returns_entry "$list" "$_name"
			printf '%s %s\n' "$list" "$answer"
		done
	done >"$work/returns"
	awk -v newline="$newline" -v entries="$work/returns" '
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
	returns_domains
	[ -n "$answer" ] || return 0
	last_newline
	without_returns "$answer" >"$draft.new"
	renew_draft
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
	last_newline
	awk -v name="$returns_service" -v newline="$newline" '
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
	look_up "$master" "$returns_service/unix/command" || return
	case $answer in
	*' user='*) ;;
	*) echo "the service has no user=" && return 1 ;;
	esac
	_user=${answer#* user=}
	_user=${_user%%[ :]*}
	argv=${answer#*argv=}
	argv=${argv%% -- *}
	token=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
	as=
	[ "$uid" -ne 0 ] || as="setpriv --reuid $_user --regid $(id -g "$_user") --init-groups"
	# shellcheck disable=SC2086 # words
	printf 'Subject: check\n\n' | $as $argv -- '' "b+$token@$1" 2>&1
}

check_returns_domain() {
	value_of transport_maps
	first_answer "$answer" "b+x@$1" "$1" '*'
	case $answer in
	*": $returns_service:") ;;
	*) wrong "transport_maps has mail to $1 go elsewhere: ${answer:-no table has it}" ;;
	esac
	returns_listed relay_domains "$1" ||
		wrong "relay_domains lacks $1: Postfix takes no bounces from elsewhere"
	value_of virtual_alias_maps
	first_answer "$answer" "b+x@$1" "@$1"
	[ -z "$answer" ] || wrong "virtual_alias_maps takes what comes to $1: $answer"
}

check_returns() {
	returns_domains
	names=$answer
	for name in $names; do
		check_returns_domain "$name"
	done
	wanted=
	case $domains in
	*'"return_path": "'*) wanted=$(printf '%s\n' "$domains" |
		grep -o '"return_path": "[^"]*"' | sed 's/.* "//; s/"$//' | sort -u) ;;
	esac
	for name in $wanted; do
		case $nl$names in
		*"$nl$name$nl"*) ;;
		*) wrong "emails have the return path $name, but Postfix does not give its" \
			"mail to postern-intake: enable --returns $name" ;;
		esac
	done
	[ -n "$names" ] || return 0
	if ! has_returns_service; then
		wrong "master.cf lacks the service $returns_service: bounces wait; enable --returns" \
			"${names%%"$nl"*} adds it"
	elif ! why=$(try_intake "${names%%"$nl"*}"); then
		wrong "postern-intake takes no bounces, which wait: ${why:-it cannot be run}"
	else
		join "$names"
		good "what comes to $answer is taken by postern-intake"
	fi
}
