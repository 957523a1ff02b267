# Two commands matter: `make run` (the main job) and `make test` (everything that must hold).
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
PARITY := .venv-parity
STAMP := $(VENV)/.installed
DEV := $(VENV)/.developing
PIP_INSTALL := install -qq --disable-pip-version-check --no-input

.PHONY: help run test test-parity check style types layers rules bench docs clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1	/p' $(MAKEFILE_LIST) | expand -t 20

run: $(STAMP) ## plan DeepSeek-R1 on the ND GB300 v6 cluster, write plan/
	$(BIN)/racktwin plan deepseek-r1 --on azure-nd-gb300-v6 --input 8192 --output 1024 --ttft 3s --tpot 20ms --out plan

test: check ## check, then the whole suite
	$(BIN)/pytest -n auto --dist loadfile

check: style types layers rules ## the quick gate, under 30 s; `make -k check` shows every failure at once

style: $(DEV)
	$(BIN)/ruff check --quiet --output-format concise .
	$(BIN)/ruff format --quiet --check .

types: $(DEV)
	$(BIN)/mypy --no-error-summary

layers: $(DEV)
	$(BIN)/lint-imports --no-logo > $(VENV)/layers.txt || { cat $(VENV)/layers.txt; exit 1; }

rules: $(DEV)
	$(BIN)/python tools/check.py

test-parity: $(PARITY)/.installed ## bits and loaders of modelopt, torchao, compressed-tensors (CPU, 2 GB)
	PYTHONPATH=src $(PARITY)/bin/python -m pytest tests/parity tests/checkpoints tests/numerics

bench: $(DEV) ## measure the speed figures that the docs quote
	$(BIN)/python -m benchmarks

docs: $(DEV) ## run the commands shown in README and docs/ again and keep their output
	$(BIN)/python tools/docs.py

# pip comes with venv where ensurepip is installed, and from outside where Debian leaves it out.
PIP = $(shell test -x $(BIN)/pip && echo $(BIN)/python -m pip || echo $(PYTHON) -m pip --python $(BIN)/python)

$(STAMP): pyproject.toml requirements.lock
	@echo "setting up $(VENV) with $(PYTHON) (once, about a minute)"
	@$(PYTHON) -m venv $(VENV) > /dev/null 2>&1 || $(PYTHON) -m venv --without-pip $(VENV)
	@$(MAKE) --silent $(VENV)/packages
	@touch $(STAMP)

$(DEV): $(STAMP) requirements-dev.lock
	@echo "adding the tools of development"
	@$(PIP) $(PIP_INSTALL) -r requirements-dev.lock
	@touch $(DEV)

# PyPI's torch is a CUDA build of 5 GB; INDEX='--extra-index-url https://download.pytorch.org/whl/cpu'
# takes the CPU one, where no copy of it lies on the machine.
INDEX ?=
$(PARITY)/.installed: requirements.lock requirements-parity.lock
	@echo "setting up $(PARITY) (once, some minutes)"
	@$(PYTHON) -m venv $(PARITY)
	@$(PARITY)/bin/python -m pip $(PIP_INSTALL) $(INDEX) -r requirements.lock -r requirements-parity.lock
	@touch $@

.PHONY: $(VENV)/packages
$(VENV)/packages:
	@$(PIP) $(PIP_INSTALL) -r requirements.lock
	@$(PIP) $(PIP_INSTALL) --no-deps --no-build-isolation -e .

clean: ## remove what was built
	rm -rf $(VENV) $(PARITY) plan dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
