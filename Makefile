# Two commands matter: `make run` (the main job) and `make test` (everything that must hold).
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: run test check bench docs clean

run: $(STAMP) ## plan DeepSeek-R1 on the ND GB300 v6 cluster, write plan/
	$(BIN)/racktwin plan deepseek-r1 --on azure-nd-gb300-v6 --input 8192 --output 1024 --ttft 3s --tpot 20ms --out plan

test: check ## lint, types, contracts, then the whole suite
	$(BIN)/pytest

check: $(STAMP) ## the quick gate (under 30 s)
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/check.py

bench: $(STAMP) ## speed figures quoted in the docs
	$(BIN)/python -m benchmarks

docs: $(STAMP) ## regenerate the tables in docs/ that commands print
	$(BIN)/python tools/docs.py

$(STAMP): pyproject.toml requirements.lock
	@echo "setting up $(VENV) (once, about a minute)"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $(STAMP)

clean:
	rm -rf $(VENV) plan .mypy_cache .ruff_cache .pytest_cache
