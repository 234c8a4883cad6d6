# `make help` lists the targets. Everything is installed into .venv; nothing outside this folder changes.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
# How torch is installed. Plain, it is the build that pip prefers for this machine (on Linux with CUDA,
# several GB); for a CPU build name an index of such builds: make repro TORCH_PIP_ARGS="--index-url ..."
TORCH_PIP_ARGS ?=
# Cells trained at a time. Results do not depend on it.
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
# Of MLflow's page, on this machine only.
PORT ?= 5000
# Tiers of tests; see CONTRIBUTING.md.
EXTERNAL := slow or oracle or browser

export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export DVC_NO_ANALYTICS := 1
export MLFLOW_DISABLE_TELEMETRY := true

.DEFAULT_GOAL := help
.PHONY: help setup setup-oracle repro test test-all lint format ui clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/.ready ## Make the virtual environment .venv with pinned versions

$(VENV)/.ready: pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed: install it, or make PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$(PYTHON) is older than 3.11: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV) || { echo "venv is missing: on Debian, apt-get install python3-venv"; exit 1; }
	pip install -q -c constraints.txt --upgrade pip setuptools
	pip install -q -c constraints.txt $(TORCH_PIP_ARGS) torch
	pip install -q -c constraints.txt -e '.[dev]'
	@touch $@

setup-oracle: $(VENV)/.oracle ## Add the real lc0, for conformance tests (Linux x86-64, Python 3.11)

$(VENV)/.oracle: $(VENV)/.ready
	pip install -q -c constraints.txt -e '.[oracle]' || echo "the real lc0 has no build for this machine: its tests will be skipped"
	@touch $@

repro: setup ## Set up and run the pipeline: tables in reports/, runs in MLflow
	@# In an unpacked archive there is no Git repository, and DVC must be told; where there is one, never.
	@if [ ! -e .git ]; then dvc config --local core.no_scm true; \
	elif grep -qs no_scm .dvc/config.local; then dvc config --local --unset core.no_scm; fi
	searchless fan-out --jobs $(JOBS)

test: setup ## Set up and run the tests (minutes)
	pytest -m "not ($(EXTERNAL))"

test-all: setup-oracle ## Run every test, the slow and external ones too
	pytest

lint: setup ## Check format, lint and types
	ruff format --check .
	ruff check .
	mypy

format: setup ## Format and fix what can be fixed
	ruff format .
	ruff check --fix .

ui: setup ## Browse the runs in MLflow (another port: make ui PORT=5001)
	searchless ui --port $(PORT)

clean: ## Remove the environment and unfinished work; results and caches stay
	rm -rf $(VENV) scratch .pytest_cache .mypy_cache .ruff_cache
