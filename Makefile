# Two commands: `make run` and `make test`. Each does all set-up first; a second run finds it done.
PYTHON ?= python3
VENV := .venv/bin/python
# Where this is set, each process of the tests would compile all of them anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test test-all setup setup-dev lint compiled format bench
.DEFAULT_GOAL := run

run: setup
	@exec $(VENV) main.py

# `make test` runs all quick tests and a share of the long ones, drawn by the commit (`tests/support/tiers.py`);
# `make test-all` runs everything. Folders of long files are begun first, and by two processes more than there are cores,
# for many tests wait for a daemon. What fails beside other tests is shown, and run once more alone before it counts: a
# browser or a daemon that gets no processor for a minute is no fault of the program.
PYTEST := $(VENV) -m pytest -q
BESIDE := -n $$(($$(nproc) + 2)) --dist loadfile --no-loadscope-reorder
AGAIN := --last-failed --last-failed-no-failures none

test: setup-dev
	@$(MAKE) -s -j2 -o setup-dev lint compiled
	@$(PYTEST) $(BESIDE) || $(PYTEST) $(AGAIN)

test-all: lint
	@$(PYTHON) scripts/setup.py --dev --engine
	@export NIGHTSHIFT_TESTS=all; $(PYTEST) $(BESIDE) || $(PYTEST) $(AGAIN)

lint: setup-dev
	@$(VENV) -m ruff check .
	@$(VENV) -m ruff format --check -q .
	@$(VENV) -m mypy .
	@$(VENV) scripts/size.py --check

# What pytest makes of the tests and their libraries is kept: beside the linters, which leave a core idle, it is made
# once instead of by each process that runs tests.
compiled: setup-dev
	@$(PYTEST) --collect-only > /dev/null || true

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
	@$(VENV) repair/bench/synthesis.py
	@$(VENV) bench/sse.py
	@$(VENV) bench/pages.py
	@$(VENV) repair/bench/mutants.py --count 40
