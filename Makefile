# The two commands: `make demo` and `make test`; `make fuzz MINUTES=60` goes on where the tests end, `make docs` builds the book, `make wheel` dist/. All make .venv themselves and need only Python 3.11+, pip and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
JOBS ?= 2
MINUTES ?= 60
SEED ?= 0

.PHONY: demo test lint types imports page programs compiled tests pytest other-python docs fuzz peer wheel bench clean

# its second command must not compile all modules again
demo: export PYTHONDONTWRITEBYTECODE :=
demo: $(VENV)/.user
	@echo '$$ assay compare coins --target coin --out coins.assay --report coins.html'
	@$(BIN)/assay compare coins --target coin --out coins.assay --report coins.html
	@echo
	@echo '$$ assay verify coins.assay coins'
	@$(BIN)/assay verify coins.assay coins

# what takes one processor goes side by side, and beside what compiles and what waits for a network; then come the tests
test:
	@$(MAKE) --no-print-directory -j$(JOBS) lint compiled types other-python imports
	@$(MAKE) --no-print-directory pytest

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python tools/house --check

types: $(VENV)/.dev
	$(BIN)/mypy

imports: $(VENV)/.dev
	$(BIN)/lint-imports

page:
	@tools/check-page

# one after another: apt-get and npm would wait for each other, and not for ever
programs: page
	@tools/postgres
	@tools/chromium
	@tools/axe

# the tests start hundreds of processes: without bytecode on disk each would compile all modules again
compiled pytest: export PYTHONDONTWRITEBYTECODE :=
compiled: export OPENBLAS_NUM_THREADS := 1
compiled: $(VENV)/.dev
	$(BIN)/python tests/compile_first.py $(JOBS)

tests: programs compiled
	@$(MAKE) --no-print-directory pytest

pytest: $(VENV)/.dev
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder

other-python: $(VENV)/.dev programs
	@tools/other-python $(BIN)/python

# offline: formulas are MathML, search and styles lie beside the pages; a warning is an error, and every example runs
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -q -b html -d docs/_build/doctrees docs docs/_build/html
	@echo "docs/_build/html/index.html (or: assay docs)"

fuzz: $(VENV)/.dev
	$(BIN)/python tests/fuzz --minutes $(MINUTES) --seed $(SEED)

# scikit-learn's own tests on our classes; writes bench/results/peer.md
peer: $(VENV)/.dev
	$(BIN)/python tests/peer

wheel: $(VENV)/.dev
	$(BIN)/python tools/wheel

bench: $(VENV)/.bench
	$(BIN)/python -m bench

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Assay needs Python 3.11 or newer; try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.user: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) install --no-compile -c constraints.txt -e '.[plot]'
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) install -c constraints.txt -e '.[dev]'
	@touch $@ $(VENV)/.user

$(VENV)/.docs: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) install -c constraints.txt -e '.[docs]'
	@touch $@ $(VENV)/.user

$(VENV)/.bench: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) install -c constraints.txt -e '.[bench]'
	@touch $@ $(VENV)/.dev $(VENV)/.user

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache bench/data docs/_build docs/gallery_made docs/reference/made
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
