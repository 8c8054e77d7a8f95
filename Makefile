# A newcomer needs make demo and make test. Python 3.11, make and a package index are enough; the rest sets itself up.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# Compiled modules are kept, whatever the environment has: they save half of pytest's time to collect the tests, and a
# third of the start of each process of Muster.
unexport PYTHONDONTWRITEBYTECODE

# The share of the proof. With SHARE=1 CI plays at each change, in five minutes of CPU: every eighth of the plans that keep
# each kind of fault of each family in each scenario with each operator; every fourth planted bug; one in 40 of the hostile
# objects. The nightly plays all.
ifdef SHARE
PART ?= 16
EVERY ?= 8
RUNS ?= 50
SOAK ?= 500
FAULTS ?= 8
HOURS ?= 50
HUNTS ?= --every 4 --enough 1
CASES ?= 1500
else
PART ?= 1
EVERY ?= 1
RUNS ?= 500
SOAK ?= 10000
FAULTS ?= 212
HOURS ?= 1000
HUNTS ?=
CASES ?= 57500
endif
# Tests of one kind stay together on a worker if they share a cluster or a browser. Two more workers than processors if
# tests wait for processes; as many as processors if they compute.
PYTEST := $(BIN)/python -m pytest --dist loadgroup --durations 15 --durations-min 5
CLUSTERS := --numprocesses auto --maxprocesses 4 --dist loadgroup --durations 15 --durations-min 5
COMPUTING := --numprocesses $(shell nproc 2>/dev/null || echo 2) --maxprocesses 8

.DEFAULT_GOAL := help
.PHONY: help setup frameworks demo test test-all test-clusters test-slow flakes coverage test-newer-python check tools drift lint packages simulate simulate-all goodput proof-all real fleet planted-bugs mutants fuzz bench real-node real-bench image docs site pictures clean

help: ## Show what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 26

setup: $(READY) ## Make the virtual environment with everything in it

$(READY): pyproject.toml constraints.txt
	@echo "setting up $(VENV) (a few minutes the first time) ..."
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Muster needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

frameworks: $(READY) ## Install Ray, XGBoost and PyTorch for examples and their tests (minutes: 600 MB into ~/.cache, PyTorch from apt); TORCH=1: also the current PyTorch (6 GB, up to 40 minutes)
	@$(BIN)/python -m tests.frameworks $(if $(TORCH),--torch)

demo: $(READY) ## Run the main job on a local cluster: train, lose a worker, miss a rank
	@$(BIN)/python examples/demo.py

# Three tiers. The tests of each change depend on no wall clock, except tests/smoke, and are never repeated.
test: $(READY) ## Run the fast tests, and a smoke test of each framework on one cluster: five minutes
	@$(PYTEST) $(COMPUTING) -m "not cluster and not slow"

test-all: test test-clusters test-slow ## Run all tests

# Clocks of Kubernetes, such as those of a Lease, are wall time: a failed test is repeated once, alone, and recorded.
test-clusters: tools ## Run the tests with real processes
	@$(BIN)/python -m tests.flakes play -- $(CLUSTERS) -m "cluster and not slow"

test-slow: tools ## Run the tests that cost most and fail least: alerts, chart, browser, packages, pages
	@$(BIN)/python -m tests.flakes play -- $(CLUSTERS) -m slow

flakes: $(READY) ## Play each test that flaked twice in the last 20 runs ten times, and print how often it passed
	@$(BIN)/python -m tests.flakes

coverage: $(READY) ## Measure which branches of state and kinds their tests reach, against a floor
	@$(PYTEST) $(COMPUTING) tests/state tests/kinds --cov=muster.state --cov=muster.kinds --cov-report=term:skip-covered --cov-report=json:.coverage.json
	@$(BIN)/python tests/coverage_floor.py .coverage.json

tools: $(READY) # programs that tests run; prints what it builds, once, for some minutes, which pytest would not show
	@$(BIN)/python -m tests.tools $(if $(ALL),--all)

test-newer-python: ## Run the tests of state and kinds with a newer Python, if the machine has one
	@.ci/newer-python

check: $(READY) ## Run linters, types, import contracts, the drift checks of generated files, lengths of documents, twine
	@$(MAKE) --no-print-directory --jobs=2 drift lint packages

drift: tools
	@$(BIN)/python -m pytest -q --no-header -m drift

lint: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@for each in examples/*/ examples/demo.py docs/images; do $(BIN)/mypy $$each || exit 1; done
	@$(BIN)/lint-imports
	@$(BIN)/python -m tools.lengths
	@$(BIN)/deptry .

packages: $(READY)
	@dist=$$(mktemp -d) && $(BIN)/python -m build --no-isolation --outdir "$$dist" . >"$$dist.log" 2>&1 \
	  && $(BIN)/twine check --strict "$$dist"/*; status=$$?; [ $$status -eq 0 ] || tail -n 20 "$$dist.log"; \
	  rm -r "$$dist" "$$dist.log"; exit $$status

simulate: $(READY) ## Prove decisions under faults: each fault in each phase of each scenario, and RUNS random plans; SHARE=1: CI's part
	@$(BIN)/python -m tests.simulation --part $(PART) --every $(EVERY) --runs $(RUNS) --soak $(SOAK)
	@$(BIN)/python -m tests.faults --runs $(FAULTS)
	@$(BIN)/python -m tests.diagnosis.job_hours --hours $(HOURS)

simulate-all: $(READY) ## Prove the same in full: each fault at each boundary with each gang, 100,000 random plans; FULL=1: at each step
	@$(BIN)/python -m tests.simulation --all --runs 100000 --soak 10000 $(if $(FULL),--everywhere)
	@$(BIN)/python -m tests.faults --runs 212
	@$(BIN)/python -m tests.recorder --virtual 1000

goodput: $(READY) ## Compare the seconds of each bucket with the log of a real gang that is killed, frozen and suspended: five minutes
	@$(BIN)/python -m tests.goodput

proof-all: real real-node fleet simulate planted-bugs fuzz mutants goodput ## Play all of which CI plays a part: some hours

real: $(READY) ## Run Muster on a real control plane (Go builds it once, 5 to 20 minutes), or on the cluster of KUBECONFIG
	@$(BIN)/python -m tests.real $(REAL)

real-node: $(READY) ## Run Muster on real nodes: kubelets, containers, DNS, policies (root and Debian's packages; prints what is missing)
	@$(BIN)/python -m tests.real_node $(REAL)

fleet: $(READY) ## Play the faults of a fleet of 1,000 runs with a real Prometheus and Alertmanager, and judge the pages: 19 minutes
	@$(BIN)/python -m tests.fleet

planted-bugs: $(READY) ## Plant known mistakes and see that each is caught; prints which plans caught which; SHARE=1: CI's part
	@$(BIN)/python -m tests.planted $(HUNTS)

mutants: $(READY) ## Plant small mistakes in muster/state/, one at a time: at most 5 % may survive (an hour or two)
	@rm -rf mutants
	@$(BIN)/mutmut run
	@$(BIN)/mutmut results
	@$(BIN)/mutmut export-cicd-stats >/dev/null
	@$(BIN)/python tests/mutant_floor.py mutants/mutmut-cicd-stats.json

fuzz: $(READY) ## Throw 100,000 hostile objects at the daemon; SHARE=1: CI's part
	@$(BIN)/python -m tests.fuzz --cases $(CASES)

bench: $(READY) ## Measure the hot paths against their budgets; writes benchmarks/out.json
	@$(BIN)/python -m benchmarks

real-bench: $(READY) ## Measure Muster beside a bare create loop on a real API server; writes benchmarks/real.json
	@$(BIN)/python -m benchmarks.real

docs: $(READY) ## Write the generated files: CRD, manifest reference, metrics, commands, reasons, rules, dashboards, chart
	@$(BIN)/python -m muster.api.schema.crd > deploy/crds/experiments.muster.dev.yaml
	@$(BIN)/python -m tests.manifest_reference > docs/manifest-reference.md
	@$(BIN)/python -m tests.watched_kinds_page docs/watched-runs.md
	@$(BIN)/python -m tools.metrics_page > docs/metrics.md
	@$(BIN)/python -m muster.cli.reference > docs/cli.md
	@$(BIN)/python -m tests.compatibility.page > tests/compatibility/README.md
	@$(BIN)/python -m tools.reasons
	@$(BIN)/python -m deploy.prometheus
	@$(BIN)/python -m deploy.grafana
	@$(BIN)/python -m deploy.helm

site: $(READY) ## Build docs/ as a site with search into site/ (mkdocs in an environment of its own); a dead link fails
	@[ -x .venv-site/bin/mkdocs ] || { $(PYTHON) -m venv .venv-site \
	  && .venv-site/bin/pip install --quiet --disable-pip-version-check --requirement tools/site/requirements.txt; }
	@$(BIN)/python -m tools.site site $(FORGE)

image: $(READY) ## Build the image with docker or buildah, and its list of packages into dist/ (BASE=... is another base image)
	@deploy/image/build $(TAG)

pictures: $(READY) ## Draw dashboards and roll-call page into docs/images from live data (needs Prometheus and Chromium)
	@$(BIN)/python -m tests.browser.pictures
	@$(BIN)/python -m tests.deploy.grafana.pictures

clean: ## Remove the virtual environment and everything generated outside git
	rm -rf $(VENV) .venv-newer .venv-site site .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage .coverage.json mutants benchmarks/out.json benchmarks/real.json
