# Everything a person or CI does here. `make` alone lists it.
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup demo test lint type fmt proto bench property integration examples chaos determinism ci clean

BIN := .venv/bin
SLOWEST := 10

# Runs one part of the gate: $(call part,name,command). Says what runs, and what failed.
define part
	@printf '\n== %s\n' '$(1)'
	@$(2) || { printf '\nseamark: FAILED: %s\n  %s\n' '$(1)' '$(2)' >&2; exit 1; }
endef

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

setup: ## make .venv with everything in it; nothing to do the second time
	@scripts/setup.sh

demo: setup ## an agent learns, and the next one is spared its detour
	@$(BIN)/seamark models install || printf 'seamark: the demo goes on without an embedding model\n'
	@$(BIN)/seamark demo

test: lint type ## the gate: lint, types and every fast test
	$(call part,tests,$(BIN)/python -m pytest -m "not slow" --reruns 2 --durations=$(SLOWEST))
	@printf '\nseamark: all is well\n'

lint: setup ## style, import rules, and stubs that match proto/
	$(call part,ruff check,$(BIN)/ruff check .)
	$(call part,ruff format,$(BIN)/ruff format --check .)
	$(call part,import rules,$(BIN)/lint-imports --no-cache)
	$(call part,stubs match proto/,scripts/proto.sh --check)

type: setup ## strict types
	$(call part,types,$(BIN)/mypy)

fmt: setup ## put the code into shape
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

proto: ## write the stubs of proto/ into sdk/
	@scripts/proto.sh

bench: setup ## the measurements; leave the machine alone meanwhile
	@$(BIN)/python -m bench

property: setup ## the property tests alone
	$(call part,property tests,$(BIN)/python -m pytest tests/property)

integration: setup ## the integration tests, the slow ones too
	$(call part,integration tests,$(BIN)/python -m pytest tests/integration)

chaos: setup ## kills, freezes, full disks and damaged indexes while agents work; half an hour
	@$(BIN)/python -m tests.chaos --seconds 600
	@$(BIN)/python -m tests.chaos --cycles 300

determinism: setup ## recorded sessions give the same signals, whatever happens on their way
	@$(BIN)/python -m bench.determinism

examples: setup ## run every example and check what it prints
	$(call part,examples,$(BIN)/python -m pytest tests/examples)

ci: test ## the same gate

clean: ## remove environments, caches and build output
	@rm -rf .venv .venv-tools .venv-proto .venv-runtimes dist build \
		.mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find sdk sidecar adapters examples bench tests scripts -name __pycache__ -prune -exec rm -rf {} +
