# `make demo` and `make test` need Python 3.11 or newer with pip, nothing else.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# `make test TORCH=1` also installs torch and transformers and runs the tests that need them.
TORCH  ?=
COMMA  := ,
EXTRAS := dev$(if $(TORCH),$(COMMA)torch-dev)
STAMP  := $(VENV)/.installed$(if $(TORCH),-torch)
CORES  ?= $(shell $(PYTHON) -c "import os; print(len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count() or 1)")

.PHONY: help setup demo test lint types pytest filecheck bench nightly docs format clean

help:
	@echo "make demo       a real model through user passes, compared with onnxruntime, priced"
	@echo "make test       lint, types, lit and pytest (what .ci/run calls)"
	@echo "make bench      the benchmarks, JSON on standard output"
	@echo "make nightly    longer sweeps: real models, many random graphs, engine rules dropped in turn"
	@echo "make docs       docs/ops/: a page per family of ops, from the registry"
	@echo "make format     ruff format and the fixes it can make"

setup: $(STAMP)

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$(EXTRAS)]'
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/python examples/demo.py

test: lint types filecheck pytest

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/pyright

filecheck: $(STAMP)
	$(BIN)/lit -j $(CORES) tests/filecheck

pytest: $(STAMP)
	$(BIN)/python -m pytest -n $(CORES) --dist loadfile

bench: $(STAMP)
	$(BIN)/python -m benchmarks

nightly: $(STAMP)
	$(BIN)/python tools/fetch_model.py
	GE_XDSL_NIGHTLY=1 $(BIN)/python -m pytest -n $(CORES) --dist loadfile
	$(BIN)/python tests/mutation/mutate.py
	$(BIN)/python -m benchmarks

docs: $(STAMP)
	$(BIN)/python tools/write_op_docs.py

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build ./*.egg-info .pytest_cache .ruff_cache .hypothesis
