# The commands of README.md and HACKING.md; the work is done by CMakePresets.json and scripts/.
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test build bench stress format clean setup

# How often `make stress` runs each stress test.
REPEAT ?= 20

help:
	@echo 'make demo     grow a decision tree on real data under several schedulers'
	@echo 'make test     every test, then again under the sanitizers'
	@echo 'make build    the library, examples and tests, preset dev'
	@echo 'make bench    the benchmarks, preset release; BENCH=--quick, BENCH="--only fork", see bench/README.md'
	@echo 'make stress   the stress tests REPEAT=$(REPEAT) times, plain and under ThreadSanitizer'
	@echo 'make format   format the C++ files in place'
	@echo 'make clean    remove what was built; fetched data stay'

setup:
	@scripts/setup

demo: setup
	@scripts/demo

test: setup
	@scripts/test

build: setup
	cmake --preset dev
	cmake --build --preset dev

bench: setup
	cmake --preset release
	RUN_BENCH='$(BENCH)' cmake --build --preset release --target run_bench

stress: setup
	cmake --preset dev && cmake --build --preset dev
	ctest --preset dev -L '^stress$$' --repeat until-fail:$(REPEAT)
	cmake --preset tsan && cmake --build --preset tsan
	ctest --preset tsan -L '^stress$$' --repeat until-fail:$(REPEAT)

format:
	scripts/format

clean:
	rm -rf build/dev build/release build/asan build/tsan build/model build/*.log
