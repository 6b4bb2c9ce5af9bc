# SPDX-License-Identifier: MIT
# The commands of the project.  Everything is built under build/ and installed into .venv; nothing else is touched.
#
#   make             libhew.so and libhew.a in build/release
#   make demo        builds the library and the tool, then compares the allocators here on one job of half a minute
#   make test        every test
#   make docs        the documents as a site with search, build/site/index.html; links and headings are checked
#   make tidy        clang-tidy over all of src/
#   make coverage    branches of page, slab and cache that their tests take, as a page
#   make mutants     small changes of the lower layers: which ones do the tests not notice?  MUTANTS=200 MUTANTS_SEED=1
#   make peers       newer jemalloc, mimalloc, snmalloc, rpmalloc from cargo crates, into build/peers
#   make bench-quick    our suite under every allocator, five minutes: tables and a page
#   make bench-nightly  the whole suite, 45 minutes; writes docs/benchmarks.md
#   make bench-unseen   programs that nothing was tuned to; writes docs/unseen.md
#   make bench-pools    pools against malloc, and look-ups of sizes; writes the tables of docs/pools.md
#   make bench-limits   five workloads in a control group at 1.10 of what they need: who is killed, and what it costs; LIMITS_RUNS=20
#   make bench-weeks    a server's fortnight in 20 minutes under every allocator: does memory follow the load?  Writes docs/weeks.md
#   make cut-to-fit  ten real programs: recorded, cut, searched, run; writes docs/cut-to-fit.md, ten minutes
#   make tuning      the figures of docs/tuning.md: from statistics to a gain by hand; a minute or two
#   make attach-soak  hew attaches to busy Redis, Rust and Java on jemalloc, a thousand times each; ATTACHES=1000
#   make soak        the benchmarks' programs under hew, again and again, with settings that move its limits; SOAK_ROUNDS=10
#   make refused-calls  system calls refused by chance to a whole program, over all settings; REFUSED_SECONDS=600
#   make simulate    the library on a simulated machine: random histories, each from its seed; SIMULATE_OPERATIONS=100000000
#   make scaling     what a million pairs would cost on 1 to 192 processors, by the same machine
#   make programs    54 real programs under glibc, hew and every peer: same output, time, memory; writes docs/programs.md;
#                    PROGRAMS_ROUNDS=5, and again with RESUME=--resume after an interruption
#   make programs-quick   the twelve that tell most, in ten minutes
#   make programs-count   instructions of the programs without servers and windows, by callgrind; into the same file
#   make compat      programs and crates written for jemalloc, with hew in its place; needs Debian's packages and cargo
#   make test-aarch64   builds for aarch64 and runs unit tests, settings fuzzers and whole programs under qemu-user
#   make packages    each package built, installed in a place of its own, used and removed; the commands of the README in a clean copy:
#                    half an hour; needs cargo, Debian's packages
#   make dist        what a release consists of, into build/dist: tarballs, wheel, crates, Debian packages, SBOM, checksums
#   make test-engines   hew export with Debian's prometheus and victoria-metrics, which are killed again and again; ENGINES_KILLS=10
#   make bench-fleet    a day of 500 to 4,000 played hosts in engines and the store: does hew fleet find what is planted?  FLEET_HOSTS=2000 FLEET_PAGE=docs/fleet.md
#   make nightly-fleet  both of these, whole; writes the table of docs/fleet.md
#   make clean       removes build/
PYTHON ?= python3
JOBS ?= $(shell nproc)
# Six runs are the fewest that hew compare draws a conclusion from.
DEMO_RUNS ?= 6
PROGRAMS_ROUNDS ?= 5
PROGRAMS_PEERS ?=
QUICK_PEERS ?= jemalloc-5.3.1 mimalloc-3.4.3 tcmalloc-2.10
RESUME ?=
SOAK_ROUNDS ?= 10
LIMITS_RUNS ?= 20
ENGINES_KILLS ?= 10
FLEET_HOSTS ?= 500,1000,2000,4000
FLEET_PAGE ?=
TIDY_SINCE ?= HEAD~1
# Of each process, of which there are JOBS; the first seed is the time, so that each run sees other histories.
SIMULATE_OPERATIONS ?= 1000000
SIMULATE_SECONDS ?= 0
SIMULATE_SEED ?= $(shell date +%s)000

# Ninja, where it is, needs a third less of the processors than make; a build folder keeps what it was made with.
GENERATOR = CMAKE_GENERATOR="$$(command -v ninja >/dev/null && echo Ninja || echo 'Unix Makefiles')"
# Said here, since a copy without .git would leave them out.
CONFIGURE = $(GENERATOR) cmake --preset $@ -DHEW_TESTS=ON -DHEW_BENCH=ON
BUILD = cmake --build --preset $@ --parallel $(JOBS)
# One more than there are processors: some tests mostly wait.
CTEST = ctest --output-on-failure --no-tests=error --parallel $$(($(JOBS) + 1))
# Whole programs, whose threads run as the machine lets them, get a second try, which CI's closing lines name; nothing else does.
PROGRAMS_LABELS = preload|users
# Both parts of the tests of a build $(1), without those of the label $(2) if there is one.
TESTS_OF = @status=0; $(CTEST) --test-dir build/$(1) -LE '$(PROGRAMS_LABELS)$(if $(2),|$(2))' || status=1; \
	$(CTEST) --test-dir build/$(1) -L '$(PROGRAMS_LABELS)' --repeat until-pass:2 $(if $(2),-LE $(2)) || status=1; exit $$status
LIBRARY = build/release/libhew.so
# Hundreds of processes of Python, each of which would compile the tool anew.
export PYTHONDONTWRITEBYTECODE =
# Without this a program under UBSan reports and goes on to pass.
export UBSAN_OPTIONS = halt_on_error=1:print_stacktrace=1
# The purger's thread in a fork's child is what we test.
export TSAN_OPTIONS = die_after_fork=0
# ThreadSanitizer needs the address space laid out as it expects; not every container lets us ask for that.
FIXED_ADDRESSES := $(shell setarch $(shell uname -m) -R true 2>/dev/null && echo setarch $(shell uname -m) -R)

.DEFAULT_GOAL := release
MAKEFLAGS += --no-print-directory
.NOTPARALLEL:
.PHONY: release dev asan tsan aarch64 test-aarch64 clean
.PHONY: docs packages dist test-engines bench-fleet nightly-fleet peers bench-quick bench-nightly bench-pools bench-limits bench-weeks cut-to-fit tuning tool-output soak attach-soak refused-calls simulate scaling test checks tidy coverage mutants test-release test-just-booted test-dev test-planted test-asan test-tsan test-programs test-python programs programs-quick programs-count compat demo

release:
	@$(PYTHON) scripts/prepare.py build
	$(CONFIGURE)
	$(BUILD)

dev:
	$(CONFIGURE) -DHEW_BENCH=OFF
	$(BUILD)

# Only the programs that run under a sanitizer (asan looks for undefined behaviour as well): unit tests and fuzz targets.
asan tsan:
	$(CONFIGURE) -DHEW_BENCH=OFF
	$(BUILD) --target hew_sanitized

# The parts one after the other; make -k test goes on to the next part when one fails.
test: checks test-release test-just-booted test-dev test-planted test-asan test-tsan test-programs test-python

# Less the models, which the checks inside the library make sharper: they run in dev.
test-release: release
	$(call TESTS_OF,release,checked)

# The unit tests on a machine whose clocks have just begun.
test-just-booted: release
	$(PYTHON) scripts/just_booted.py $(CTEST) --test-dir build/release -R '^unit\.'

# Less what has nothing to do with the checks inside the library.
test-dev: dev
	$(call TESTS_OF,dev,once)

# Faults that the checks inside the library must find, each at its level.
test-planted: dev
	$(PYTHON) tests/planted/run.py

# These two sanitizers bring a malloc and a new of their own, so the tests of ours cannot run; and frames of their own.
test-asan test-tsan: EXCEPT = -E '^unit\.(api\.|prof\.unwind)'
test-asan: asan
	$(CTEST) --test-dir build/asan -R '^(unit|fuzz)\.' $(EXCEPT)

test-tsan: tsan
	$(FIXED_ADDRESSES) $(CTEST) --test-dir build/tsan -R '^unit\.' $(EXCEPT)

aarch64:
	@$(PYTHON) scripts/prepare.py aarch64
	$(CONFIGURE) -DHEW_BENCH=OFF
	$(BUILD)

# What qemu-user 7.2 cannot do: it has no process_madvise (unit.page.purge), does not hold address space to a limit (unit.meta.map), lays mappings
# elsewhere than Linux (unit.page.split, unit.alloc.realloc), counts its own memory as the program's (unit.os.memory), writes a line of its own when
# a program aborts (unit.os.fatal), and stops at an assertion of its own when a threaded program forks (unit.control.purger).
NOT_UNDER_QEMU = unit\.(page\.(purge|split)|meta\.map|alloc\.realloc|os\.(memory|fatal)|control\.purger)
# Of whole programs those that neither fork nor stop threads by signals.
UNDER_QEMU = stress|entry_points|first_call|small_share|tuning_calls|control_calls.*|alignment|contents|cxx_operators|before_main|ifunc_resolver|main_thread_exits.*|stack_cache|deepbind
test-aarch64: aarch64
	$(CTEST) --test-dir build/aarch64 -R '^(unit|fuzz)\.' -E '^$(NOT_UNDER_QEMU)$$'
	$(CTEST) --test-dir build/aarch64 -R '^preload\.($(UNDER_QEMU))$$'

# Words that are misspelt in a known way, in what people read; settings in pyproject.toml.
SPELLING = .venv/bin/codespell *.md docs src trace include tool/src scripts packaging
# All of them, whichever fails.  clang-tidy here only over what differs from the commit before: all of it is `make tidy`.
checks: release
	@$(PYTHON) scripts/prepare.py test
	@status=0; for check in check_format 'check_tidy --since $(TIDY_SINCE)' check_layers check_sizes check_decisions check_figures check_links 'gen_pages --check' call_cycles check_first check_symbols fast_path; do \
	  set -- $$check; command=$$1; shift; $(PYTHON) scripts/$$command.py "$$@" || status=1; done; \
	  $(SPELLING) || status=1; exit $$status

# clang-tidy over all of src/, a file at a time on each processor: four minutes of work, two on two idle processors.
tidy: release
	@$(PYTHON) scripts/prepare.py test
	$(PYTHON) scripts/check_tidy.py

# Which branches of page, slab and cache are taken by their tests, by those of alloc and where memory is refused at every call: a
# summary, build/cov/coverage/index.html, and branches.md beside it, which says of those that nobody takes why not.  For the nightly
# run.  Neither checks count nor what is there for them alone (valid.c), nor the ways out of calls by an exception.
COVERED = page|slab|cache
COVERED_BUILD = $(GENERATOR) cmake --preset cov -DHEW_TESTS=ON -DHEW_BENCH=OFF && cmake --build --preset cov --parallel $(JOBS) --target
coverage:
	@$(PYTHON) scripts/prepare.py test
	$(COVERED_BUILD) hew_covered
	find build/cov -name '*.gcda' -delete
	$(CTEST) --test-dir build/cov -R '^((unit|model)\.($(COVERED)|alloc)\.|oom\.layers)'
	@mkdir -p build/cov/coverage
	.venv/bin/gcovr --root . --filter 'src/($(COVERED))/' --exclude '.*valid\.[ch]' --exclude-branches-by-pattern '.*HEW_ASSERT' --exclude-throw-branches \
	  --exclude-unreachable-branches --txt-metric branch --print-summary --json build/cov/coverage/branches.json --html-details build/cov/coverage/index.html build/cov
	$(PYTHON) scripts/check_branches.py build/cov/coverage/branches.json

# To be read: each survivor is a test that is missing, or code that does not matter.
MUTANTS ?= 200
MUTANTS_SEED ?= 1
MUTANTS_JOBS ?= $(JOBS)
mutants: release dev
	$(COVERED_BUILD) hew_judging
	$(PYTHON) scripts/mutants.py --count $(MUTANTS) --seed $(MUTANTS_SEED) --jobs $(MUTANTS_JOBS) --checked build/dev

# The real programs that take a minute together; the full table is `make programs`.
test-programs: release
	$(PYTHON) -m unittest discover -s tests/programs
	$(PYTHON) tests/programs/run.py --library $(LIBRARY) --set quick --install

# Two processes on two processors wait for programs a third of the time, so there are four.
# A test that fails gets a second try, up to ten of them; CI's closing lines name those that needed it.
RERUNS = --reruns 1 --max-suite-reruns 10 --rerun-show-tracebacks -raR
test-python:
	@$(PYTHON) scripts/prepare.py test
	.venv/bin/ruff check --extend-per-file-ignores 'tests/scripts/*:S101' tool scripts tests/scripts tests/packages
	.venv/bin/mypy
	MYPYPATH=scripts:tool/src .venv/bin/mypy --strict scripts tests/scripts
	MYPYPATH=scripts:tests/packages .venv/bin/mypy --strict tests/packages
	.venv/bin/python scripts/build_wheel.py
	@status=0; for tests in tool/tests tests/scripts; do \
	  echo "pytest $$tests"; .venv/bin/pytest -q --numprocesses 4 --dist loadfile $(RERUNS) $$tests || status=1; done; exit $$status

# One job, half a minute on two quiet processors: 64 threads that make and free 3,000 objects at a time.  Builds what the README shows and
# no test program.
DEMO = build/release/bench/apps/crowd --threads 64 --objects 3000 --pairs 10000000
DEMO_PEERS = --alloc jemalloc --alloc tcmalloc --alloc mimalloc --alloc hew
DEMO_LOG = build/demo/build.log
demo:
	@mkdir -p build/demo
	@$(PYTHON) scripts/prepare.py build
	@echo 'building hew into build/release, a minute or two the first time; log: $(DEMO_LOG)'
	@{ $(GENERATOR) cmake --preset release -DHEW_TESTS=OFF -DHEW_BENCH=ON && \
	  cmake --build --preset release --parallel $(JOBS) --target hew hew_static hew_trace hew_replay hew_simulate bench_crowd; \
	} > $(DEMO_LOG) 2>&1 || { tail -n 30 $(DEMO_LOG); exit 1; }
	@$(PYTHON) scripts/prepare.py demo
	@echo; echo 'A server under load: 64 threads, each makes and frees 3,000 objects of 16 to 2,000 bytes at a time.'
	.venv/bin/hew compare --runs $(DEMO_RUNS) $(DEMO_PEERS) --html build/demo/demo.html -- $(DEMO)
	@echo; echo 'This workload is one where malloc matters.  docs/benchmarks.md has 52 others, with those that hew loses.'
	@echo 'Next, your own program:  .venv/bin/hew compare -- ./job input.dat'

# Not needed for anything but comparisons: a peer that cannot be built here is left out of them.
peers:
	-$(PYTHON) bench/peers/build.py

# On a quiet machine; whatever else runs is measured too.
bench-quick bench-nightly bench-unseen: bench-%: release
	@$(PYTHON) scripts/prepare.py bench
	@$(PYTHON) bench/programs/make_inputs.py
	.venv/bin/hew bench --suite $* --save build/bench/$*.json --html build/bench/$*.html
	@case $* in nightly) page=docs/benchmarks.md;; unseen) page=docs/unseen.md;; *) exit 0;; esac; \
	  $(PYTHON) scripts/gen_benchmarks.py build/bench/$*.json $$page

bench-nightly bench-unseen: peers

bench-pools: release
	$(PYTHON) scripts/bench_pools.py --save build/bench/pools.json --page docs/pools.md

# As root, who may make a control group; else by our settings.
bench-limits: release
	$(PYTHON) scripts/bench_limits.py --runs $(LIMITS_RUNS)

# Memory is measured, and the load is light: all at the same time.
bench-weeks: release peers
	@$(PYTHON) scripts/prepare.py bench
	.venv/bin/python scripts/bench_weeks.py

# What is in build/cut-to-fit is not measured again; remove a program's files to have it anew.
cut-to-fit: release
	@$(PYTHON) scripts/prepare.py bench
	.venv/bin/python scripts/gen_cut_to_fit.py

# Under Debian's jemalloc and hew, a minute or two.
tuning: release
	@$(PYTHON) scripts/prepare.py demo
	.venv/bin/python scripts/gen_tuning.py

# For hours where there are some: races show themselves in one run of many.
soak: release dev
	$(PYTHON) scripts/soak.py --rounds $(SOAK_ROUNDS)

# Ten minutes for the nightly run; the first seed is the time, so that each run sees other refusals.  A seed that is found has its words printed.
REFUSED_SECONDS ?= 600
REFUSED_SEED ?= $(shell date +%s)
refused-calls: release dev
	$(PYTHON) tests/refused/run.py --seconds $(REFUSED_SECONDS) --seed $(REFUSED_SEED) --jobs $(JOBS) --library $(LIBRARY) --library build/dev/libhew.so

# Whether programs on jemalloc notice that hew stats reads them; as root, on a machine with processors to spare.
ATTACHES ?= 1000
attach-soak:
	@$(PYTHON) scripts/prepare.py demo
	.venv/bin/python scripts/attach_soak.py --attaches $(ATTACHES)

simulate: release
	@status=0; pids=; for i in $$(seq $(JOBS)); do \
	  nice build/release/tests/simulate/simulate --seed $$(($(SIMULATE_SEED) + i * 1000000000000)) \
	    --operations $(SIMULATE_OPERATIONS) --seconds $(SIMULATE_SECONDS) > build/simulate.$$i.txt & pids="$$pids $$!"; done; \
	  for pid in $$pids; do wait $$pid || status=1; done; \
	  for i in $$(seq $(JOBS)); do cat build/simulate.$$i.txt; done; \
	  for i in $$(seq $(JOBS)); do tail -n 1 build/simulate.$$i.txt; done | awk '/ operations, / { operations += $$1; runs += $$3; findings += $$5 } \
	    END { printf "simulate: %.0f operations, %d runs, %d findings\n", operations, runs, findings }'; exit $$status

scaling: release
	build/release/tests/simulate/scaling

# Two minutes: what each command of the tool prints of a Redis under load and of sqlite3.
tool-output: release
	@$(PYTHON) scripts/prepare.py bench
	.venv/bin/python scripts/gen_tool_outputs.py

# On a quiet machine, hours: times are worth what the machine is.  Memory is sampled in a round of its own.
PROGRAMS = $(PYTHON) tests/programs/run.py --library $(LIBRARY) --install
programs: release peers
	@$(PYTHON) scripts/prepare.py bench
	$(PROGRAMS) --set full --peers $(PROGRAMS_PEERS) --sampled 1 --runs $(PROGRAMS_ROUNDS) --save build/programs/full.json $(RESUME)
	.venv/bin/python scripts/gen_programs.py build/programs/full.json docs/programs.md

programs-quick: release peers
	@$(PYTHON) scripts/prepare.py bench
	$(PROGRAMS) --set telling --peers $(QUICK_PEERS) --sampled 1 --runs 3 --save build/programs/quick.json
	.venv/bin/python scripts/gen_programs.py build/programs/quick.json --print

programs-count: release peers
	$(PROGRAMS) --set full --peers $(QUICK_PEERS) --count --save build/programs/full.json

# Debian's programs that are linked to jemalloc, what meets it by preload, and the Rust crates' tests (shared and static).
# COMPAT_REDIS=path: also a redis-server built from source with a je_-prefixed hew, which has to defragment.
compat: release
	$(PYTHON) tests/users/redis.py $(LIBRARY)
	$(PYTHON) tests/users/servers.py $(LIBRARY)
	$(PYTHON) tests/users/preloaded.py $(LIBRARY)
	$(PYTHON) tests/users/rust.py --background-threads $(LIBRARY)
	$(PYTHON) tests/users/rust.py --background-threads $(LIBRARY:.so=.a)
	$(if $(COMPAT_REDIS),$(PYTHON) tests/users/defrag.py $(COMPAT_REDIS))

docs:
	@$(PYTHON) scripts/prepare.py docs
	.venv/bin/python scripts/build_site.py

# What is not installed here is skipped, with its name.
packages:
	@$(PYTHON) scripts/prepare.py packages
	.venv/bin/pytest -p no:cacheprovider tests/packages

dist:
	@$(PYTHON) scripts/prepare.py packages
	.venv/bin/python scripts/make_dist.py

# Two minutes, on loopback; what runs at the end of a step is ended by its process id.
test-engines: release
	@$(PYTHON) scripts/prepare.py engines
	.venv/bin/python tests/engines/run.py --kills $(ENGINES_KILLS)

# Half an hour at all sizes; what else runs is measured too.
bench-fleet:
	@$(PYTHON) scripts/prepare.py test
	@$(PYTHON) scripts/prepare.py engines
	.venv/bin/python bench/fleet/run.py --hosts $(FLEET_HOSTS) --within 2 store victoria-metrics prometheus $(if $(FLEET_PAGE),--page $(FLEET_PAGE))

# What a night has time for: every check of the fleet, whole.
nightly-fleet: FLEET_PAGE = docs/fleet.md
nightly-fleet: test-engines bench-fleet

clean:
	rm -rf build
