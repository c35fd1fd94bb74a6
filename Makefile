# `make run` and `make test` do everything on a machine that has Python 3.11+, pip, gcc and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
JOBS ?= 2
RUN ?= runs/default

.PHONY: venv install install-dev run test lint audit perf clean
.DEFAULT_GOAL := run

install: $(VENV)/.installed
install-dev: $(VENV)/.installed-dev

# The command pip appears when pip is complete: without it an environment is only half made.
venv:
	@$(PYTHON) -c 'import sys; sys.exit("PACT needs Python 3.11 or newer; try: make PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/python && test -x $(BIN)/pip || $(PYTHON) -m venv --clear $(VENV)

# A stamp is written last: an interrupted installation starts again.
$(VENV)/.installed: pyproject.toml requirements.lock | venv
	$(PIP) -r requirements.lock
	$(PIP) --no-deps -e .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed requirements-dev.lock
	$(PIP) -r requirements-dev.lock
	touch $@

run: install
	$(BIN)/pact run --output $(RUN) --jobs $(JOBS)

test: lint
	$(BIN)/python -m pytest -n $(JOBS)

lint: install-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

audit: install-dev
	$(BIN)/python scripts/audit.py

perf: install-dev
	$(BIN)/pact perf

clean:
	rm -rf build runs .pytest_cache .mypy_cache .ruff_cache .hypothesis
