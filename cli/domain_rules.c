/*
 * domain_rules: the options --policy and --subdomains.
 *
 * Threads: one.
 */
#include "cli/domain_rules.h"

#include "cli/arguments.h"
#include "cli/ask.h"
#include "cli/postfix_own.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/mail/addr.h"

static int read_policy(
	const struct call *call, enum domain_policy *policy_r, struct err *err)
{
	const char *word = call_option(call, OPTION_POLICY);

	if (word == NULL || store_domain_policy_parse(word, policy_r))
		return 0;
	return err_set(err, ERR_INVALID,
		"--policy is one of exclusive, learn, shared, not \"%s\"", word);
}

static int read_subdomains(
	const struct call *call, bool *covered_r, struct err *err)
{
	const char *word = call_option(call, OPTION_SUBDOMAINS);

	if (word == NULL || store_domain_subdomains_parse(word, covered_r))
		return 0;
	return err_set(err, ERR_INVALID,
		"--subdomains is one of own, covered, not \"%s\"", word);
}

int domain_rules_set(
	const struct call *call, struct domain *domain, struct err *err)
{
	if (read_policy(call, &domain->policy, err) < 0 ||
		read_subdomains(call, &domain->covers_subdomains, err) < 0)
		return -1;
	if (store_domain_set_policy(
		    call->db, domain->name, domain->policy, err) < 0 ||
		store_domain_set_subdomains(call->db, domain->name,
			domain->covers_subdomains, err) < 0)
		return -1;
	return 0;
}

/* Why nobody but the admin can say what is meant, as a question in *question_r,
 * a new string: 1, or 0 when the domain is not Postfix's, or -1. */
static int doubt(const struct conf *conf, const char *name, char **question_r,
	struct err *err)
{
	const char *where = NULL;
	int found = postfix_own_find(
		conf->submission.postfix_config, name, &where, err);

	if (found < 0)
		return err_prefix(err,
			"cannot tell whether Postfix has %s (say --policy to "
			"go on without)",
			name);
	if (found == 1)
		*question_r = mem_printf(
			"This Postfix has %s in %s, so people and programs "
			"here may be sending as it without a key. Which "
			"policy: learn (stop nobody, record what would be "
			"stopped), exclusive (stop all who are not exempt) or "
			"shared (stop nobody)?",
			name, where);
	return found;
}

int domain_rules_prepare(
	struct arguments *arguments, const struct conf *conf, struct err *err)
{
	static const char *const words[] = {"learn", "exclusive", "shared"};
	_cleanup_free_ char *name = NULL;
	_cleanup_free_ char *question = NULL;
	int doubtful;

	if (arguments->values[OPTION_POLICY] ||
		addr_domain_normalize(arguments->argument, &name, NULL) < 0)
		return 0;
	doubtful = doubt(conf, name, &question, err);
	if (doubtful <= 0)
		return doubtful;
	if (!arguments->json && ask_is_possible())
		arguments->values[OPTION_POLICY] = ask_choice(
			question, words, ARRAY_SIZE(words));
	if (arguments->values[OPTION_POLICY])
		return 0;
	return err_set(err, ERR_INVALID, "%s Say it with --policy.", question);
}

int domain_rules_check(
	const struct call *call, const struct domain *domain, struct err *err)
{
	_cleanup_free_ char *question = NULL;
	int doubtful;

	if (!domain->pending || call_option(call, OPTION_POLICY))
		return 0;
	doubtful = doubt(call->conf, domain->name, &question, err);
	if (doubtful <= 0)
		return doubtful;
	return err_set(err, ERR_INVALID, "%s Say it with --policy.", question);
}
