# shellcheck shell=sh
# shellcheck disable=SC2034 # what it sets is for those who source it
# What enable, disable, check and setup share; sourced by them. It sources what they all need:
#
#   options.sh   their options
#   postfix.sh   a Postfix: what its files have, how it is reloaded, whether it runs
#   milter.sh    our milter in it: the lists it stands in, and what happens while it is away
#   service.sh   the service of master.cf that postern-httpd submits to
#   draft.sh     how main.cf and master.cf are changed
#
# Most of the time a script takes is that of starting processes, and each $(...) or
# pipe is one. So what a function finds it leaves in $answer ("Answers ..."), where the
# next function puts its own; of several there is one a line, each with a newline at its
# end. Variables that begin with _ are of the function alone, and any function that it
# calls may change them.
#
# Needs: here (the folder of the scripts). Sets: self, nl, uid; status (of the script).

# A name with * or ? stands for itself; where files are looked for, that is off.
set -f

self=${0##*/}
nl='
'
uid=$(id -u)
status=0

# say LABEL TEXT...: a line for people. On a terminal it is broken between words,
# with all of the text to the right of the label.
say() {
	label=$1
	shift
	if [ ! -t 1 ]; then
		echo "$label$*"
		return
	fi
	{ width=$(stty size <&3 2>/dev/null); } 3>&1
	printf '%s\n' "$*" | awk -v label="$label" -v width="${width#* }" '
	BEGIN {
		if (width < 40)
			width = 80
	}
	{
		line = label
		gsub(/./, " ", label)
		for (i = 1; i <= NF; i++) {
			if (i > 1 && length(line $i) > width) {
				sub(/ $/, "", line)
				print line
				line = label
			}
			line = line $i (i < NF ? " " : "")
		}
		print line
	}'
}

die() {
	say "$self: " "$*" >&2
	exit 1
}

wrong_usage() {
	say "$self: " "$*" >&2
	usage >&2
	exit 64
}

# join LINES: answers them in one, for people.
join() {
	IFS=$nl
	# shellcheck disable=SC2086 # lines
	set -- $1
	unset IFS
	answer=$*
}

# Has $work, a folder that goes with the script.
make_work() {
	work=$(mktemp -d) || die "cannot make a temporary folder"
	trap 'rm -rf "$work"' EXIT
	trap 'exit 1' HUP INT TERM
}

# For perl: connect_to(SERVER) gives a handle for `unix:PATH` or `inet:HOST:PORT`;
# nothing, with $! set, where nobody answers. IO::Socket takes much longer to load
# than all that is said takes.
perl_connect='
	use Socket qw(:DEFAULT getaddrinfo);
	sub unbuffered {
		select((select($_[0]), $| = 1)[0]);
		return $_[0];
	}
	sub connect_to {
		my ($error, @found);
		if ($_[0] =~ /^(?:unix|local):(.*)/) {
			@found = {family => PF_UNIX, addr => pack_sockaddr_un("$1")};
		} elsif ($_[0] =~ /^inet6?:\[?(.*?)\]?:(\w+)$/) {
			($error, @found) = getaddrinfo($1, $2, {socktype => SOCK_STREAM});
		}
		for (@found) {
			my $peer;
			socket($peer, $_->{family}, SOCK_STREAM, 0) and
				connect($peer, $_->{addr}) and return unbuffered($peer);
		}
		return;
	}
'

# shellcheck source=postfix-conf/options.sh
. "$here/options.sh"
# shellcheck source=postfix-conf/postfix.sh
. "$here/postfix.sh"
# shellcheck source=postfix-conf/milter.sh
. "$here/milter.sh"
# shellcheck source=postfix-conf/service.sh
. "$here/service.sh"
# shellcheck source=postfix-conf/draft.sh
. "$here/draft.sh"
