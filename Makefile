# Everything a newcomer needs: `make demo`, then `make test`. Both set up .venv by themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2
# Workers begin at different places and steal from the end of each other, so that one compiles and
# fits what the tests of a file share.
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q
# What is run with every index checked; BOUNDS=tests takes all, which is slow.
BOUNDS ?= tests/_core tests/boosting tests/contests tests/recommend tests/pairwise tests/test_tampered.py tests/persistence/test_hostile.py tests/datasets/test_fuzz.py tests/preference

.PHONY: help setup demo serve test test-all test-bounds lint format bench charts papers docs clean
.DELETE_ON_ERROR:

help:  ## Show the targets.
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

# One stamp per set of extras, or per dependency group with all extras; made again when the dependencies change.
GROUPS := dev bench
$(VENV)/stamp-%: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "rankwise needs Python 3.11 or newer; name one with make PYTHON=...")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing rankwise ($*) into $(VENV), once: a minute or so ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  $(if $(filter $*,$(GROUPS)),--editable '.[all]' --group $*,--editable '.[$*]')
	@touch $@

setup: $(VENV)/stamp-dev  ## Create .venv with all that development needs.

demo: $(VENV)/stamp-cli,plots,data  ## What makes a film well liked? Compare methods, write demo/report.html.
	$(BIN)/rankwise compare films --target liked --name title --title 'What makes a film well liked?' --quick --out demo

serve: $(VENV)/stamp-all  ## Rate films and see all others ranked for you, in a browser.
	$(BIN)/rankwise serve --open

lint: $(VENV)/stamp-dev  ## Style, types and layers.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: $(VENV)/stamp-dev  ## Put the code in its standard form.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

test: lint  ## Lint, then all tests but the slow ones.
	$(PYTEST) -m 'not slow'

test-bounds: $(VENV)/stamp-dev  ## Compiled loops with every index checked.
	NUMBA_BOUNDSCHECK=1 $(PYTEST) -m 'not slow' $(BOUNDS)

test-all: $(VENV)/stamp-dev docs test-bounds  ## The slow tests, the documentation, checked indices.
	$(PYTEST) -m slow

bench: $(VENV)/stamp-bench  ## Benchmarks beside other libraries: make bench NAME=online_ordinal.
	$(BIN)/python -m benchmarks $(or $(NAME),all)

charts: $(VENV)/stamp-bench  ## Draw the charts of docs/benchmarks.md from the newest results.
	$(BIN)/python -m benchmarks charts --newest

papers: $(VENV)/stamp-all  ## The short form of every experiment of the papers, to reports/.
	$(BIN)/python -m experiments all --out reports

docs: $(VENV)/stamp-dev  ## Build the documentation; warnings are errors, and each page is looked at.
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	$(BIN)/python docs/check_hosts.py docs/_build/html
	$(BIN)/python docs/check_pages.py docs/_build/html

clean:  ## Remove what the other targets made, compiled loops included.
	rm -rf $(VENV) build dist demo reports docs/_build docs/gallery docs/api .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests benchmarks experiments docs examples -name __pycache__ -type d -prune -exec rm -rf {} +
