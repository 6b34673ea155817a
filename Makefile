# Two commands: `make run` and `make test`. Each does all set-up first; a second run finds it done.
PYTHON ?= python3
VENV := .venv/bin/python

.PHONY: run test test-all setup setup-dev lint format bench
.DEFAULT_GOAL := run

run: setup
	@exec $(VENV) main.py

# `make test` runs all quick tests and a share of the long ones, drawn by the commit (`tests/support/tiers.py`);
# `make test-all` runs everything. Many tests wait for what they started, so there is one process more than there are
# cores. Files are taken in the order of their folders, so that the few long ones do not come last.
PYTEST := $(VENV) -m pytest -q -n $$(( $$(nproc) + 1 )) --dist loadfile --no-loadscope-reorder

test: setup-dev lint
	@$(PYTEST)

test-all: lint
	@$(PYTHON) scripts/setup.py --dev --engine
	@NIGHTSHIFT_TESTS=all $(PYTEST)

lint: setup-dev
	@$(VENV) -m ruff check .
	@$(VENV) -m ruff format --check -q .
	@$(VENV) -m mypy .

format: setup-dev
	@$(VENV) -m ruff check --fix .
	@$(VENV) -m ruff format .

setup:
	@$(PYTHON) scripts/setup.py

setup-dev:
	@$(PYTHON) scripts/setup.py --dev

bench: setup-dev
	@$(VENV) bench/queue.py
	@$(VENV) bench/overhead.py
	@$(VENV) bench/sandbox.py
	@$(VENV) bench/false_alarms.py
	@$(VENV) repair/bench/synthesis.py
	@$(VENV) bench/sse.py
	@$(VENV) bench/pages.py
	@$(VENV) repair/bench/mutants.py --count 40
