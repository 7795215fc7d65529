# `make demo` and `make test` do all that a fresh machine needs: a virtual environment
# in .venv, the packages, and the work itself. `make PYTHON=python3.12 ...` picks the
# Python. Else the system's comes first, which distributions build with profile-guided
# optimisation, as pyenv does not: the tests take a seventh less processor time with it.

PYTHON ?= $(shell for p in /usr/bin/python3 python3 python3.14 python3.13 python3.12 \
	python3.11 python; do \
	$$p -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' \
	2>/dev/null && { echo $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
SOURCES := tiltpy tests examples docs setup.py $(wildcard bench)
# The tests of Spark need a Java, and have a process of their own: they mostly wait.
SPARK_TESTS = JAVA_HOME="$$($(BIN)/python -m tests.project.java)" && export JAVA_HOME && \
	$(BESIDE) $(BIN)/python -m pytest $(DEEP) tests/spark
TESTS = $(BIN)/python -m pytest $(DEEP) tests --ignore tests/spark -n 2 --dist worksteal

# By names of their own, or else `make -n test` would run them, and the tests with them.
INSTALL_TOOLS = $(MAKE) --silent $(VENV)/installed-tools
INSTALL_SPARK = $(MAKE) --silent $(VENV)/installed-dev
LINT = $(MAKE) --silent lint
TYPES = $(MAKE) --silent types layers
SPARK = "$$(sed -n 's/^spark = \["\(.*\)"\]$$/\1/p' pyproject.toml)"

# Hundreds of tests start a process, and each would compile all that it imports: twice
# the time.
unexport PYTHONDONTWRITEBYTECODE
# Threads of numpy's BLAS spin before they sleep, from its import on: 0.14 s of processor
# time in each process that imports it before tiltpy, and not 0.08.
export OPENBLAS_THREAD_TIMEOUT := 20

.PHONY: demo test test-deep format lint types layers tests examples docs clean
.DELETE_ON_ERROR:

demo: $(VENV)/installed-demo
	@$(BIN)/python examples/01_trend.py
	@mkdir -p examples/output
	@echo
	@echo 'The same query from the command line, over one company:'
	@echo
	$(BIN)/tilt run examples/queries/trend.tilt \
		--input stock=examples/data/AAPL.parquet --column AdjClose
	$(BIN)/tilt run examples/queries/trend.tilt \
		--input stock=examples/data/AAPL.parquet --column AdjClose \
		--output examples/output/trend_AAPL_cli.parquet

# Types, layers and the tests of Spark run beside the other tests, which need no Spark: it
# is installed meanwhile. They yield to the others, so that they last as long, and use what
# tests that wait leave. What they print follows.
test: BESIDE = nice -n 4
test: $(BIN)/python
	@$(INSTALL_TOOLS)
	@$(LINT)
	@echo "$(BIN)/mypy and the tests of Spark run beside the others"; \
	( $(INSTALL_SPARK) && { \
		$(BESIDE) $(TYPES) > $(VENV)/types.log 2>&1 & types=$$!; \
		( $(SPARK_TESTS) ); spark=$$?; \
		wait $$types; types=$$?; cat $(VENV)/types.log; \
		exit $$((types || spark)); \
	} ) > $(VENV)/spark.log 2>&1 & spark=$$!; \
	$(TESTS); tests=$$?; \
	wait $$spark; spark=$$?; cat $(VENV)/spark.log; \
	exit $$((tests || spark))

# All parameter sets, and many more random cases: hours.
test-deep: DEEP = --deep
test-deep: test

lint: $(VENV)/installed-tools
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/tilt fmt --check examples/queries/*.tilt examples/queries/nexmark/*.tilt

types: $(VENV)/installed-dev
	$(BIN)/mypy

layers: $(VENV)/installed-tools
	$(BIN)/lint-imports --no-logo

tests: $(VENV)/installed-dev
	@$(TESTS)
	@$(SPARK_TESTS)

# What the examples find, with its pictures, goes to examples/output; the README's picture
# stays here.
examples: $(VENV)/installed-dev
	@for program in examples/[0-9]*.py; do $(BIN)/python $$program > /dev/null || exit 1; done
	@$(BIN)/python examples/pictures/draw.py > /dev/null
	@$(BIN)/tilt plot examples/queries/late.tilt \
		--input delay=examples/data/flights.parquet \
		--input wind=examples/data/weather.parquet --key EWR \
		--start 2013-01-31 --end 2013-02-01 --with-inputs \
		--output examples/pictures/late.svg
	@ls examples/output/*.svg examples/pictures/*.svg

# The site, in docs/_build: a warning is an error, a broken link is a warning.
docs: $(VENV)/installed-dev
	@$(BIN)/python -m sphinx -W --keep-going -q -b dirhtml docs docs/_build
	@echo "open docs/_build/index.html"

format: $(VENV)/installed-dev
	$(BIN)/ruff format $(SOURCES)
	$(BIN)/ruff check --fix $(SOURCES)

clean:
	rm -rf $(VENV) build dist *.egg-info docs/_build examples/output .hypothesis \
		.import_linter_cache .mypy_cache .pytest_cache .ruff_cache

# One stamp per set of packages, so that the second run starts at once. Python compiles
# what is imported; installing need not compile all there is. `tools` is `dev` without Spark,
# which comes beside what is there and moves none of it: tests may run.
$(VENV)/installed-demo: PACKAGES = --editable '.[cli]'
$(VENV)/installed-tools: PACKAGES = --editable '.[tools]'
$(VENV)/installed-dev: PACKAGES = $(SPARK)
$(VENV)/installed-dev: UV = false
$(VENV)/installed-demo $(VENV)/installed-tools: pyproject.toml $(BIN)/python
$(VENV)/installed-dev: $(VENV)/installed-tools
$(VENV)/installed-%:
	@echo "installing the packages of $* into $(VENV) ..."
	@$(INSTALL)
	@touch $@

# uv takes a quarter of pip's time. It does not read pip's settings, such as an index:
# where it fails, pip installs. PySpark comes as source, and uv keeps three copies of it
# (2 GB) for each build: pip installs it, in half the time.
# All that they say goes to a log beside the stamp.
PIP = $(BIN)/python -m pip --quiet --disable-pip-version-check
UV = $(BIN)/uv --quiet --system-certs pip install --python $(BIN)/python
define INSTALL
{ { { test -x $(BIN)/uv || $(PIP) install uv; } && $(UV) $(PACKAGES); } \
	|| $(PIP) install --no-compile $(PACKAGES); } > $@.log 2>&1 || { \
	grep -m 1 '^ *ERROR' $@.log; \
	echo "could not install the packages that pyproject.toml names: is a package" \
	"index within reach? All that was said is in $@.log"; exit 1; } >&2
endef

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "tiltpy needs Python 3.11 or later with its venv" \
		"module, and none is on the PATH: install one (Debian, Ubuntu: apt install" \
		"python3-venv), or name it: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "$(PYTHON) is no Python 3.11 or later: name one: make PYTHON=..." >&2; exit 1; }
	@rm -rf $(VENV)
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "$(PYTHON) cannot make" \
		"virtual environments: install its venv module (Debian, Ubuntu: apt install" \
		"python3-venv)" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "could not make the virtual environment" \
		"$(VENV) here" >&2; rm -rf $(VENV); exit 1; }
