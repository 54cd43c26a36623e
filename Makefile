# Every target works from a fresh checkout: it makes .venv with what it needs, then does its work.
# PYTHON=/path/to/python3 chooses the interpreter; VENV=dir another place for the environment.

VENV ?= .venv
BIN = $(VENV)/bin
PYTEST = $(BIN)/python -m pytest
export PYRIGHT_PYTHON_IGNORE_WARNINGS = 1
export NO_MKDOCS_2_WARNING = 1

.PHONY: help demo test test-slow test-spark test-wheel lint bench bench-peers docs clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

demo: core ## Release a made-up survey privately and show what comes out
	@$(BIN)/fastmwem demo --overwrite

test: dev ## Run the tests
	@$(PYTEST) -q $(TESTS)

test-slow: dev ## Run the statistical and paper-size tests
	@$(PYTEST) -q -m slow $(TESTS)

test-spark: dev spark ## Run the tests that need Java
	@$(PYTEST) -q -m spark $(TESTS)

test-wheel: dev ## Build the wheel, install it alone into an empty environment, run it there
	@$(PYTEST) -q -m wheel $(TESTS)

lint: dev ## Check format, style, types, and which module may import which
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/pyright --pythonpath $(BIN)/python
	@$(BIN)/lint-imports

bench: dev ## Time the parts that must stay fast, as ratios within one run; then show what each index buys
	@$(BIN)/python -m benchmarks.run
	@$(BIN)/python -m benchmarks.index_quality

bench-peers: dev ## Compare with other software, or with the one named after it; DATA=DIR adds tables of yours
	@$(BIN)/python -m benchmarks.peers.venvs $(PEER)
	@$(BIN)/python -m benchmarks.peers.run $(if $(DATA),--data $(DATA)) $(PEER)
	@$(BIN)/python -m benchmarks.peers.page

ifeq (bench-peers,$(firstword $(MAKECMDGOALS)))
PEER := $(wordlist 2,$(words $(MAKECMDGOALS)),$(MAKECMDGOALS))
.PHONY: $(PEER)
$(PEER): ; @:
endif

docs: docs-venv ## Build the documentation into site/
	@$(BIN)/python -m mkdocs build --strict

clean: ## Remove the environment and everything made
	rm -rf $(VENV) site dist build

# The environments are kept current by tools/venv, which is quick when there is nothing to do.
.PHONY: core dev spark docs-venv
core:
	@tools/venv $(VENV)
dev spark:
	@tools/venv $(VENV) $@
docs-venv:
	@tools/venv $(VENV) docs
