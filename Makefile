# Every target sets itself up first. PY=python3 uses an interpreter that already has everything, and installs nothing.
PYTHON ?= python3
VENV ?= .venv
TORCH ?= torch==2.13.0

ifeq ($(origin PY), undefined)
PY := $(VENV)/bin/python
READY := $(VENV)/.ready
endif

.PHONY: setup demo test check learn-smoke gpu bench format clean
setup: $(READY)

demo: $(READY)  ## one module, from PyTorch to a verified CUDA program
	$(PY) -m warpsmith optimize examples/rmsnorm_gelu.py

test: $(READY)  ## the whole suite; tests that need a GPU are counted and skipped without one
	$(PY) -m pytest -n 2 --dist loadscope

check: $(READY)  ## format, lint, types, direction of imports
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy
	$(VENV)/bin/lint-imports

learn-smoke: $(READY)  ## every stage of training in miniature on the cpu device; about 3 minutes on 2 idle cores
	rm -rf build/learn-smoke build/learn-smoke-tasks
	OMP_NUM_THREADS=1 $(PY) -m warpsmith train pipeline --recipe smoke --device cpu --run build/learn-smoke

gpu: $(READY)  ## the tests that need an NVIDIA GPU
	$(PY) -m pytest -m gpu

bench: $(READY)  ## seconds from source to loadable, microseconds a call
	$(PY) -m benchmarks.toolchain

format: $(READY)
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache

# torch apart from the lock, since its builds differ by machine, and before it, since what is in the lock wants one.
$(VENV)/.ready: pyproject.toml requirements/dev.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "warpsmith needs Python 3.11 or newer; name one with: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "no venv module; on Debian or Ubuntu: apt-get install python3-venv"; exit 1; }
	$(VENV)/bin/pip install -q --disable-pip-version-check $(TORCH)
	$(VENV)/bin/pip install -q --disable-pip-version-check -r requirements/dev.lock
	$(VENV)/bin/pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@
