# Everything that is needed is brought by these targets; python3, make, node and npm are enough to begin with.
#   make demo   run the quickstart in a real kernel and leave a notebook and a page to look at
#   make test   all checks and all tests: Python, TypeScript, real browser
#   make test-frameworks   the frameworks and releases that need an environment each
#   make versions   write which versions were tested into docs/frameworks.md
#   make lab    the quickstart in JupyterLab, on this machine only
#   make bench  what it costs, beside what people use instead
#   make bundle build src/agentcell/static/ from js/

SHELL := /bin/bash
.DEFAULT_GOAL := test
.PHONY: demo test test-frameworks versions lab bench bundle check check-python check-js test-python test-js clean

PY := .venv/bin/python
READY := .venv/.ready
JS_READY := js/node_modules/.ready
VSCODE := tests/browser/vscode

$(READY): pyproject.toml
	python3 -m venv .venv
	$(PY) -m pip install --quiet --upgrade "pip>=25.1"
	$(PY) -m pip install --quiet --editable . --group dev
	@touch $@

$(JS_READY): js/package.json js/package-lock.json
	cd js && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

$(VSCODE)/build/page.js: $(VSCODE)/package.json $(VSCODE)/package-lock.json $(VSCODE)/page.js
	cd $(VSCODE) && npm ci --no-audit --no-fund --loglevel=error && npm run --silent build

demo: $(READY)
	$(PY) examples/demo.py

lab: $(READY)
	$(PY) jupyter-config/lab.py examples/quickstart.ipynb

bench: $(READY)
	$(PY) bench/run.py

bundle: $(JS_READY)
	cd js && npm run --silent build

test: check test-js test-python

check: check-python check-js

check-python: $(READY)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

check-js: $(JS_READY)
	cd js && npm run --silent check

test-js: $(JS_READY)
	cd js && npm test --silent

test-python: $(READY) $(JS_READY) $(VSCODE)/build/page.js
	$(PY) tests/browser/bring_chromium.py
	$(PY) tests/browser/bring_kernels.py
	$(PY) -m pytest --numprocesses 2 --dist loadfile

# Each of them is made by this target, from the registry alone.
test-frameworks: $(READY)
	$(PY) tests/frameworks/environments.py

versions: $(READY)
	$(PY) tests/frameworks/versions.py

clean:
	rm -rf .venv js/node_modules $(VSCODE)/node_modules $(VSCODE)/build dist build
