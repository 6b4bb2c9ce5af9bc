# SPDX-License-Identifier: MIT
# The commands of the project.  Everything is built under build/ and installed into .venv; nothing else is touched.
#
#   make          libhew.so and libhew.a in build/release
#   make test     every test, as CI runs it
#   make check    the static checks (CONTRIBUTING.md)
#   make bench    our suite under every allocator, five minutes: tables and a page
#   make docs     the documents as a site with search, build/site/index.html; links and headings are checked
#   make demo     builds what one comparison needs, compares the allocators here, then brings the rest of the tool
#   make dist     what a release consists of, into build/dist: tarballs, wheels, crates, Debian and RPM packages, SBOM, checksums
#   make clean    removes build/
#
# What CI does not run is in scripts/nightly.mk; `python3 scripts/nightly.py` runs it and says what changed.
PYTHON ?= python3
JOBS ?= $(shell nproc)
# Six runs are the fewest that hew compare draws a conclusion from.
DEMO_RUNS ?= 6
TIDY_SINCE ?= HEAD~1

# Ninja, where it is, needs a third less of the processors than make; a build folder keeps what it was made with.
GENERATOR = CMAKE_GENERATOR="$$(command -v ninja >/dev/null && echo Ninja || echo 'Unix Makefiles')"
# Said here, since a copy without .git would leave them out.
CONFIGURE = $(GENERATOR) cmake --preset $@ -DHEW_TESTS=ON -DHEW_BENCH=ON
BUILD = cmake --build --preset $@ --parallel $(JOBS)
# With ccache, files that were compiled in this folder before are not compiled again, whatever became of build/.
CCACHE := $(shell command -v ccache)
export CMAKE_C_COMPILER_LAUNCHER ?= $(CCACHE)
export CMAKE_CXX_COMPILER_LAUNCHER ?= $(CCACHE)
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

.DEFAULT_GOAL := build
MAKEFLAGS += --no-print-directory
.NOTPARALLEL:
.PHONY: build test check bench docs demo dist clean
.PHONY: release dev asan tsan checks test-release test-just-booted test-dev test-planted test-asan test-tsan test-programs test-python

build: release

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
test: check test-release test-just-booted test-dev test-planted test-asan test-tsan test-programs test-python

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

# Words that are misspelt in a known way, in what people read; settings in pyproject.toml.
SPELLING = .venv/bin/codespell *.md docs src trace include tool/src scripts packaging
# All of them, whichever fails, as many at a time as there are processors.  clang-tidy here only over what differs from the commit
# before: all of it is `make tidy`.
CHECKS = check_format 'check_tidy --since $(TIDY_SINCE)' check_layers check_sizes check_decisions check_figures check_links check_prose \
	'gen_pages --check' call_cycles check_first check_symbols fast_path
check: release
	@$(PYTHON) scripts/prepare.py test
	@status=0; for check in $(CHECKS); do set -- $$check; command=$$1; shift; echo "$(PYTHON) scripts/$$command.py $$*"; done \
	  | xargs -P $(JOBS) -I{} sh -c '{}' || status=1; $(SPELLING) || status=1; exit $$status

# The real programs that take a minute together; the full table is `make programs`.
test-programs: release
	$(PYTHON) -m unittest discover -s tests/programs
	$(PYTHON) tests/programs/run.py --library $(LIBRARY) --set quick --install

# Two processes on two processors wait for programs a third of the time, so there are four.
# A test that fails gets a second try, up to ten of them; CI's closing lines name those that needed it.
RERUNS = --reruns 1 --max-suite-reruns 10 --rerun-show-tracebacks -raR
# One processor has work for a minute, while tests wait for programs.
TYPES = { bad=0; .venv/bin/mypy || bad=1; MYPYPATH=scripts:tool/src .venv/bin/mypy --strict scripts tests/scripts || bad=1; \
	MYPYPATH=scripts:tests/packages .venv/bin/mypy --strict tests/packages || bad=1; (exit $$bad); }
test-python:
	@$(PYTHON) scripts/prepare.py test
	@mkdir -p build; status=0; .venv/bin/ruff check --extend-per-file-ignores 'tests/scripts/*:S101' tool scripts tests/scripts tests/packages || status=1; \
	  $(TYPES) > build/mypy.log 2>&1 & types=$$!; for tests in tool/tests tests/scripts; do \
	  echo "pytest $$tests"; .venv/bin/pytest -q --numprocesses 6 --dist loadfile $(RERUNS) $$tests || status=1; done; \
	  wait $$types || status=1; cat build/mypy.log; exit $$status

# One job of some tenths of a second: 64 threads that make and free 3,000 objects at a time.  What the table needs comes first, the
# tool beside the library; then what else the README shows, and no test program.
DEMO = build/release/bench/apps/crowd --threads 64 --objects 3000 --pairs 3000000
DEMO_PEERS = --alloc jemalloc --alloc tcmalloc --alloc mimalloc --alloc hew
DEMO_LOG = build/demo/build.log
DEMO_BUILD = cmake --build --preset release --parallel $(JOBS) --target
demo:
	@mkdir -p build/demo
	@$(PYTHON) scripts/prepare.py build
	@echo 'building hew into build/release, half a minute the first time; log: $(DEMO_LOG)'
	@$(PYTHON) scripts/prepare.py compare & tool=$$!; \
	{ $(GENERATOR) cmake --preset release -DHEW_TESTS=OFF -DHEW_BENCH=ON && $(DEMO_BUILD) hew bench_crowd; } > $(DEMO_LOG) 2>&1 \
	  || { tail -n 30 $(DEMO_LOG); wait $$tool; exit 1; }; wait $$tool
	@echo; echo 'A server under load: 64 threads, each makes and frees 3,000 objects of 16 to 2,000 bytes at a time.'
	.venv/bin/hew compare --runs $(DEMO_RUNS) $(DEMO_PEERS) --html build/demo/demo.html -- $(DEMO)
	@echo; echo 'This workload is one where malloc matters.  docs/benchmarks.md has 52 others, with those that hew loses.'
	@echo 'Next, your own program:  .venv/bin/hew compare -- ./job input.dat'
	@echo 'Now the rest of the tool: hew record and replay, and the Python packages of hew profile, search and top.'
	@$(DEMO_BUILD) hew_static hew_trace hew_replay hew_simulate >> $(DEMO_LOG) 2>&1 || { tail -n 30 $(DEMO_LOG); exit 1; }
	@$(PYTHON) scripts/prepare.py demo

# Our suite under every allocator, five minutes; on a quiet machine, since whatever else runs is measured too.
bench: release
	@$(PYTHON) scripts/prepare.py bench
	@$(PYTHON) bench/programs/make_inputs.py
	.venv/bin/hew bench --suite quick --save build/bench/quick.json --html build/bench/quick.html

docs:
	@$(PYTHON) scripts/prepare.py docs
	.venv/bin/python scripts/build_site.py

dist:
	@$(PYTHON) scripts/prepare.py packages
	.venv/bin/python scripts/make_dist.py

clean:
	rm -rf build

# The name of `check` until version 0.1.0.
checks: check

include scripts/nightly.mk
