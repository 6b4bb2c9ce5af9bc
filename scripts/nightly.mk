# SPDX-License-Identifier: MIT
# What CI does not run, included by the Makefile: longer tests, measurements, and pages made from them. scripts/nightly.py runs them one
# after the other and says what changed since its last run; each can also be run alone, as `make NAME`.
#
#   tidy             clang-tidy over all of src/
#   coverage         branches of page, slab and cache that their tests take, as a page
#   mutants          small changes of the lower layers: which ones do the tests not notice?  MUTANTS=200 MUTANTS_SEED=1
#   test-aarch64     builds for aarch64 and runs unit tests, settings fuzzers and whole programs under qemu-user, programs
#                      with pages of 4, 16 and 64 KiB
#   compat           programs and crates written for jemalloc, with hew in its place; needs Debian's packages and cargo
#   packages         each package built, installed in a place of its own, used and removed; the commands of the README in a clean copy;
#                    the parts of a release made twice: half an hour; needs cargo, Debian's packages
#   refused-calls    system calls refused by chance to a whole program, over all settings; REFUSED_SECONDS=600
#   simulate         the library on a simulated machine: random histories, each from its seed; SIMULATE_OPERATIONS=100000000
#   hardened         simulator, models, fuzzers and programs at each level of hardening, longer than in CI; HARDENED_OPERATIONS=10000000
#   soak             the benchmarks' programs under hew, again and again, with settings that move its limits; SOAK_ROUNDS=10
#   attach-soak      hew attaches to busy Redis, Rust and Java on jemalloc, a thousand times each; ATTACHES=1000
#   swap-soak        hew swaps nine busy programs, there and back, and goes on where it was; is killed at 500 random moments, then at each step; SWAPS=1000
#   test-engines     hew export with Debian's prometheus and victoria-metrics, which are killed again and again; ENGINES_KILLS=10
#   bench-fleet      a day of 500 to 4,000 simulated hosts in engines and the store: does hew fleet find what is planted?
#                    FLEET_HOSTS=2000 FLEET_PAGE=docs/fleet.md; nightly-fleet: both of these, whole, into docs/fleet.md
#   peers            newer jemalloc, mimalloc, snmalloc, rpmalloc from cargo crates, into build/peers; and two that check much
#   bench-nightly    the whole suite, 45 minutes; writes docs/benchmarks.md
#   bench-unseen     programs that nothing was tuned to; writes docs/unseen.md
#   bench-pools      pools against malloc, and look-ups of sizes; writes the tables of docs/pools.md
#   bench-limits     five workloads in a control group at 1.10 of what they need: who is killed, and what it costs; LIMITS_RUNS=20
#   bench-weeks      a server's fortnight in 20 minutes under every allocator: does memory follow the load?  Writes docs/weeks.md
#   programs         54 real programs under glibc, hew and every peer: same output, time, memory; writes docs/programs.md;
#                    PROGRAMS_ROUNDS=5, and again with RESUME=--resume after an interruption
#   programs-quick   the twelve that tell most, in ten minutes
#   programs-count   instructions of the programs without servers and windows, by callgrind; into the same file
#   cut-to-fit       ten real programs: recorded, cut, searched, run; writes docs/cut-to-fit.md, ten minutes
#   tuning           the figures of docs/tuning.md: from statistics to a gain by hand; a minute or two
#   python-lines     ten programs of PyPI: the share of bytes with a line of Python, beside memray; prints the table of docs/whole_run.md
#   long-page        the page of a run of 10^9 operations: time to its first picture, memory; LONG_OPERATIONS=1000000000
#   recorder-cost    CPU of four programs under hew record, heaptrack and memray; writes a table of docs/whole_run.md
#   tool-output      what each command of the tool prints; writes docs/tool_output.md
#   scaling          what a million pairs would cost on 1 to 192 processors, by the simulated machine
PROGRAMS_ROUNDS ?= 5
PROGRAMS_PEERS ?=
QUICK_PEERS ?= jemalloc-5.3.1 mimalloc-3.4.3 tcmalloc-2.10
RESUME ?=
SOAK_ROUNDS ?= 10
LIMITS_RUNS ?= 20
ENGINES_KILLS ?= 10
FLEET_HOSTS ?= 500,1000,2000,4000
FLEET_PAGE ?=
# Of each process, of which there are JOBS; the first seed is the time, so that each run sees other histories.
SIMULATE_OPERATIONS ?= 1000000
SIMULATE_SECONDS ?= 0
SIMULATE_SEED ?= $(shell date +%s)000

.PHONY: tidy coverage mutants aarch64 test-aarch64 compat packages refused-calls simulate hardened soak attach-soak swap-soak test-engines bench-fleet
.PHONY: nightly-fleet peers bench-nightly bench-unseen bench-pools bench-limits bench-weeks programs programs-quick programs-count
.PHONY: cut-to-fit tuning tool-output python-lines long-page recorder-cost scaling

# clang-tidy over all of src/, a file at a time on each processor: four minutes of work, two on two idle processors.
tidy: release
	@$(PYTHON) scripts/prepare.py test
	$(PYTHON) scripts/check_tidy.py

# Which branches of page, slab and cache are taken by their tests, by those of alloc and where memory is refused at every call: a
# summary, build/cov/coverage/index.html, and branches.md beside it, which says why the others are not taken.  For the nightly
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

aarch64:
	@$(PYTHON) scripts/prepare.py aarch64
	$(CONFIGURE) -DHEW_BENCH=OFF
	$(BUILD)

# What qemu-user 7.2 cannot do: it has no process_madvise (unit.page.purge), does not hold address space to a limit (unit.meta.map), lays mappings
# elsewhere than Linux (unit.page.split, unit.alloc.realloc), counts its own memory as the program's (unit.os.memory), writes a line of its own when
# a program aborts (unit.os.fatal), and stops at an assertion of its own when a threaded program forks (unit.control.purger).
NOT_UNDER_QEMU = unit\.(page\.(purge|split)|meta\.map|alloc\.realloc|os\.(memory|fatal)|control\.purger)
# Of whole programs those that neither fork nor stop threads by signals.
UNDER_QEMU = stress|entry_points|first_call|small_share|tuning_calls|control_calls.*|alignment|contents|cxx_operators|before_main|ifunc_resolver|main_thread_exits_last|stack_cache|deepbind
test-aarch64: aarch64
	$(CTEST) --test-dir build/aarch64 -R '^(unit|fuzz)\.' -E '^$(NOT_UNDER_QEMU)$$'
	for page in 4096 16384 65536; do \
	  QEMU_PAGESIZE=$$page $(CTEST) --test-dir build/aarch64 -R '^preload\.($(UNDER_QEMU))$$' || exit 1; done

# Not needed for anything but comparisons: a peer that cannot be built here is left out of them.
peers:
	-$(PYTHON) bench/peers/build.py

# On a quiet machine; whatever else runs is measured too.
bench-nightly bench-unseen: bench-%: release peers
	@$(PYTHON) scripts/prepare.py bench
	@$(PYTHON) bench/programs/make_inputs.py
	.venv/bin/hew bench --suite $* --save build/bench/$*.json --html build/bench/$*.html
	@case $* in nightly) page=docs/benchmarks.md;; unseen) page=docs/unseen.md;; esac; \
	  $(PYTHON) scripts/gen_benchmarks.py build/bench/$*.json $$page

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

# Whether programs notice that their allocator changes, and what a hew that is killed meanwhile leaves; as root.
SWAPS ?= 1000
swap-soak: release
	@$(PYTHON) scripts/prepare.py test
	.venv/bin/python scripts/swap_soak.py --swaps $(SWAPS) --page docs/swap.md
	HEW_KILL_STRIDE=1 .venv/bin/pytest -q --timeout 3600 tool/tests/test_swap_killed.py

simulate: release
	@status=0; pids=; for i in $$(seq $(JOBS)); do \
	  nice build/release/tests/simulate/simulate --seed $$(($(SIMULATE_SEED) + i * 1000000000000)) \
	    --operations $(SIMULATE_OPERATIONS) --seconds $(SIMULATE_SECONDS) > build/simulate.$$i.txt & pids="$$pids $$!"; done; \
	  for pid in $$pids; do wait $$pid || status=1; done; \
	  for i in $$(seq $(JOBS)); do cat build/simulate.$$i.txt; done; \
	  for i in $$(seq $(JOBS)); do tail -n 1 build/simulate.$$i.txt; done | awk '/ operations, / { operations += $$1; runs += $$3; findings += $$5 } \
	    END { printf "simulate: %.0f operations, %d runs, %d findings\n", operations, runs, findings }'; exit $$status

# At each level: random histories, the models with other seeds, two fuzzers, threads that exchange objects.
HARDENED_OPERATIONS ?= 10000000
HARDENED_RUN = LD_PRELOAD=$(abspath $(LIBRARY)) MALLOC_CONF=hardening:$$level
hardened: release
	@status=0; for level in sample check full; do echo "hardening:$$level"; \
	  build/release/tests/simulate/simulate --with hardening:$$level --seed $(SIMULATE_SEED) --operations $(HARDENED_OPERATIONS) || status=1; \
	  for fuzz in "trace 100000" "trace_use 2000"; do $(HARDENED_RUN) build/release/tests/fuzz/fuzz_$$fuzz || status=1; done; \
	  for program in stress contents alignment thread_exit fork_storm; do \
	    HEW_TEST_LIBRARY=libhew $(HARDENED_RUN) build/release/tests/preload/preload_$$program || status=1; done; \
	done; for seed in 1 2 3 4 5; do for level in check full; do \
	  HEW_SEED=$$seed HEW_TEST_HARDENING=$$level build/release/tests/model/model_alloc_malloc || status=1; done; \
	  HEW_SEED=$$seed HEW_TEST_HARDENING=check build/release/tests/model/model_alloc_flags || status=1; done; exit $$status

scaling: release
	build/release/tests/simulate/scaling

# Some minutes, with memray and the programs brought into build/python-lines.
python-lines: release
	@$(PYTHON) scripts/prepare.py test
	.venv/bin/python scripts/python_lines.py

LONG_OPERATIONS ?= 1000000000
long-page: release
	@$(PYTHON) scripts/prepare.py test
	.venv/bin/python scripts/long_page.py --operations $(LONG_OPERATIONS)

# On a quiet machine, half an hour, with memray and pylint brought into build/recorder-cost; needs heaptrack and redis.
recorder-cost: release
	@$(PYTHON) scripts/prepare.py test
	.venv/bin/python scripts/recorder_cost.py --page docs/whole_run.md

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

# What is not installed here is skipped, with its name.
packages:
	@$(PYTHON) scripts/prepare.py packages
	.venv/bin/pytest -p no:cacheprovider tests/packages

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
