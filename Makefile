# Two commands: `make run` and `make test`. Each does all set-up first; a second run finds it done.
PYTHON ?= python3
VENV := .venv/bin/python
# Where this is set, each process of the tests would compile all of them anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test test-all setup setup-dev lint compiled format bench
.DEFAULT_GOAL := run

run: setup
	@exec $(VENV) main.py

# `make test` runs the quick tier, the same tests each time, and `make test-all` every test (`tests/support/tiers.py`).
# What fails beside other tests runs once more alone, and the last line names what was flaky (`scripts/run_tests.py`).
test: setup-dev
	@$(MAKE) -s -j2 -o setup-dev lint compiled
	@$(VENV) scripts/run_tests.py

test-all: lint
	@$(PYTHON) scripts/setup.py --dev --engine
	@$(VENV) scripts/run_tests.py --all

lint: setup-dev
	@$(VENV) -m ruff check .
	@$(VENV) -m ruff format --check -q .
	@$(VENV) -m mypy
	@$(VENV) scripts/size.py --check
	@$(VENV) scripts/reference.py --check
	@.venv/bin/lint-imports --no-cache --no-logo

# What pytest makes of the tests and their libraries is kept: beside the linters, which leave a core idle, it is made
# once instead of by each process that runs tests.
compiled: setup-dev
	@$(VENV) -m pytest -q --collect-only > /dev/null || true

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
	@$(VENV) bench/reading.py
	@$(VENV) engine/bench/synthesis.py
	@$(VENV) bench/sse.py
	@$(VENV) bench/pages.py
	@$(VENV) engine/bench/mutants.py --count 40
