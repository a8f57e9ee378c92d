# `make` alone lists what there is to do. Every target makes its own environment, so that each works
# as the only command on a fresh clone with python3 (3.11 or newer) and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOCKER := build/locker
PIP := -m pip --disable-pip-version-check --quiet
LOCKED := $(VENV)/.locked
INSTALLED := $(VENV)/.installed
PARSER := $(VENV)/.parser
PEERS := $(VENV)/.peers
NODE := tests/node/node_modules/.package-lock.json
UV := uv==0.13.9
# A worker for each core, each with servers of its own; the tests of a file stay together and share
# what they set up. Name others: make test PYTEST_ARGS="-n 0 -k sqlite"
PYTEST_ARGS ?= -n auto --maxprocesses 8 --dist loadfile
COMPILE := $(LOCKER)/bin/uv pip compile --universal --python-version 3.11 \
	--generate-hashes --no-annotate --upgrade --quiet --custom-compile-command "make lock"

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run test test-long check bench lock baseline graphiql clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

run: $(INSTALLED) ## start the demo: a fleet with a week of history, served on this machine
	$(BIN)/retrograph demo

test: $(INSTALLED) $(PARSER) $(NODE) ## run the quick tests (under 8 minutes)
	$(BIN)/python -m pytest -m "not long" $(PYTEST_ARGS)

test-long: $(INSTALLED) $(PARSER) $(NODE) ## run every test: simulations, kill tests and soaks too
	$(BIN)/python -m pytest $(PYTEST_ARGS)

check: $(INSTALLED) ## lint, format, types and the import law
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(INSTALLED) $(PEERS) ## measure; the tables go to benchmarks/README.md
	$(BIN)/python -m benchmarks

lock: ## renew the locks from pyproject.toml
	"$(PYTHON)" -m venv --clear $(LOCKER)
	$(LOCKER)/bin/python $(PIP) install "$(UV)"
	$(COMPILE) pyproject.toml --output-file requirements.lock
	$(COMPILE) pyproject.toml --constraint requirements.lock --group dev --output-file requirements-dev.lock
	$(COMPILE) --constraint requirements-dev.lock --group bench --output-file requirements-bench.lock

baseline: $(INSTALLED) $(NODE) ## promise clients the present schema; tell what breaks
	$(BIN)/python -m tests.baseline

graphiql: $(INSTALLED) $(NODE) ## renew the files of GraphiQL that the package carries
	$(BIN)/python -m tests.vendored

clean: ## remove the environment, caches and builds
	rm -rf $(VENV) tests/node/node_modules build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(LOCKED): requirements-dev.lock
	@command -v "$(PYTHON)" >/dev/null || \
		{ echo "No $(PYTHON) here. Install Python 3.11 or newer, or name one: make PYTHON=python3.12 …"; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "$(PYTHON) is too old. Name a Python 3.11 or newer: make PYTHON=python3.12 …"; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "$(PYTHON) cannot make environments. On Debian or Ubuntu: apt install python3-venv"; exit 1; }
	"$(PYTHON)" -m venv --clear $(VENV)
	$(BIN)/python $(PIP) install --require-hashes --requirement requirements-dev.lock
	@touch $@

$(PARSER): $(LOCKED) requirements-tsql.lock
	$(BIN)/python $(PIP) install --no-deps --require-hashes --requirement requirements-tsql.lock
	@touch $@

$(PEERS): $(LOCKED) requirements-bench.lock
	$(BIN)/python $(PIP) install --require-hashes --requirement requirements-bench.lock
	@touch $@

# Without Node the tests that need it are skipped aloud; CI has it.
$(NODE): tests/node/package-lock.json
	@if command -v npm >/dev/null; then npm ci --prefix tests/node --loglevel=error; \
		else echo "No npm here: the tests against Node's clients and audits are skipped."; fi

$(INSTALLED): $(LOCKED) pyproject.toml
	$(BIN)/python $(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@
