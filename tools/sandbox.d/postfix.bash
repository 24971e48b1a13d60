# shellcheck shell=bash
# shellcheck disable=SC2031,SC2154 # port_of and tools/sandbox set what is used here
# The private Postfix of a sandbox, for tools/sandbox; needs $dir.
#
# Services, and which of them are chrooted, are as Debian has them. All mail
# goes to the capturing destination; mail for utf8.test goes there by a script
# of ours, since smtp-sink does not offer SMTPUTF8; mail for bounce.test bounces.

write_main_cf() {
	local port
	port_of sink
	echo "\
compatibility_level = 3.6
queue_directory = $dir/queue
data_directory = $dir/data
maillog_file = $dir/log/postfix.log
maillog_file_prefixes = $dir/log

myhostname = mail.sandbox.test
mydestination =
alias_maps =
alias_database =
local_recipient_maps =
append_dot_mydomain = no
biff = no

inet_interfaces = loopback-only
inet_protocols = ipv4
mynetworks = 127.0.0.0/8
smtpd_peername_lookup = no
smtpd_relay_restrictions = permit_mynetworks, reject
# Tests play clients from elsewhere.
smtpd_authorized_xclient_hosts = 127.0.0.0/8

# A daemon that was killed is wanted again before a minute has passed.
service_throttle_time = 1s

smtp_dns_support_level = disabled
smtp_tls_security_level = none
smtputf8_enable = yes
default_transport = smtp:[127.0.0.1]:$port
transport_maps = inline:{
    {utf8.test = capture:}
    {bounce.test = error:5.1.1 nobody is here} }
capture_destination_recipient_limit = 50" >"$dir/postfix/main.cf"
	printf '%s\n' ${postconf_lines+"${postconf_lines[@]}"} \
		>>"$dir/postfix/main.cf"
}

# Writes the options of the service with logins: those of enable --smtp-auth at a loopback
# address, without TLS.
write_login_options() (
	# shellcheck source=postfix-conf/logins.sh
	. "$tree/postfix-conf/logins.sh"
	certificate_of() { answer=; }
	login_path=postern/auth.sock
	login_lines plain "" | sed 's/^/  -o /' >run/login-options
)

write_master_cf() {
	local port login options
	whole options "$dir/run/login-options"
	port_of auth
	login=$port
	port_of postfix
	echo "\
127.0.0.1:$port inet n - y - - smtpd
127.0.0.1:$login inet n - y - - smtpd
$options
pickup     unix  n  -  y  60    1  pickup
cleanup    unix  n  -  y  -     0  cleanup
qmgr       unix  n  -  n  300   1  qmgr
rewrite    unix  -  -  y  -     -  trivial-rewrite
bounce     unix  -  -  y  -     0  bounce
defer      unix  -  -  y  -     0  bounce
trace      unix  -  -  y  -     0  bounce
verify     unix  -  -  y  -     1  verify
flush      unix  n  -  y  1000? 0  flush
proxymap   unix  -  -  n  -     -  proxymap
proxywrite unix  -  -  n  -     1  proxymap
smtp       unix  -  -  y  -     -  smtp
relay      unix  -  -  y  -     -  smtp
showq      unix  n  -  y  -     -  showq
error      unix  -  -  y  -     -  error
retry      unix  -  -  y  -     -  error
discard    unix  -  -  y  -     -  discard
local      unix  -  n  n  -     -  local
virtual    unix  -  n  n  -     -  virtual
anvil      unix  -  -  y  -     1  anvil
tlsmgr     unix  -  -  y  1000? 1  tlsmgr
scache     unix  -  -  y  -     1  scache
postlog    unix-dgram n - n -   1  postlogd
capture    unix  -  n  n  -     4  pipe
  flags=q user=$sink_user argv=$dir/capture \${sender} \${recipient}" \
		>"$dir/postfix/master.cf"
}

# Keeps a message as smtp-sink does: the envelope on top of it, one file each.
write_capture() {
	cat >capture <<'END'
#!/bin/sh
# usage: capture SENDER RECIPIENT... <MESSAGE
set -eu
sink=${0%/*}/sink
new=$(mktemp "$sink/.new.XXXXXX") || exit 75
{
	printf 'X-Mail-Args: <%s> SMTPUTF8\n' "$1"
	shift
	printf 'X-Rcpt-Args: <%s>\n' "$@"
	cat
} >"$new" || exit 75
chmod 644 "$new"
mv "$new" "$sink/utf8.${new##*.}" || exit 75
END
	chmod 755 capture
}

# Postfix reads a main.cf that just changed again and again for two seconds,
# until it surely holds still. This one does.
age_main_cf() {
	touch -d '1 minute ago' "$dir/postfix/main.cf"
}

# Postern in both files. What enable makes of files that differ in nothing but
# the folder and the ports differs in nothing else, so it may be a copy.
enable_postern() {
	local method=${settings[submission.method]:-sendmail} made='' text sum
	local options=()
	[ -z "$returns" ] || options=(-p "$dir/postern.conf" --returns "$returns")
	if [ -n "$cache" ] && [ -z "$returns" ]; then
		without_place
		sum=$(md5sum <<<"$text")
		made=$cache/${sum%% *}-$method
	fi
	if [ -d "$made" ]; then
		with_place
	else
		age_main_cf
		"$tree/postfix-conf/enable" -c "$dir/postfix" \
			--submission "$method" ${options+"${options[@]}"} >>"$dir/log/setup.log" ||
			die "postfix-conf/enable failed"
		[ -z "$made" ] || keep_enabled
	fi
}

keep_enabled() {
	local new text
	new=$(mktemp -d "$cache/new.XXXXXX")
	without_place
	printf '%s' "$text" >"$new/both"
	mv -T "$new" "$made" 2>/dev/null || rm -r "$new"
}

# Sets $text to both files, with a line between them, and with words for the folder
# and the ports.
without_place() {
	local main master port
	whole main "$dir/postfix/main.cf"
	whole master "$dir/postfix/master.cf"
	text=$main$'\n@MASTER@\n'$master$'\n'
	text=${text//"$dir"/@DIR@}
	port_of sink
	text=${text/"smtp:[127.0.0.1]:$port"$'\n'/$'@SINK@\n'}
	port_of postfix
	text=${text/$'\n'"127.0.0.1:$port "/$'\n@POSTFIX@ '}
	port_of auth
	text=${text/$'\n'"127.0.0.1:$port "/$'\n@AUTH@ '}
}

# Writes both files from what keep_enabled kept.
with_place() {
	local port
	whole text "$made/both"
	text+=$'\n'
	text=${text//@DIR@/"$dir"}
	port_of sink
	text=${text/@SINK@/"smtp:[127.0.0.1]:$port"}
	port_of postfix
	text=${text/@POSTFIX@/"127.0.0.1:$port"}
	port_of auth
	text=${text/@AUTH@/"127.0.0.1:$port"}
	printf '%s\n' "${text%%$'\n@MASTER@\n'*}" >"$dir/postfix/main.cf"
	printf '%s' "${text#*$'\n@MASTER@\n'}" >"$dir/postfix/master.cf"
}

write_postfix() {
	echo 0 >"$dir/run/postfix.port"
	echo 0 >"$dir/run/auth.port"
	write_main_cf
	write_master_cf
}

# Sets $pid.
master_pid() {
	{ read -r pid <"$dir/queue/pid/master.pid"; } 2>/dev/null
}

# The master is at home in the queue folder as long as it lives; a number that is
# somebody else's by now is of one who is elsewhere.
postfix_is_up() {
	local pid
	master_pid && [ "/proc/$pid/cwd" -ef "$dir/queue" ]
}

# As `postfix start` does in the end. Before, that looks at all files, and asks who it is,
# which takes longer than all the rest. With -w it waits until master listens for all services,
# or has failed.
run_master() {
	local folder
	for folder in /usr/lib/postfix/sbin /usr/libexec/postfix; do
		[ ! -x "$folder/master" ] || break
	done
	MAIL_CONFIG=$dir/postfix "$folder/master" -w
}

# What an earlier master left behind may be in the way for a moment, so it is tried again.
start_postfix() {
	local attempt
	! postfix_is_up || return 0
	for attempt in 1 2 3; do
		age_main_cf
		! run_master >>"$dir/log/setup.log" 2>&1 || return 0
		echo "postfix start failed (attempt $attempt)" >>"$dir/log/setup.log"
		wait_until 1 false || true
	done
	return 1
}

postfix_is_down() {
	! postfix_is_up
}

# As `postfix stop` does it, which looks for the end once a second.
# Its children hold its sockets for a moment longer.
stop_postfix() {
	local pid children=
	postfix_is_up || return 0
	master_pid
	read -r children 2>/dev/null <"/proc/$pid/task/$pid/children" || true
	kill "$pid" 2>/dev/null || true
	wait_until 180 postfix_is_down
	# shellcheck disable=SC2086 # words
	wait_until 5 are_gone $children || true
}

# None is at home in the queue folder any more, and a zombie is nowhere: their new
# parent may take a second or two to bury them.
are_gone() {
	local pid
	for pid; do
		[ ! "/proc/$pid/cwd" -ef "$dir/queue" ] || return 1
	done
}

# A quick pickup has read the W and closed before postkick writes the NUL behind
# it, which ends postkick by SIGPIPE; the kick has arrived.
kick_pickup() {
	postkick -c "$dir/postfix" public pickup W || [ $? -eq 141 ]
}

flush_queue() {
	postqueue -c "$dir/postfix" -f
}

# Neither waits for a place among the connections that a busy pickup or qmgr has not
# accepted yet, or for a master that has just been started.
flush_postfix() {
	local what
	for what in kick_pickup flush_queue; do
		wait_until 180 "$what" 2>>"$dir/log/setup.log" ||
			die "$what: Postfix cannot be reached, see $dir/log/setup.log"
	done
}
