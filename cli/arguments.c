/*
 * arguments: parses the command line with getopt_long. First it reads the options of all verbs;
 * then the words select the verb, and the options are checked against its row.
 */
#include "cli/arguments.h"

#include <getopt.h>
#include <string.h>

#include "cli/verbs.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/conf/conf.h"

/* Longer texts are not misspelt words of ours. */
enum { LENGTH_MAX = 32 };

/* Three rows of the table of edit distances between prefixes of a and of b: row i is for i letters
 * of a. */
struct table {
	size_t rows[3][LENGTH_MAX + 1];
};

static size_t *row(struct table *table, size_t i)
{
	return table->rows[i % 3];
}

static size_t min(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t nearest_distance(const char *a, const char *b)
{
	size_t a_len = strlen(a), b_len = strlen(b);
	struct table table = {0};

	if (a_len > LENGTH_MAX || b_len > LENGTH_MAX)
		return a_len + b_len;
	for (size_t k = 0; k <= b_len; k++)
		row(&table, 0)[k] = k;
	/* Each distance follows from those of shorter prefixes. */
	for (size_t i = 1; i <= a_len; i++) {
		row(&table, i)[0] = i;
		for (size_t k = 1; k <= b_len; k++) {
			size_t best = row(&table, i - 1)[k - 1] + (a[i - 1] != b[k - 1]);

			best = min(best, row(&table, i - 1)[k] + 1);
			best = min(best, row(&table, i)[k - 1] + 1);
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
				best = min(best, row(&table, i - 2)[k - 2] + 1);
			row(&table, i)[k] = best;
		}
	}
	return row(&table, a_len)[b_len];
}

void nearest_try(struct nearest *nearest, const char *word)
{
	size_t distance = nearest_distance(nearest->text, word);

	if (distance > (strlen(nearest->text) + 2) / 3)
		return;
	if (nearest->word && nearest->distance <= distance)
		return;
	nearest->word = word;
	nearest->distance = distance;
}

/* Appends `; did you mean WORD?`, with the text before it; nothing if no word is near. */
static void nearest_add(const struct nearest *nearest, const char *before, struct buf *out)
{
	if (nearest->word)
		buf_printf(out, "; did you mean %s%s?", before, nearest->word);
}

enum {
	FIRST_VERB_OPTION = 256, /* beyond all characters */
	GENERAL_OPTIONS = 4,
};

static const struct option general[GENERAL_OPTIONS] = {
	{"config", required_argument, NULL, 'c'},
	{"json", no_argument, NULL, 'j'},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
};

/* text is the last argument that getopt looked at: the option itself, unless it is one of several
 * letters after one dash. */
static int refuse_unknown(const char *text, struct err *err)
{
	_cleanup_free_ char *name = NULL;
	_cleanup_buf_ struct buf meant = BUF_INIT;
	struct nearest nearest = {0};

	if (!str_starts(text, "--") && optopt > 0 && optopt < FIRST_VERB_OPTION)
		return err_set(err, ERR_INVALID, "there is no option -%c", optopt);
	text += strspn(text, "-");
	name = mem_dup(text, strcspn(text, "="));
	nearest.text = name;
	for (size_t i = 0; i < GENERAL_OPTIONS; i++)
		nearest_try(&nearest, general[i].name);
	for (size_t i = 0; i < OPTIONS; i++)
		nearest_try(&nearest, verbs_options[i].name);
	nearest_add(&nearest, "--", &meant);
	return err_set(err, ERR_INVALID, "there is no option --%s%s", text, buf_str(&meant));
}

static int read_options(int argc, char **argv, struct arguments *arguments, struct err *err)
{
	struct option all[GENERAL_OPTIONS + OPTIONS + 1] = {0};
	int code;

	memcpy(all, general, sizeof(general));
	for (int i = 0; i < OPTIONS; i++)
		all[GENERAL_OPTIONS + i] = (struct option){
			.name = verbs_options[i].name,
			.has_arg = verbs_options[i].argument ? required_argument : no_argument,
			.val = FIRST_VERB_OPTION + i,
		};
	optind = 0; /* restarts getopt, including the permutation */
	opterr = 0;
	while ((code = getopt_long(argc, argv, ":c:hV", all, NULL)) != -1) {
		const int id = code - FIRST_VERB_OPTION;

		switch (code) {
		case 'c':
			arguments->conf_path = optarg;
			break;
		case 'j':
			arguments->json = true;
			break;
		case 'h':
			arguments->help = true;
			break;
		case 'V':
			arguments->version = true;
			break;
		case ':':
			return err_set(err, ERR_INVALID, "%s wants a value", argv[optind - 1]);
		case '?':
			return refuse_unknown(argv[optind - 1], err);
		default:
			if (arguments->values[id])
				return err_set(err, ERR_INVALID, "--%s is given twice",
					verbs_options[id].name);
			/* Ids are compared in lower case. */
			if (verbs_options[id].argument && str_eq(verbs_options[id].argument, "ID"))
				str_lower(optarg);
			arguments->values[id] = optarg ? optarg : "";
		}
	}
	return 0;
}

/* Adds which noun the word may mean, or with a noun, which of its verbs. */
static void add_meant(const char *noun, const char *word, struct buf *out)
{
	struct nearest nearest = {.text = word};

	for (size_t i = 0; verbs[i]; i++)
		if (noun == NULL)
			nearest_try(&nearest, verbs[i]->noun);
		else if (verbs[i]->name && str_eq(verbs[i]->noun, noun))
			nearest_try(&nearest, verbs[i]->name);
	nearest_add(&nearest, "", out);
}

/* Finds the verb of the words; *used_r is the number of words used. */
static int find_verb(struct arguments *arguments, char **words, int *used_r, struct err *err)
{
	_cleanup_buf_ struct buf known = BUF_INIT;

	*used_r = 0;
	if (words[0] == NULL)
		return err_set(err, ERR_INVALID, "a command is missing");
	if (!verbs_has_noun(words[0])) {
		usage_add_nouns(&known);
		add_meant(NULL, words[0], &known);
		return err_set(err, ERR_INVALID, "there is no command \"%s\", but %s", words[0],
			buf_str(&known));
	}
	arguments->noun = words[0];
	/* A noun may have verbs, and also be a verb itself. */
	*used_r = 2;
	arguments->verb = words[1] ? verbs_find(words[0], words[1]) : NULL;
	if (arguments->verb)
		return 0;
	*used_r = 1;
	arguments->verb = verbs_find(words[0], NULL);
	if (arguments->verb)
		return 0;
	usage_add_names(words[0], &known);
	if (words[1] == NULL)
		return err_set(
			err, ERR_INVALID, "%s what? There are %s", words[0], buf_str(&known));
	*used_r = 2;
	add_meant(words[0], words[1], &known);
	return err_set(
		err, ERR_INVALID, "%s has no \"%s\", but %s", words[0], words[1], buf_str(&known));
}

/* Guesses the verb if the options are invalid, to show its usage. */
static void guess_verb(int argc, char **argv, struct arguments *arguments)
{
	int i = 1;

	while (i < argc && !verbs_has_noun(argv[i]))
		i++;
	if (i == argc)
		return;
	arguments->verb = i + 1 < argc ? verbs_find(argv[i], argv[i + 1]) : NULL;
	if (arguments->verb == NULL)
		arguments->verb = verbs_find(argv[i], NULL);
}

int arguments_parse(int argc, char **argv, struct arguments *arguments_r, struct err *err)
{
	const struct verb *verb;
	const char *dots;
	char **words;
	int used;

	*arguments_r = (struct arguments){.conf_path = CONF_DEFAULT_PATH};
	if (read_options(argc, argv, arguments_r, err) < 0) {
		guess_verb(argc, argv, arguments_r);
		return -1;
	}
	words = argv + optind;
	if (words[0] && str_eq(words[0], "help")) {
		arguments_r->help = true;
		words++;
	}
	if (arguments_r->version || (arguments_r->help && words[0] == NULL))
		return 0;
	if (find_verb(arguments_r, words, &used, err) < 0) {
		bool noun_alone = arguments_r->noun && words[1] == NULL;

		return arguments_r->help && noun_alone ? 0 : -1;
	}
	verb = arguments_r->verb = verbs_variant(arguments_r->verb, arguments_r->values);
	if (arguments_r->help)
		return 0;
	words += used;
	arguments_r->words = words;
	dots = verb->argument ? strstr(verb->argument, "...") : NULL;
	if (verb->argument && (words[0] || *verb->argument != '[')) {
		if (words[0] == NULL)
			return err_set(err, ERR_INVALID, "%.*s is missing",
				(int)(dots ? dots - verb->argument : 100), verb->argument);
		arguments_r->argument = *words++;
	}
	if (words[0] && dots == NULL)
		return err_set(err, ERR_INVALID, "\"%s\" is one word too many", words[0]);
	for (int i = 0; i < OPTIONS; i++) {
		const struct verb_option *taken = verbs_takes(verb, (enum verb_option_id)i);

		if (arguments_r->values[i] && taken == NULL)
			return err_set(err, ERR_INVALID, "--%s does not belong to this command",
				verbs_options[i].name);
		if (!arguments_r->values[i] && taken && taken->required)
			return err_set(err, ERR_INVALID, "--%s is missing", verbs_options[i].name);
	}
	return 0;
}
