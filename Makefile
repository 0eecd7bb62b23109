# What people run and what CI runs. Needs python3 (3.11 or newer) and make; everything else goes into .venv.
PYTHON ?= python3
# The folder with the MNIST files, for `make mnist`, `make exact` and `make cluster`.
DATA ?= $(VOTRON_DATA)

BIN := .venv/bin
# A process a core; each takes over tests from the other when it has none left.
PYTEST := $(BIN)/python -m pytest -n auto --dist worksteal
PIP_INSTALL := $(BIN)/python -m pip --disable-pip-version-check install -qq

.DEFAULT_GOAL := help
.PHONY: help run play test quick lint processors fuzz coverage faults cluster mnist exact load bench reference clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: .venv/.ready  ## the papers' tables and figures on scikit-learn's digits, printed, and a report in reports/digits
	$(BIN)/votron reproduce

play: .venv/.ready  ## the page in the browser: the game, a training run, a digit to draw
	$(BIN)/votron play

test: lint  ## all checks: lint, types, import contract, tests, doctests
	$(PYTEST)

quick: .venv/.ready  ## what to run while working: the tests but for slow ones, with fewer random inputs (a minute)
	$(BIN)/ruff check -q
	VOTRON_QUICK=1 $(PYTEST) -q -m "not slow" tests

lint: .venv/.ready  ## the checks that run no code
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy src
	$(BIN)/lint-imports

processors: .venv/.ready  ## the tests of what is exact, and the examples, as on a processor with AVX2 and on one without FMA
	$(BIN)/python tests/processors.py

fuzz: .venv/.ready  ## open 10,000 forged or damaged model files, and as many damaged data files (some minutes)
	$(BIN)/python tests/saving/test_hostile_files.py 10000
	$(BIN)/python tests/data/fuzz_readers.py 10000

coverage: .venv/.ready  ## how often each guarantee is false on data with repeated rows, of known distributions (some ten minutes)
	$(BIN)/python tests/theory/coverage_of_bounds.py

faults: .venv/.ready  ## 20 faults in the middle of training on a Dask cluster: each time the same record (some ten minutes)
	$(BIN)/python tests/cluster/faults.py 20

mnist: .venv/.ready  ## the same on MNIST, beside the papers' numbers: make mnist DATA=folder (or set VOTRON_DATA)
	VOTRON_DATA="$(DATA)" $(BIN)/votron reproduce --data mnist

cluster: .venv/.ready  ## the same record of MNIST from 1 to 4 workers of a Dask cluster: make cluster DATA=folder
	$(BIN)/python -m benchmarks.exact_cluster --data "$(DATA)"

exact: .venv/.ready  ## compare with the one-example-at-a-time algorithm, bit for bit: make exact DATA=folder
	$(BIN)/python -m benchmarks.exact --data "$(DATA)"

load: .venv/.ready  ## 200 games at once on the page's server for a minute, then first paint and moves in Chromium
	$(BIN)/python -m benchmarks.page

bench: .venv/.bench  ## all benchmarks (installs the packages they compare with)
	$(BIN)/python -m benchmarks.run_all --data "$(DATA)"

reference: .venv/.ready  ## write docs/command-line.md from the help texts
	$(BIN)/python docs/reference.py > docs/command-line.md

clean:  ## remove .venv, caches and build output
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/.ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Votron needs Python 3.11 or newer: make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	@echo "Installing into .venv (a minute or two, once)"
	@$(PYTHON) -m venv .venv
	@$(PIP_INSTALL) -e ".[dev]"
	@touch $@

.venv/.bench: .venv/.ready
	@echo "Installing the packages of the benchmarks into .venv"
	@$(PIP_INSTALL) -e ".[bench]"
	@touch $@
