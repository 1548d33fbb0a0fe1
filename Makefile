# `make help` lists what there is. Everything runs in .venv, which `setup` makes and keeps up to date.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

VENV := .venv
WORKERS ?= 2
PYTEST_ARGS ?=
BENCH_ARGS ?=
DEMO ?= examples/digits/run.py
# The ways to run the whole suite; each is a target `test-mode-<name>` below. The first leaves nothing out: each
# row runs in each layout and in every test, and so do all mutants of kernels; the others draw as `make test` does.
# The last two try the kernels alone: lowered as for any browser, and with another driver, where Debian's
# chromium-common can be had.
MODES ?= adapter-limits default-limits opengl unfused fused captured portable swiftshader

export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
export MESA_SHADER_CACHE_DIR ?= $(CURDIR)/build/mesa-cache
export PYTHONUNBUFFERED := 1
# No process compiles a module that another has; `clean` removes what lies beside the sources.
unexport PYTHONDONTWRITEBYTECODE

SETUP := $(VENV)/.installed build/.system

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-16s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(SETUP) ## Make .venv, install everything at the locked versions, and a driver where there is none

$(VENV)/.python:
	PATH="$${PATH#*:}" scripts/make_venv.sh $(VENV)
	touch $@

$(VENV)/.installed: $(VENV)/.python pyproject.toml requirements.lock
	python -m pip install --quiet --disable-pip-version-check -c requirements.lock setuptools
	python -m pip install --quiet --disable-pip-version-check -c requirements.lock \
		--no-build-isolation --editable '.[all]'
	touch $@

build/.system: scripts/setup_system.sh | $(VENV)/.installed
	mkdir -p build $(MESA_SHADER_CACHE_DIR)
	scripts/setup_system.sh
	touch $@

.PHONY: demo
demo: $(SETUP) ## Train on handwritten digits with both backends; writes build/demo/
	python $(DEMO)

.PHONY: demo-web
demo-web: $(SETUP) ## Write pages: one recognises drawn digits, one lets coral grow, build/demo-web/; SERVE=1 serves them
	python examples/coral.py
	python examples/digits/web.py $(if $(SERVE),--serve)

.PHONY: demo-cluster
demo-cluster: $(SETUP) ## Train the digits on two processes, one of which is killed; writes build/demo-cluster/
	python examples/digits/cluster.py

# Tests that share a cluster of Dask are a group, which one process runs.
# Tests run side by side on all cores: threads of NumPy's products would only wait for one another.
PYTEST := OPENBLAS_NUM_THREADS=1 python -m pytest --numprocesses=$(WORKERS) --dist=loadgroup --durations=25 $(PYTEST_ARGS)

# The software driver compiles without its optimizations, and for four lanes, in half the time and to
# the same bits; test-modes runs with them, and as wide as the processor is. The cache is another one,
# since Mesa 22 takes a shader for eight lanes from it where four were asked for.
.PHONY: test
test: export GALLIVM_PERF ?= nopt
test: export LP_NATIVE_VECTOR_WIDTH ?= 128
test: export MESA_SHADER_CACHE_DIR := $(CURDIR)/build/mesa-cache-tests
test: $(SETUP) ## The whole suite, each sample in the default mode, every second one in another
	$(PYTEST)

.PHONY: test-modes
test-modes: $(MODES:%=test-mode-%) ## The whole suite in every mode

.PHONY: $(MODES:%=test-mode-%)
test-mode-adapter-limits: export WGSL_KERNELS_TEST_MODES := all
test-mode-adapter-limits: $(SETUP)
	$(PYTEST)

test-mode-default-limits: $(SETUP)
	WGSL_KERNELS_LIMITS=default $(PYTEST)

test-mode-opengl: $(SETUP)
	WGSL_KERNELS_ADAPTER=OpenGL $(PYTEST)

# SwiftShader, Chromium's Vulkan on a CPU, which keeps memory for each pipeline.
SWIFTSHADER ?= /usr/lib/chromium/vk_swiftshader_icd.json

test-mode-swiftshader: $(SETUP)
	scripts/setup_system.sh chromium-common
	if [ -f $(SWIFTSHADER) ]; then \
		VK_DRIVER_FILES=$(SWIFTSHADER) OPENBLAS_NUM_THREADS=1 WORKERS=$(WORKERS) python -m tests.by_family $(PYTEST_ARGS); \
	else \
		echo "No $(SWIFTSHADER): the kernels are not tried with SwiftShader."; \
	fi

test-mode-unfused test-mode-fused test-mode-captured: test-mode-%: $(SETUP)
	WGSL_KERNELS_TEST_ENGINE=$* $(PYTEST)

# What a browser runs, on this machine's adapter: see tests/portable_device.py.
test-mode-portable: $(SETUP)
	WGSL_KERNELS_LIMITS=default WGSL_KERNELS_TEST_ENGINE=portable $(PYTEST) \
		tests/test_samples.py -k "plain or fused_ or replay"

.PHONY: lint
lint: $(SETUP) ## ruff, mypy, pyright, import-linter and typos
	ruff check
	ruff format --check
	mypy
	pyright --warnings
	lint-imports
	lint-imports --config scripts/files.importlinter.toml
	typos

.PHONY: other-compilers
other-compilers: $(SETUP) ## Link the templates with npm's wesl and compile them with Tint, where Node is
	python -m tests.templates.other_compilers

.PHONY: browser
browser: $(SETUP) ## Run exported programs in Node and in Chromium, and saved models in TensorFlow.js
	scripts/setup_system.sh chromium $$(command -v npm > /dev/null || echo nodejs npm)
	python -m tests.web.browser
	python -m tests.graph_models.saved

.PHONY: docs
docs: $(SETUP) ## Build docs/_build/html; a warning is an error
	python -m sphinx -b html -W --keep-going --quiet docs docs/_build/html

.PHONY: bench
bench: $(SETUP) ## Measure ours beside its peers, which it sets up; BENCH_ARGS="--items matmul" narrows it
	python -m benchmarks.run $(BENCH_ARGS)

.PHONY: compare
compare: $(SETUP) ## Compare the speed of OLD, a revision, with this checkout; BENCH_ARGS="--items add" narrows it
	python -m benchmarks.compare $(or $(OLD),$(error Name the revision: make compare OLD=main)) $(BENCH_ARGS)

.PHONY: accuracy
accuracy: $(SETUP) ## Sweep functions and derivatives against mpmath and record how far each is off
	python -m benchmarks.accuracy
	python -m benchmarks.gradient_accuracy

.PHONY: wheel
wheel: $(SETUP) ## Build sdist and wheel into build/dist and try the wheel in an empty environment
	scripts/check_wheel.sh

.PHONY: clean
clean: ## Remove everything that was built, .venv included
	rm -rf $(VENV) build docs/_build docs/_plots *.egg-info
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
