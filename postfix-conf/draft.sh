# shellcheck shell=sh
# shellcheck disable=SC2034,SC2154 # what it sets is for those who source it; the others set the rest
# How main.cf and master.cf are changed; sourced by common.sh.
#
# They are changed in place, a few bytes at a known spot, because postconf -e would fold values
# into one line and could not be undone exactly:
#
#   smtpd_milters =          becomes   smtpd_milters = { unix:... },
#       inet:localhost:8891                inet:localhost:8891
#
# and where there is no value, a line is added at the end. The same is done to transport_maps. A
# service is added at the end of master.cf. disable takes just these bytes out again, whatever else
# was changed meanwhile. All is done on a draft, which postconf has to agree with before it takes
# the file's place.
#
# Sets: draft (the file in view that is being changed), original (that in config), changed (yes:
# an original was replaced).

set_before=
changed=

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

# Whether main.cf sets the parameter, or did before the draft was changed.
is_set() {
	look_up "$set_before" "$1"
}

# Before anything is said to be done.
require_writable() {
	if [ ! -w "$original" ] || [ ! -w "${original%/*}" ]; then
		[ "$uid" -ne 0 ] || die "$original cannot be changed: is its" \
			"file system read-only?"
		die "$original cannot be changed by $(id -un): run it as root"
	fi
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

# Has $newline: "yes" when the draft ends in one, or is empty.
last_newline() {
	newline=
	[ -n "$(tail -c 1 "$draft")" ] || newline=yes
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
