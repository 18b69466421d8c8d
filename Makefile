# Everything that a person or CI does with this folder. `make help` lists it.
# Needs make and Python 3.11 or later; the rest is installed into .venv, each part when something first needs it.

QUESTION ?= What does the assert statement do, how do context managers work, and when is a finally clause executed?
CORPUS ?= pydoc:topics
TESTS ?=
CRASH ?=
POSTGRES15 ?= /usr/lib/postgresql/15/bin

PERDURE := .venv/bin/perdure
RUN := .venv/bin/python -Im
# pyright would say that a newer one exists, and may be told where node is by the wheel that we install.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run test lint dev bench tamper changes crash properties models test-model test-postgres15 clean
export QUESTION CORPUS

# An environment that was moved, cut short or lost its Python has to be made again.
$(shell test "$$(cat .venv/made-in 2>/dev/null)" = "$(CURDIR)" && test ! -e .venv/unfinished && .venv/bin/python -c "" 2>/dev/null \
	|| rm -f .venv/has-run .venv/has-tests .venv/has-lint .venv/has-served)

help: ## List these targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' Makefile

run: .venv/has-run ## Answer QUESTION from CORPUS and say where the report is (make run QUESTION="…" CORPUS=path)
	@$(PERDURE) run "$$QUESTION" --corpus "$$CORPUS" --review none

# A process for each processor; what a module sets up is set up once.
test: .venv/has-tests ## Run the tests (TESTS="tests/unit -k name" for some)
	@$(RUN) pytest -n auto --dist loadfile $(TESTS)

lint: .venv/has-lint ## Check format, style, import contracts and types
	@.venv/bin/ruff format --check .
	@.venv/bin/ruff check .
	@.venv/bin/lint-imports
	@.venv/bin/mypy
	@.venv/bin/pyright

dev: .venv/has-tests ## Start LangGraph's dev server with our checkpointer, for Studio and langgraph_sdk
	@PERDURE_CORPUS="$${PERDURE_CORPUS:-$$CORPUS}" \
		LANGGRAPH_STRICT_MSGPACK=true LANGGRAPH_NO_VERSION_CHECK=true LANGGRAPH_CLI_NO_ANALYTICS=1 \
		.venv/bin/langgraph dev --no-browser

bench: .venv/has-tests ## Measure speed and memory, as ratios (about ten minutes; keep the machine quiet)
	@$(RUN) pytest tests/benchmarks -o python_files='bench_*.py' -q -s

crash: .venv/has-tests ## Harm runs at every boundary in every way, and at pairs of them (CRASH="--scenario straight" for some)
	@.venv/bin/python -m tests.faults.crash $(or $(CRASH),--pairs)

tamper: .venv/has-tests ## Edit, exchange, delete and add in every table that a resume reads, each change on a copy (about five minutes)
	@PERDURE_TEST_WHOLE=1 $(RUN) pytest -q -s tests/faults/test_tampered_runs.py

changes: .venv/has-tests ## Try every kind of change of the workflow on a run that was killed at every checkpoint (some minutes)
	@PERDURE_TEST_WHOLE=1 $(RUN) pytest -q -s tests/migrations/test_kinds_of_change.py -o timeout=7200

properties: .venv/has-tests ## Play a thousand lives of effects and a thousand of reviews, in every order of sends, deaths, takeovers and people's words (about an hour)
	@PERDURE_TEST_WHOLE=1 $(RUN) pytest -q -s tests/properties -o timeout=7200

models: .venv/has-tests ## Play every failure of a model's endpoint at every call of a run (more than 200 schedules, some minutes)
	@PERDURE_TEST_WHOLE=1 $(RUN) pytest -q -s tests/faults/test_model_faults.py -o timeout=7200

test-model: .venv/has-served ## Research with a small language model that is really served, kill it and resume it (130 MB, some minutes)
	@$(RUN) pytest tests/model -o python_files='served_*.py' -o timeout=1800 -s

test-postgres15: .venv/has-tests ## Run the tests on a system PostgreSQL 15
	@test -x $(POSTGRES15)/initdb || { echo "perdure: no PostgreSQL 15 in $(POSTGRES15). On Debian 12: apt install postgresql-15" \
		"(the server it starts is not used), or make $@ POSTGRES15=/its/bin" >&2; exit 1; }
	@PERDURE_TEST_POSTGRES_PROGRAMS=$(POSTGRES15) $(RUN) pytest $(TESTS)

clean: ## Stop an embedded database that nobody uses, and remove .venv and all caches (reports and the database stay)
	@test ! -e .venv/has-run || .venv/bin/python -c 'import asyncio; from graph.embedded import stop_embedded; \
		from graph.settings import load_settings; asyncio.run(stop_embedded(load_settings().home))'
	@rm -rf .venv .venv.lock .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis .langgraph_api dist
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/has-run: pyproject.toml constraints.txt .ci/environment
	@.ci/environment
	@touch $@

.venv/has-tests: pyproject.toml constraints.txt .ci/environment
	@.ci/environment server tests
	@touch $@ .venv/has-run

.venv/has-served: pyproject.toml constraints.txt .ci/environment
	@.ci/environment server tests served
	@touch $@ .venv/has-tests .venv/has-run

.venv/has-lint: pyproject.toml constraints.txt .ci/environment
	@.ci/environment server tests lint
	@touch $@ .venv/has-tests .venv/has-run
