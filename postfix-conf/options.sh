# shellcheck shell=sh
# shellcheck disable=SC2034 # what it sets is for those who source it
# The options of the scripts; sourced by common.sh. A script sets which of them it has:
# reload_works, dry_run_works, submission_works, returns_work, logins_work, rows_work, setup_works.
#
# Sets: config (-c; empty: Postfix's own), socket and socket_given (-s), settings (-p), reload,
# dry_run, rows, yes, mode, submission, services (of --service, one a line), returns (domains, one a
# line), logins (see logins.sh); of setup: domain, policy, company, user, to.

default_socket=postern/milter.sock
socket=$default_socket
socket_given=
config=
services=
reload=
submission=
returns=
logins=

# -c CONFIG_DIR, -s SOCKET, -p POSTERN_CONF, -h and, where $reload_works is set,
# --reload and --service NAME; where $submission_works is, --submission METHOD.
read_options() {
	while [ $# -gt 0 ]; do
		case $1 in
		-c | -s | -p | --submission | --service | --returns | --smtp-auth | --domain | \
			--policy | --name | --user | --to)
			[ $# -ge 2 ] || wrong_usage "$1 needs a value"
			read_value "$1" "$2"
			shift
			;;
		--reload)
			[ -n "${reload_works:-}" ] || wrong_usage "what is $1?"
			reload=yes
			;;
		--dry-run)
			[ -n "${dry_run_works:-}${setup_works:-}" ] ||
				wrong_usage "what is $1?"
			dry_run=yes mode=dry-run
			;;
		--yes)
			[ -n "${setup_works:-}" ] || wrong_usage "what is $1?"
			yes=yes
			;;
		--undo)
			[ -n "${setup_works:-}" ] || wrong_usage "what is $1?"
			mode=undo
			;;
		--rows)
			[ -n "${rows_work:-}" ] || wrong_usage "what is $1?"
			rows=yes
			;;
		-h | --help)
			usage
			exit 0
			;;
		*) wrong_usage "what is $1?" ;;
		esac
		shift
	done
}

read_value() {
	case $1$2 in
	-c*) config=$2 ;;
	-s*) socket=$2 socket_given=yes ;;
	-p*) settings=$2 ;;
	--domain* | --policy* | --name* | --user* | --to*)
		[ -n "${setup_works:-}" ] || wrong_usage "what is $1?"
		case $1 in
		--domain) domain=$2 ;;
		--policy) policy=$2 ;;
		--name) company=$2 ;;
		--user) user=$2 ;;
		--to) to=$2 ;;
		esac
		;;
	--returns*)
		[ -n "${returns_work:-}" ] || wrong_usage "what is $1?"
		case $2 in
		*[!a-z0-9.-]* | .* | -* | *. | '') wrong_usage "--returns: a domain in lower" \
			"case, not $2" ;;
		*.*) returns="$returns$2
" ;;
		*) wrong_usage "--returns: a domain, not $2" ;;
		esac
		;;
	--smtp-auth*)
		[ -n "${logins_work:-}" ] || wrong_usage "what is $1?"
		read_logins "$2"
		;;
	--service*)
		[ -n "${reload_works:-}" ] || wrong_usage "what is $1?"
		services="$services$2
"
		;;
	*)
		[ -n "${submission_works:-}" ] || wrong_usage "what is $1?"
		case $2 in
		sendmail | smtp) submission=$2 ;;
		*) wrong_usage "$1: sendmail or smtp, not $2" ;;
		esac
		;;
	esac
}
