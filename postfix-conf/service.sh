# shellcheck shell=sh
# shellcheck disable=SC2034,SC2154 # what it sets is for those who source it; postfix.sh sets the rest
# The service of master.cf that postern-httpd submits to, with --submission smtp; sourced by
# common.sh.

# The service and its options. Each is explained in README.md.
# The syslog_name tells it from a service of that name that is somebody else's.
service=postern
service_mark=postfix/postern
service_line='postern   unix  n       -       n       -       256     smtpd'
service_options="
syslog_name=$service_mark
mynetworks=127.0.0.1/32,[::1]/128
smtpd_relay_restrictions=permit_mynetworks,reject
smtpd_client_restrictions=
smtpd_helo_restrictions=
smtpd_sender_restrictions=
smtpd_recipient_restrictions=
smtpd_data_restrictions=
smtpd_end_of_data_restrictions=
smtpd_reject_unlisted_sender=no
smtpd_reject_unlisted_recipient=no
local_header_rewrite_clients=permit_mynetworks
smtpd_command_filter=
smtpd_milter_maps=
smtpd_proxy_filter=
smtpd_upstream_proxy_protocol=
smtpd_tls_security_level=none
smtpd_sasl_auth_enable=no
smtpd_discard_ehlo_keywords=
smtpd_client_connection_count_limit=0
smtpd_client_connection_rate_limit=0
smtpd_client_message_rate_limit=0
smtpd_client_recipient_rate_limit=0
smtpd_recipient_limit=1000
smtpd_error_sleep_time=0
smtpd_timeout=300s
"

# Whether master.cf has the service for postern-httpd.
has_service() {
	has_entry "$service/unix"
}

# Whether it is the one that enable adds.
is_our_service() {
	read_overrides
	look_up "$overrides" "$service/unix/syslog_name" && [ "$answer" = "$service_mark" ]
}

# What to say of one that is not.
foreign_service() {
	line=$(awk -v name="$service" '$1 == name && $2 == "unix" {
		print NR
		exit
	}' "$config/master.cf")
	echo "$config/master.cf, line $line: this service $service is not the one" \
		"that enable adds, it lacks -o syslog_name=$service_mark"
}
