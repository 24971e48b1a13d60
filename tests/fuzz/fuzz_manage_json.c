/*
 * Fuzzes the requests about domains and keys: what is accepted is within the
 * bounds that the store relies on.
 */
#include <string.h>

#include "core/address/addr.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/ops/op_domain.h"
#include "core/ops/op_key.h"
#include "core/store/company/store_key.h"
#include "httpd/json/api_json.h"
#include "httpd/json/json_field.h"
#include "tests/fuzz/fuzz.h"

static void parse_domain(const json_t *body)
{
	_cleanup_free_ char *name = NULL;
	struct problem problem = PROBLEM_INIT;
	struct op_domain domain = {0};

	if (domain_json_parse_new(body, &domain, &problem) < 0) {
		CHECK(problem.kind != PROBLEM_NONE && problem.text[0]);
		return;
	}
	CHECK(addr_domain_normalize(domain.name, &name, NULL) == 0);
	CHECK(*name && strlen(name) < 256);
}

static void parse_key(const json_t *body)
{
	struct problem problem = PROBLEM_INIT;
	struct op_key wanted = {0};
	unsigned scopes = 0;

	if (key_json_parse(body, &wanted, &problem) < 0) {
		CHECK(problem.kind != PROBLEM_NONE && problem.text[0]);
		return;
	}
	CHECK(str_utf8_valid(wanted.name, strlen(wanted.name)));
	CHECK(store_key_scopes_parse(wanted.scopes, &scopes, NULL) == 0);
	CHECK(scopes != 0 && (scopes & ~(unsigned)KEY_ALL) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct problem problem = PROBLEM_INIT;
	json_t *body;

	if (json_field_parse((const char *)data, size, &body, &problem) < 0) {
		CHECK(problem.kind != PROBLEM_NONE && problem.text[0]);
		return 0;
	}
	parse_domain(body);
	parse_key(body);
	json_decref(body);
	return 0;
}
