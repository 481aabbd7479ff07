# Every target makes the virtual environment it needs. Only Python and pip have to be there.
#
#   make demo       calibrate a predator-prey model to real counts; figure in out/
#   make test       lint, types and the test suite
#   make test-all   the suite on Python 3.11, 3.12 and 3.13
#   make bench      timings, side by side with other tools; results in benchmarks/

BIN  := .venv/bin
EXTRAS := plot,test

.PHONY: demo test test-all bench format clean
.DEFAULT_GOAL := test

demo: .venv/.installed
	$(BIN)/pullback demo

test: .venv/.installed
	$(BIN)/ruff check src tests examples benchmarks
	$(BIN)/ruff format --check src tests examples benchmarks
	$(BIN)/mypy
	$(BIN)/pytest

test-all: test-3.11 test-3.12 test-3.13

test-%: .venv-%/.installed
	.venv-$*/bin/pytest

bench: .venv/.bench
	$(BIN)/python benchmarks/run.py

format: .venv/.installed
	$(BIN)/ruff check --fix src tests examples benchmarks
	$(BIN)/ruff format src tests examples benchmarks

clean:
	rm -rf .venv .venv-* build dist out .mypy_cache .pytest_cache .ruff_cache src/*.egg-info

# The environments, made anew when what they are made from changes.
.venv/.installed: pyproject.toml
	test -x .venv/bin/python || "$$(scripts/python.sh 3.11 3.12 3.13)" -m venv .venv
	.venv/bin/python -m pip install --quiet --editable '.[$(EXTRAS)]'
	touch $@

.venv/.bench: .venv/.installed
	.venv/bin/python -m pip install --quiet --editable '.[bench]' || \
		echo "Without the other tools: they are not to be had here."
	touch $@

.venv-%/.installed: pyproject.toml
	test -x .venv-$*/bin/python || "$$(scripts/python.sh $*)" -m venv .venv-$*
	.venv-$*/bin/python -m pip install --quiet --editable '.[$(EXTRAS)]'
	touch $@
.PRECIOUS: .venv-%/.installed
