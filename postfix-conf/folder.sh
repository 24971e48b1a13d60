# shellcheck shell=sh
# shellcheck disable=SC2154 # common.sh sets what is used here
# The folder of the milter's socket; sourced by enable and setup behind common.sh.

# Whether the folder lets its owner make the socket, and the group through.
folder_fits() {
	facts=$(stat -c '%U:%G 0%a' "$folder")
	case $facts in
	"$owner:$group 0"[2367]7[15][0145]) ;;
	*) return 1 ;;
	esac
}

# Of a folder that is not for the socket alone others may rely on what it is.
mend_folder() {
	value_of mail_owner
	mail_owner=$answer
	case $(stat -c %U "$folder") in
	root | "$owner" | UNKNOWN) mendable=yes ;;
	*) mendable= ;;
	esac
	[ "$folder" = "$queue/postern" ] || mendable=
	if [ -n "$mendable" ] && [ "$uid" -eq 0 ]; then
		was=$(stat -c '%U:%G, mode %a' "$folder")
		if ! chown "$owner:$group" "$folder" || ! chmod 2750 "$folder"; then
			die "cannot mend $folder"
		fi
		echo "$folder: was $was, and is for $owner and the group $group now."
		return
	fi
	[ "$uid" -ne 0 ] ||
		setpriv --reuid "$mail_owner" --regid "$mail_owner" --init-groups \
			test -x "$folder" ||
		say "WARNING: " "the user $mail_owner cannot go into $folder, where the" \
			"milter's socket is; to fix it: install -d -o $owner" \
			"-g $group -m 2750 $folder" >&2
}

# Postfix's user may go through it, and a socket made in it gets its group.
make_folder() {
	folder=${socket_path%/*}
	owner=postern
	has_daemons_user || owner=$(id -un)
	value_of mail_owner
	group=$(id -gn "$answer")
	if [ -d "$folder" ]; then
		folder_fits || mend_folder
		return
	fi
	install -d -o "$owner" -g "$group" -m 2750 "$folder" ||
		die "cannot make $folder"
	echo "$folder: made, for $owner and the group $group."
	[ "$owner" = postern ] ||
		say "" "There is no user postern: if another one runs" \
			"postern-milter, chown USER $folder"
}
