# The commands of README.md and HACKING.md; the work is done by CMakePresets.json and scripts/.
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test build docs wheel bench stress mutants format clean setup

# How many random programs `make stress` runs under every policy, how many times as many rounds as in the suite its other
# tests take, and for how many seconds it preempts tasks of random programs, and kills and damages those of `weft cosched`.
PROGRAMS ?= 10000
REPEAT ?= 20
SOAK ?= 1800

help:
	@echo 'make demo     grow a decision tree on real data under several schedulers'
	@echo 'make test     every test, then again under the sanitizers'
	@echo 'make build    the library, examples and tests, preset dev'
	@echo 'make docs     the documentation, build/docs/index.html'
	@echo 'make wheel    the Python package as a wheel for other machines, build/wheel, and tries it where no compiler is'
	@echo 'make bench    the benchmarks, Weft and its peers; BENCH=--quick, BENCH="--only fork", see bench/README.md'
	@echo 'make stress   PROGRAMS=$(PROGRAMS) random programs, a tenth under each sanitizer; other tests REPEAT=$(REPEAT) times as long, SOAK=$(SOAK) seconds of preemption and of faults'
	@echo 'make mutants  puts one mistake at a time into the source: do the tests notice? MUTANTS="--only fence", about an hour for all'
	@echo 'make format   format the C++ and Python files in place'
	@echo 'make clean    remove what was built; fetched data stay'

setup:
	@scripts/setup

demo:
	@scripts/setup --demo
	@scripts/demo

test: setup
	@scripts/test

build: setup
	cmake --preset dev
	cmake --build --preset dev

docs:
	@scripts/setup --docs
	cmake --preset library -DWEFT_BUILD_PYTHON=ON
	cmake --build --preset library --target _core
	@PYTHONPATH=build/library/python scripts/docs

wheel: setup
	@scripts/wheel

bench:
	@scripts/setup --bench
	cmake --preset release -DWEFT_BUILD_TESTS=OFF
	RUN_BENCH='$(BENCH)' cmake --build --preset release --target run_bench

stress: setup
	@scripts/stress $(PROGRAMS) $(REPEAT) $(SOAK)

mutants: setup
	tests/mutants/run.py $(MUTANTS)

format:
	scripts/format

clean:
	rm -rf build/dev build/release build/library build/demo build/asan build/tsan build/model build/mutants build/docs* build/wheel build/*.log
