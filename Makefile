# Postern. `make help` lists what there is to do.

comma := ,
BUILD ?= $(if $(SAN),build-$(subst $(comma),-,$(SAN)),build)

CC       ?= gcc
CFLAGS   ?= $(if $(SAN),-O1 -g1,-O2 -g)
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wpointer-arith -Wwrite-strings -Wvla -Wundef -Wformat=2
# Loops over the bytes of a message: gcc's -O2 leaves them one by one.
VECTORS  := -ftree-vectorize
HARDEN   := -fstack-protector-strong -fPIE $(if $(SAN),,-D_FORTIFY_SOURCE=2)
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer \
	-fno-sanitize-recover=all)

PACKAGES := libevent libevent_pthreads jansson gmime-3.0 libxml-2.0 libidn2 \
	inih libsodium liboath uuid sqlite3 libpq zlib libsystemd libqrencode libcurl
PKGFLAGS := $(shell pkg-config --cflags $(PACKAGES) 2>/dev/null | \
	sed 's/-I/-isystem /g')

override CPPFLAGS += -D_GNU_SOURCE -I. $(PKGFLAGS)
override CFLAGS   += -std=gnu17 $(WARNINGS) $(VECTORS) $(HARDEN) $(SANFLAGS) $(WERROR) \
	-pthread
override LDFLAGS  += -pie -Wl,-z,relro,-z,now $(SANFLAGS) -pthread

CORE_LIBS   := $(shell pkg-config --libs gmime-3.0 libxml-2.0 libidn2 inih \
	libsodium liboath uuid sqlite3 zlib jansson 2>/dev/null)
HTTPD_LIBS  := $(shell pkg-config --libs libevent libevent_pthreads \
	libqrencode 2>/dev/null)
MILTER_LIBS := -lmilter
# Its pkg-config file requires nettle's, which Debian's package does not bring along.
DNS_LIBS    := -lunbound
EVENTS_LIBS := $(shell pkg-config --libs libsystemd 2>/dev/null)
WEBHOOK_LIBS := $(shell pkg-config --libs libevent libcurl 2>/dev/null)

objects = $(patsubst %.c,$(BUILD)/%.o,$(1))

CORE_OBJS   := $(call objects,$(wildcard core/*/*.c core/*/*/*.c)) $(BUILD)/gen/migrations.o
HTTPD_OBJS  := $(call objects,$(filter-out httpd/main.c,\
	$(wildcard httpd/*.c httpd/*/*.c)))
MILTER_OBJS := $(call objects,$(filter-out milter/main.c,$(wildcard milter/*.c)))
CLI_OBJS    := $(call objects,$(filter-out cli/main.c,$(wildcard cli/*.c)))
EVENTS_OBJS := $(call objects,$(filter-out events/main.c,$(wildcard events/*.c)))
INTAKE_OBJS := $(call objects,$(filter-out intake/main.c,$(wildcard intake/*.c)))
AUTH_OBJS   := $(call objects,$(filter-out auth/main.c,$(wildcard auth/*.c)))
WEBHOOK_OBJS := $(call objects,$(filter-out webhook/main.c,$(wildcard webhook/*.c)))
UNIT_TESTS  := $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/test_*.c))
UNIT_OBJS   := $(call objects,$(wildcard tests/unit/*.c))

CORE     := $(BUILD)/libcore.a
PROGRAMS := $(BUILD)/postern-httpd $(BUILD)/postern-milter $(BUILD)/postern-events \
	$(BUILD)/postern-intake $(BUILD)/postern-webhook $(BUILD)/postern-auth \
	$(BUILD)/postern

# Commands are shown with V=1.
Q   := $(if $(V),,@)
say  = $(if $(V)$(findstring s,$(firstword -$(MAKEFLAGS))),,@echo $@)

.PHONY: all
all: $(PROGRAMS)

$(BUILD)/postern-httpd: $(BUILD)/httpd/main.o $(BUILD)/libhttpd.a $(CORE)
	$(say)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(HTTPD_LIBS) $(CORE_LIBS) $(DNS_LIBS)

$(BUILD)/postern-milter: $(BUILD)/milter/main.o $(BUILD)/libfilter.a $(CORE)
	$(say)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(MILTER_LIBS) $(CORE_LIBS)

$(BUILD)/postern-events: $(BUILD)/events/main.o $(BUILD)/libevents.a $(CORE)
	$(say)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(EVENTS_LIBS) $(CORE_LIBS)

$(BUILD)/postern-intake: $(BUILD)/intake/main.o $(BUILD)/libintake.a $(CORE)
	$(say)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(CORE_LIBS)

$(BUILD)/postern-webhook: $(BUILD)/webhook/main.o $(BUILD)/libwebhook.a $(CORE)
	$(say)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(WEBHOOK_LIBS) $(CORE_LIBS)

$(BUILD)/postern-auth: $(BUILD)/auth/main.o $(BUILD)/libauth.a $(CORE)
	$(say)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(CORE_LIBS)

$(BUILD)/postern: $(BUILD)/cli/main.o $(BUILD)/libcli.a $(CORE)
	$(say)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(CORE_LIBS) $(DNS_LIBS)

$(CORE): $(CORE_OBJS)
$(BUILD)/libhttpd.a: $(HTTPD_OBJS)
$(BUILD)/libfilter.a: $(MILTER_OBJS)
$(BUILD)/libcli.a: $(CLI_OBJS)
$(BUILD)/libevents.a: $(EVENTS_OBJS)
$(BUILD)/libintake.a: $(INTAKE_OBJS)
$(BUILD)/libwebhook.a: $(WEBHOOK_OBJS)
$(BUILD)/libauth.a: $(AUTH_OBJS)
$(BUILD)/%.a:
	@rm -f $@
	$(say)
	$(Q)ar rcs $@ $^

# Said once, instead of by every compiler that is run.
$(BUILD)/packages: Makefile
	@mkdir -p $(@D)
	@command -v pkg-config $(CC) >/dev/null && \
		pkg-config --exists $(PACKAGES) || { \
		echo 'Packages are missing; tools/deps build installs them.' >&2; \
		exit 1; }
	@touch $@

$(BUILD)/%.o: %.c | $(BUILD)/packages
	@mkdir -p $(@D)
	$(say)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# They have the documents in them.
$(BUILD)/httpd/routes.o: httpd/openapi.json
$(BUILD)/httpd/admin/admin.o: httpd/admin.json
# By the assembler, of which ccache is not told.
$(addprefix $(BUILD)/httpd/,routes.o admin/admin.o admin/admin_web.o): export CCACHE_DISABLE := 1

# The dashboard's files go into postern-httpd; the folders tell when one comes
# or goes.
WEB_FILES := $(filter-out httpd/web/pages,$(sort $(wildcard httpd/web/* \
	httpd/web/pages/*)))

$(BUILD)/httpd/admin/admin_web.o: override CPPFLAGS += -I$(BUILD)
$(BUILD)/httpd/admin/admin_web.o: $(BUILD)/gen/web_files.h $(WEB_FILES)
$(BUILD)/gen/web_files.h: httpd/web httpd/web/pages Makefile
	@mkdir -p $(@D)
	@printf 'WEB_FILE(%s, "%s")\n' $(foreach file,$(WEB_FILES:httpd/web/%=%),\
		$(subst /,_,$(subst .,_,$(file))) $(file)) >$@

$(BUILD)/gen/migrations.o: $(BUILD)/gen/migrations.c
	$(say)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/gen/migrations.c: tools/embed_schema $(wildcard schema/*.sql schema/postgresql/*.sql)
	@mkdir -p $(@D)
	$(say)
	$(Q)tools/embed_schema schema/*.sql >$@.new && mv $@.new $@

# One program runs all unit tests; each file has a main() of its own. Tests set its monotonic clock
# (tests/unit/later_clock.h).
$(BUILD)/unit: override LDFLAGS += -Wl,--wrap=clock_monotonic_us
$(BUILD)/unit: $(UNIT_OBJS) $(BUILD)/libhttpd.a $(BUILD)/libfilter.a \
		$(BUILD)/libcli.a $(BUILD)/libevents.a $(BUILD)/libintake.a \
		$(BUILD)/libwebhook.a $(BUILD)/libauth.a $(CORE)
	$(say)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(HTTPD_LIBS) $(MILTER_LIBS) \
		$(EVENTS_LIBS) $(WEBHOOK_LIBS) $(CORE_LIBS) $(DNS_LIBS) -lcmocka

$(addprefix $(BUILD)/tests/unit/,$(addsuffix .o,$(UNIT_TESTS))): \
	override CPPFLAGS += -Dmain=$(basename $(@F))_main
$(addprefix $(BUILD)/tests/unit/,$(addsuffix .o,$(UNIT_TESTS))): \
	override CFLAGS += -Wno-missing-prototypes
# Compiled in a third of the time: a test need not be fast, what it tests is not in its file.
$(UNIT_OBJS): override CFLAGS += -O0 -U_FORTIFY_SOURCE
$(BUILD)/tests/unit/main.o: override CPPFLAGS += -I$(BUILD)
$(BUILD)/tests/unit/main.o: $(BUILD)/gen/unit_tests.h

# Rewritten when a test comes or goes.
$(BUILD)/gen/unit_tests.h: FORCE
	@mkdir -p $(@D)
	@printf 'UNIT_TEST(%s)\n' $(UNIT_TESTS) >$@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@

.PHONY: FORCE unit-tests
FORCE:
unit-tests: $(BUILD)/unit

# All that is compiled, with nothing linked. What a second compiler has to say, in a quarter of the
# time of a build: make CC=clang BUILD=build-clang CFLAGS='-O2 -fsyntax-only' objects
.PHONY: objects
objects: $(CORE_OBJS) $(HTTPD_OBJS) $(MILTER_OBJS) $(CLI_OBJS) $(EVENTS_OBJS) \
	$(INTAKE_OBJS) $(WEBHOOK_OBJS) $(AUTH_OBJS) $(UNIT_OBJS) \
	$(call objects,$(wildcard */main.c tools/*.c tests/fuzz/*.c))

# The manual: scdoc pages, with the tables of verbs and settings put in; and the
# completion for bash. The first line has man(1) run tbl(1), for the tables.
MAN_PAGES := $(patsubst doc/%.scd,$(BUILD)/man/%,$(wildcard doc/*.scd))

.PHONY: man
man: $(MAN_PAGES) $(BUILD)/postern.bash

$(BUILD)/man/%: doc/%.scd $(BUILD)/gen/gen_docs
	@mkdir -p $(@D)
	$(say)
	$(Q)$(BUILD)/gen/gen_docs <$< >$@.scd
	$(Q){ printf '%s\n' "'\\\" t"; scdoc <$@.scd; } >$@.new && mv $@.new $@ && rm $@.scd

$(BUILD)/postern.bash: tools/install/postern.bash $(BUILD)/gen/gen_docs
	$(say)
	$(Q)$(BUILD)/gen/gen_docs <$< >$@.new && mv $@.new $@

$(BUILD)/gen/gen_docs: $(BUILD)/tools/gen_docs.o $(BUILD)/libcli.a $(CORE)
	@mkdir -p $(@D)
	$(say)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(CORE_LIBS) $(DNS_LIBS)

# The sections of doc/HTTP-API.md that say what httpd/openapi.json says.
.PHONY: api-doc
api-doc:
	tools/api_doc httpd/openapi.json doc/HTTP-API.md

# The fuzzers over their corpus, with the objects of any build. Their functions
# have one name, which is another for each here, and stays in a build for libFuzzer.
FUZZERS     := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZER_OBJS := $(FUZZERS:%=$(BUILD)/tests/fuzz/%.o)

.PHONY: corpus
corpus: $(BUILD)/corpus

$(BUILD)/corpus: $(BUILD)/tests/fuzz/corpus.o $(FUZZER_OBJS) $(BUILD)/libhttpd.a \
		$(BUILD)/libevents.a $(BUILD)/libauth.a $(CORE)
	$(say)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(HTTPD_LIBS) $(CORE_LIBS) $(DNS_LIBS)

$(FUZZER_OBJS): override CPPFLAGS += $(if $(findstring fuzzer,$(SAN)),,\
	-DLLVMFuzzerTestOneInput=$(basename $(@F)))
$(BUILD)/tests/fuzz/corpus.o: override CPPFLAGS += -I$(BUILD)
$(BUILD)/tests/fuzz/corpus.o: $(BUILD)/gen/fuzzers.h

$(BUILD)/gen/fuzzers.h: FORCE
	@mkdir -p $(@D)
	@printf 'FUZZER(%s)\n' $(FUZZERS) >$@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@

# By clang's libFuzzer, each for a time, which needs all code built for it: a
# build of its own.
FUZZ_SECONDS ?= 600

$(BUILD)/fuzz/%: $(BUILD)/tests/fuzz/%.o $(BUILD)/libhttpd.a $(BUILD)/libevents.a \
		$(BUILD)/libauth.a $(CORE)
	@mkdir -p $(@D)
	$(say)
	$(Q)$(CC) $(LDFLAGS) -fsanitize=fuzzer -o $@ $^ $(HTTPD_LIBS) $(CORE_LIBS) $(DNS_LIBS)

.PHONY: fuzz-programs fuzz
fuzz-programs: $(FUZZERS:%=$(BUILD)/fuzz/%)

fuzz:
	@+$(BUILT) CC=clang SAN=fuzzer-no-link,address,undefined \
		BUILD=$(BUILD)-fuzz fuzz-programs
	@tests/fuzz/run fuzz $(BUILD)-fuzz/fuzz $(FUZZ_SECONDS)

# Benchmarks; doc/BENCHMARKS.md explains them. bench-GROUP measures one group,
# bench all of them.
BENCH_TOOLS := $(addprefix $(BUILD)/bench/,load spawn noop_milter yes_sasl)

$(BUILD)/bench/load: $(call objects,$(wildcard tests/bench/tools/load*.c) \
		tests/bench/tools/session.c)
$(BUILD)/bench/spawn: $(BUILD)/tests/bench/tools/spawn.o
$(BUILD)/bench/noop_milter: $(BUILD)/tests/bench/tools/noop_milter.o
$(BUILD)/bench/yes_sasl: $(BUILD)/tests/bench/tools/yes_sasl.o
$(BENCH_TOOLS): $(CORE)
	@mkdir -p $(@D)
	$(say)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(CORE) $(MILTER_LIBS) $(CORE_LIBS)

.PHONY: bench-tools bench
bench-tools: $(BENCH_TOOLS)

# What the peer needs, with the engine of better-sqlite3 compiled.
BENCH_PEER := tests/bench/node_modules/better-sqlite3/build

$(BENCH_PEER): tests/bench/package-lock.json
	cd $(<D) && npm ci --no-audit --no-fund --silent
	touch $@

bench: bench-all
bench-%: all bench-tools $(BENCH_PEER)
	@BUILD=$(BUILD) tests/bench/run $(filter-out all,$*)

# The rules of who may include whom, see doc/ARCHITECTURE.md, and the format.
.PHONY: layers
layers:
	tools/check_layers
	tools/check_words
	tools/check_format
	tools/check_json
	tools/check_shell

PREFIX ?= /usr/local

.PHONY: install uninstall
install: all man
	@tools/install/install $(BUILD) $(PREFIX) $(DESTDIR)

uninstall:
	@tools/install/uninstall $(PREFIX) $(DESTDIR)

# The Debian package, from a copy of the tree: into $(BUILD)/deb; with SUITE=trixie that for
# Debian 13, built in a Debian 13 of its own, into $(BUILD)/deb-trixie.
SUITE       := bookworm
PACKAGE_DIR := $(abspath $(BUILD))/deb-$(SUITE)
ifeq ($(SUITE),bookworm)
PACKAGE_DIR := $(abspath $(BUILD))/deb
endif

.PHONY: deb
deb:
	@tools/deps $(if $(filter bookworm,$(SUITE)),package,test-package)
	@rm -rf $(PACKAGE_DIR) && mkdir -p $(PACKAGE_DIR)/postern
	@tar -c --exclude=./.git --exclude='./build*' --exclude=node_modules . | \
		tar -x -C $(PACKAGE_DIR)/postern
	@$(if $(filter bookworm,$(SUITE)),CC='$(CC)') \
		DEB_BUILD_OPTIONS=parallel=$(shell nproc) tests/package/buildpackage $(SUITE) \
		$(PACKAGE_DIR)/postern dpkg-buildpackage -b -us -uc >$(PACKAGE_DIR)/build.log 2>&1 || \
		{ tail -n 30 $(PACKAGE_DIR)/build.log >&2; exit 1; }
	@ls $(PACKAGE_DIR:$(CURDIR)/%=%)/*.deb

# What runs comes after tools/deps, in a make of its own: the lists above ask
# pkg-config for packages that may only just have come.
PARALLEL = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))
BUILT    = $(MAKE) -s --no-print-directory $(PARALLEL)

# $(call built,TARGETS): a line for people when there is much to do.
built = @+$(BUILT) -q $(1) 2>/dev/null || echo 'Building (the first time \
takes a minute) ...' && $(BUILT) $(1)

# A whole mail system and an email through it; `run` keeps it up until Ctrl-C.
# STORE=postgresql keeps all in a private PostgreSQL.
.PHONY: run demo
run: serve := --serve
run demo:
	@tools/deps $(if $(filter postgresql,$(STORE)),run-postgresql,run)
	$(call built,all)
	@exec env BUILD=$(BUILD) tools/sandbox run --while $$PPID \
		$(if $(STORE),--store $(STORE)) -- tools/demo $(serve)

# SUITES names those of tests/run that are wanted; all of them without it.
.PHONY: test
test:
	@tools/deps test
	$(call built,all unit-tests corpus man bench-tools)
	@BUILD=$(BUILD) tests/run $(SUITES)

# The package in a Debian of its own, as README.md and doc/INSTALL.md say; SUITE=trixie: in
# Debian 13.
.PHONY: test-package
test-package:
	@tools/deps test-package
	@+$(MAKE) -s --no-print-directory deb
	@BUILD=$(BUILD) SUITE=$(SUITE) tests/run package

.PHONY: deps
deps:
	@tools/deps test

.PHONY: help
help:
	@echo 'make            builds the programs into $(BUILD)/'
	@echo 'make run        starts a whole private mail system, sends an email through'
	@echo '                it, and keeps it up'
	@echo 'make run STORE=postgresql  the same, with its store in PostgreSQL'
	@echo 'make demo       the same, but stops after the email'
	@echo 'make test       builds and runs all tests'
	@echo 'make deb        makes the Debian packages, into $(BUILD)/deb'
	@echo 'make test-package  installs, upgrades and removes them in a Debian'
	@echo '                of their own; SUITE=trixie: in Debian 13'
	@echo 'make fuzz       fuzzes every parser for FUZZ_SECONDS ($(FUZZ_SECONDS))'
	@echo 'make bench      measures; bench-GROUP one group of doc/BENCHMARKS.md'
	@echo 'make man        builds the manual pages'
	@echo 'make api-doc    brings doc/HTTP-API.md up to date'
	@echo 'make layers     checks who includes whom, and the format of C'
	@echo 'make install    installs below PREFIX ($(PREFIX))'
	@echo 'make uninstall  takes that out again; settings and data stay'
	@echo 'make deps       installs the Debian packages that building and the tests need'
	@echo 'make clean      removes all build folders'
	@echo
	@echo 'SAN=address,undefined builds and tests with sanitizers.'

.PHONY: clean
clean:
	rm -rf build build-*

.SECONDARY:
-include $(shell find $(BUILD) -path '$(BUILD)/deb*' -prune -o -name '*.d' -print 2>/dev/null)
