# Each target does all of its own set-up: it needs Python 3.11–3.13 with pip, and make.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
WITH_MODELS = DISTINGUO_MODELS="$$($(BIN)/distinguo models where)"

.PHONY: demo test check test-train baseline contrast racot bench models clean

demo: $(VENV)/base models            ## index the sample corpus and ask three questions
	@PATH="$(CURDIR)/$(BIN):$$PATH" examples/demo.sh

test: check $(VENV)/dev models       ## all tests, the embedded models included
	$(BIN)/distinguo models get smollm2-135m-instruct
	$(WITH_MODELS) $(BIN)/python -m pytest --cov --cov-fail-under=95

check: $(VENV)/dev                   ## lint, types, floors
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports

test-train: $(VENV)/train models     ## what needs torch
	$(BIN)/distinguo models get all-minilm-l6-v2
	$(WITH_MODELS) $(BIN)/python -m pytest -m train

baseline: $(VENV)/dev models         ## docs/results/baseline.md: about an hour; broken off, it goes on
	$(BIN)/distinguo grid docs/results/baseline.toml --out docs/results/baseline --omit-texts \
		--page docs/results/baseline.md

contrast: $(VENV)/dev models         ## docs/results/contrast.md: about four hours; broken off, it goes on
	$(BIN)/distinguo models get qwen2.5-coder-0.5b-instruct
	$(BIN)/distinguo grid docs/results/contrast.toml --out docs/results/contrast --omit-texts \
		--page docs/results/contrast.md
	$(WITH_MODELS) $(BIN)/python -m bench.contrast docs/results/contrast.toml docs/results/contrast \
		docs/results/contrast.md

racot: $(VENV)/dev models            ## docs/results/racot.md: RaCoT's main table; an hour; broken off, it goes on
	$(BIN)/distinguo grid docs/results/racot.toml --out docs/results/racot --omit-texts \
		--page docs/results/racot.md

bench: $(VENV)/bench models           ## docs/results/bench.md: ten minutes; fails when a ratio is missed
	$(WITH_MODELS) $(BIN)/python -m bench --out docs/results/bench.md

models: $(VENV)/base
	$(BIN)/distinguo models get

$(VENV)/base: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/dev: $(VENV)/base
	$(BIN)/python -m pip install --quiet --editable '.[dev,eval,llamacpp,plot,qdrant]'
	touch $@

$(VENV)/bench: $(VENV)/base
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	touch $@

$(VENV)/train: $(VENV)/dev
	$(BIN)/python -m pip install --quiet --editable '.[train]'
	touch $@

clean:                               ## forget the environment and the demo's index
	rm -rf $(VENV) .demo
