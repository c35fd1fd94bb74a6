# `make run` and `make test` do everything on a machine that has Python 3.11+, pip, gcc and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
JOBS ?= 2
RUN ?= runs/default

.PHONY: install run test lint perf clean
.DEFAULT_GOAL := run

install: $(STAMP)

# The stamp is written last: an interrupted installation starts again.
$(STAMP): pyproject.toml requirements.lock
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "PACT needs Python 3.11 or newer: make PYTHON=python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	touch $(STAMP)

run: install
	$(BIN)/pact run --output $(RUN) --jobs $(JOBS)

test: install lint
	$(BIN)/python -m pytest -n $(JOBS)

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

perf: install
	$(BIN)/pact perf

clean:
	rm -rf build runs .pytest_cache .mypy_cache .ruff_cache .hypothesis
