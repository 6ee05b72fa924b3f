# SPDX-License-Identifier: MIT
#
# The one front door: CMake builds the user space, Kbuild the module, tools/ prepares the rest. `make help` lists it.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
# One target after the other: they share folders. Inside, the compilers run side by side.
.NOTPARALLEL:

KDIR ?= /lib/modules/$(shell uname -r)/build
MODULE_DIR ?= build/module/$(shell cat '$(KDIR)/include/config/kernel.release' 2>/dev/null)
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
GUEST := ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- CC='$(CURDIR)/tools/cmake/cached aarch64-linux-gnu-gcc'

# say(text): where the time goes, in the long targets
say = @printf '\n== %s\n' '$(1)'

.PHONY: help
help: ## List the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1|\2/p' $(MAKEFILE_LIST) | column -t -s '|'

.PHONY: all
all: release guest ## Build the user space for this machine, and all that runs in the guest

.PHONY: setup
setup: ## Install the Debian packages that building, checking and the demo need
	tools/setup/install build fuzz lint vm demo

## User space ----------------------------------------------------------------------------------------------------------

PRESETS := debug release asan tsan fuzzers aarch64 armhf

CONFIGURE := tools/cmake/CMakeLists.txt tools/cmake/CMakePresets.json

build/%/build.ninja: $(CONFIGURE)
	tools/setup/install build
	cmake -S tools/cmake --preset $*

build/fuzzers/build.ninja: build/%/build.ninja: $(CONFIGURE)
	tools/setup/install build fuzz
	cmake -S tools/cmake --preset $*

# The driver's tests use the kernel's harness.
build/aarch64/build.ninja build/armhf/build.ninja: build/%/build.ninja: $(CONFIGURE)
	tools/setup/install build vm
	kdir=$$(tools/vm/kernel/build | tail -n 1) && \
		cmake -S tools/cmake --preset $* -DRKNPU_KERNEL_SRC="$$kdir/source"

.PHONY: $(PRESETS)
$(filter-out tsan fuzzers,$(PRESETS)): %: build/%/build.ninja
	cmake --build build/$* --parallel $(JOBS)
# What threads share, alone: all else runs with the other sanitizers.
tsan: build/tsan/build.ninja
	cmake --build build/tsan --parallel $(JOBS) --target threaded
# Without the shared library: that needs the sanitizers' symbols, which only programs bring along.
fuzzers: build/fuzzers/build.ninja
	cmake --build build/fuzzers --parallel $(JOBS) --target selftests/fuzz/all

# build(folders): only these, for this machine
build = cmake --build build/release --parallel $(JOBS) --target $(addsuffix /all,$(1))

.PHONY: hal vnpu
hal vnpu demo-sim: build/release/build.ninja
hal: ## Build the HAL for this machine, into build/release
	$(call build,hal)
vnpu: ## Build the virtual NPU, into build/release
	$(call build,tools/vnpu)

COMPONENTS := rknpu rknpu-dev rknpu-sim rknpu-python tools vnpu-tools

.PHONY: install
install: build/release/build.ninja ## Install the library, its simulator, Python package and programs below PREFIX= (default /usr/local)
	$(call build,hal tools/vnpu $(patsubst %,tools/%,rknpu-camera rknpu-classify rknpu-regcmd vnpu-run))
	for component in $(COMPONENTS); do \
		DESTDIR='$(DESTDIR)' cmake --install build/release --prefix '$(PREFIX)' --component $$component; done

## Kernel module -------------------------------------------------------------------------------------------------------

.PHONY: module
module: ## Build rknpu.ko; KDIR=, ARCH=, CROSS_COMPILE= for another kernel than the running one
	@test -e '$(KDIR)/include/config/kernel.release' || { echo "make module: KDIR=$(KDIR) is not a configured kernel:" \
		"install the headers of the running kernel, or name the build folder of another with KDIR=" >&2; exit 1; }
	@# Kbuild writes beside the sources: let it see links to them.
	@mkdir -p '$(MODULE_DIR)' && find '$(MODULE_DIR)' -type l -delete
	@cp -rs '$(CURDIR)/kernel' '$(CURDIR)/uapi' '$(MODULE_DIR)'
	$(MAKE) --jobs=$(JOBS) -C '$(KDIR)' M='$(abspath $(MODULE_DIR))/kernel' modules
	@echo 'module: $(MODULE_DIR)/kernel/rknpu.ko'

.PHONY: module-install
module-install: ## Install the module that `make module` built
	$(MAKE) -C '$(KDIR)' M='$(abspath $(MODULE_DIR))/kernel' modules_install

## Device trees --------------------------------------------------------------------------------------------------------

.PHONY: dtbs
dtbs: ## Compile the overlays for boards into build/dtbs; KSRC= names the source of the kernel whose headers count
	tools/setup/install build lint
	tools/dts/build build/dtbs $(if $(KSRC),'$(KSRC)')

## In a kernel's source -----------------------------------------------------------------------------------------------

.PHONY: bsp-install bsp-uninstall
bsp-install: ## Put the driver into the source of a kernel, as drivers/rknpu; KSRC= is its folder
	@tools/bsp/bsp install '$(KSRC)'
bsp-uninstall: ## Take it out again: the source is as before
	@tools/bsp/bsp uninstall '$(KSRC)'

.PHONY: patches
patches: ## Make patches for the newest kernel, or that in KSRC=, into build/patches
	tools/setup/install lint vm
	ksrc='$(KSRC)'; tools/bsp/patches "$${ksrc:-$$(tools/vm/kernel/build --version 7.x --source)}" build/patches

## Virtual machine -----------------------------------------------------------------------------------------------------

.PHONY: vm
vm: vnpu ## Prepare the virtual machine: QEMU with the virtual board, kernel, model; all but the model are cached
	$(call say,Virtual machine)
	tools/vm/prepare

# install_module(folder, options of tools/vm/kernel/build): the module for this kernel of the guest, into a folder
install_module = kdir=$$(tools/vm/kernel/build $(2) | tail -n 1) && $(MAKE) module module-install \
	KDIR="$$kdir" $(GUEST) INSTALL_MOD_PATH='$(CURDIR)/$(1)' DEPMOD=true

# guest_modules(options of tools/vm/kernel/build): that, and the kernel's driver for a supply that the firmware sets
define guest_modules
	$(call install_module,build/guest,$(1))
	tools/vm/kernel-module "$$(tools/vm/kernel/build $(1) | tail -n 1)" drivers/regulator/scmi-regulator.c build/guest
endef

.PHONY: guest guest-debug guest-newest guest-kernels
guest: aarch64 armhf ## Build what the VM boots with into build/guest: module, HAL, tests, demo
	rm -rf build/guest
	DESTDIR=build/guest cmake --install build/aarch64 >build/aarch64/install.log
	DESTDIR=build/guest cmake --install build/armhf >build/armhf/install.log
	$(call guest_modules)
guest-debug: guest ## The same, with the module for the kernel that checks itself as well
	$(call guest_modules,--config debug)
guest-newest: guest ## The same, with the module for the newest kernel as well, where mainline's driver is
	$(call guest_modules,--version 7.x)
guest-kernels: guest-newest ## The same, with the module for the oldest kernel as well
	$(call guest_modules,--version 6.1)

.PHONY: rknpu-vm-bundle install-vm
rknpu-vm-bundle: vm ## Pack the virtual machine, ready to run on other machines, into build/rknpu-vm.tar.gz
	$(call install_module,build/rknpu-vm)
	$(call install_module,build/rknpu-vm,--version 7.x)
	tools/rknpu-vm/bundle build/rknpu-vm.tar.gz build/rknpu-vm 6.12 7.x
install-vm: rknpu-vm-bundle ## Install the program rknpu-vm below PREFIX= (default /usr/local)
	tools/rknpu-vm/install build/rknpu-vm.tar.gz '$(DESTDIR)$(PREFIX)'

## Packages ------------------------------------------------------------------------------------------------------------

.PHONY: deb dkms
deb: ## Build the Debian packages into build/deb; DEB_ARCH= for another architecture, into build/deb-ARCH
	tools/setup/install build deb
	tools/packaging/deb $(DEB_ARCH)
dkms: ## Lay the module's source out for DKMS, into build/dkms
	tools/packaging/dkms "build/dkms/rknpu-$$(tools/packaging/version)"
	@echo "dkms: to build and install it: dkms install build/dkms/rknpu-$$(tools/packaging/version)"

## Checks --------------------------------------------------------------------------------------------------------------

.PHONY: check check-host check-vm check-debug check-kernels check-packages
check: setup release asan tsan fuzzers vm guest-newest ## Run all tests: on this machine, then in the VM
	selftests/runner/run host vm
check-host: release asan tsan fuzzers ## Run the tests that need no VM: optimised, with sanitizers, and the fuzzers for a moment
	selftests/runner/run host
check-vm: vm guest-newest ## Run the tests in the VM
	selftests/runner/run vm
check-debug: vm guest-debug ## Run the driver's tests on a kernel that checks itself: memory, locks, leaks, DMA; slow
	selftests/runner/run debug
check-kernels: setup vm guest-kernels ## Run the VM's tests on the oldest and the newest kernel, and with the driver built in; slow
	selftests/runner/run builds builtin 6.1 7.x
check-packages: setup vm deb ## Build the Debian packages, install and remove them in a clean system, and try them on the virtual board; needs root
	tools/packaging/deb arm64
	selftests/runner/run packages

.PHONY: fuzz
fuzz: fuzzers ## Fuzz the library for SECONDS= (default 60) each: descriptions, views, assembler, validator
	for fuzzer in $(patsubst selftests/fuzz/%_fuzz.cpp,%,$(wildcard selftests/fuzz/*_fuzz.cpp)); do \
		selftests/fuzz/run build/fuzzers $$fuzzer $(or $(SECONDS),60); done

.PHONY: conformance
conformance: build/release/build.ninja ## Compare the virtual NPU with plain references; CASES= of each function, SEED=
	$(call build,selftests/vnpu)
	build/release/selftests/vnpu/vnpu_conformance

.PHONY: bench
bench: bench-driver bench-hal bench-model ## Measure the driver, the HAL and the virtual NPU

.PHONY: bench-driver
bench-driver: vm guest ## Count what the driver costs, in instructions of the guest, into build/bench.json
	tools/bench/run

.PHONY: bench-hal
bench-hal: build/release/build.ninja ## Measure how fast the HAL converts layouts, against memcpy
	cmake --build build/release --parallel $(JOBS) --target bench-hal
	build/release/tools/bench/hal/bench-hal

.PHONY: bench-model
bench-model: build/release/build.ninja ## Measure how fast the virtual NPU computes, against a plain loop and oneDNN
	tools/setup/install bench
	cmake build/release >build/release/configure.log
	cmake --build build/release --parallel $(JOBS) --target bench-model
	build/release/tools/bench/model/bench-model

.PHONY: lint
lint: ## Check style, types, bindings and scripts; CHECKS= names single ones
	tools/setup/install build docs lint vm
	tools/lint/run $(CHECKS)

## Demo ----------------------------------------------------------------------------------------------------------------

.PHONY: demo
demo: setup vm guest ## Run a real picture through driver, HAL and virtual NPU in the VM; IMAGE= takes another
	tools/demo/run-vm

.PHONY: demo-sim
demo-sim: ## The same without a VM, on the model in the process
	$(call build,hal tools/vnpu tools/demo)
	tools/demo/run-sim

.PHONY: docs
docs: ## Make the library's reference, build/docs/html/index.html
	tools/setup/install docs
	mkdir -p build/docs
	doxygen docs/Doxyfile

.PHONY: clean
clean: ## Remove build/; the cache of QEMU and kernels stays
	rm -rf build
