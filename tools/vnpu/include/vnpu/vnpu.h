/* SPDX-License-Identifier: MIT */
/*
 * vnpu: a register-level, functional model of the Rockchip NPU.
 *
 * This is the C border of the model. It has two users: the QEMU device (loads the shared library at run time,
 * so that a change of the model never needs a new QEMU) and the HAL's simulator backend.
 *
 * The model owns no thread and reads no clock. Time is what vnpu_api::advance says it is, in NPU clock cycles
 * since creation; the model asks for calls with vnpu_host_ops::wake. Equal calls give equal results.
 *
 * Thread-safety: none. The host serialises all calls for one instance; callbacks are made from inside them.
 * Addresses are physical addresses of the SoC (see vnpu_info), accesses are 32 bit and naturally aligned.
 */
#ifndef VNPU_VNPU_H
#define VNPU_VNPU_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VNPU_ABI_VERSION 2u

#define VNPU_MAX_CORES 3
#define VNPU_MAX_LINES 4
#define VNPU_MAX_WINDOWS 16

struct vnpu;

/* How bad a report is. */
enum vnpu_severity {
	VNPU_NOTE = 0,   /* unusual but legal, e.g. a register that was read and never written */
	VNPU_MISUSE = 1, /* what silicon would punish: a start while busy, access while in reset */
	VNPU_REFUSED = 2 /* a function that the model does not have; the job ends with the hardware's failure signature */
};

/* What the model needs from its host. All but report and clock are required. */
struct vnpu_host_ops {
	/* Physical memory. Return 0, or non-zero for a bus error; nothing is transferred then. */
	int (*read)(void *opaque, uint64_t addr, void *buf, size_t len);
	int (*write)(void *opaque, uint64_t addr, const void *buf, size_t len);
	/*
	 * Interrupt line `line`, an index of vnpu_info::irq: level 0 or 1. The lines of the cores come first (NPU and MMU of
	 * a core share one). Called on changes only.
	 */
	void (*irq)(void *opaque, unsigned int line, int level);
	/*
	 * Call advance() when the given cycle is reached. Each call replaces the one before; UINT64_MAX: nothing to
	 * wait for. A host without a clock may call advance() with that very value as soon as it likes.
	 */
	void (*wake)(void *opaque, uint64_t cycle);
	void (*report)(void *opaque, enum vnpu_severity severity, const char *text);
	/*
	 * From now on a second has `hz` cycles; 0: the clock is off, and no cycle passes. At first it is
	 * vnpu_info::default_hz. NULL: the host measures no seconds.
	 */
	void (*clock)(void *opaque, uint64_t hz);
};

enum vnpu_window_kind {
	VNPU_WINDOW_CORE = 0,  /* registers of core `index`, with the MMU banks that lie inside */
	VNPU_WINDOW_RESET = 1, /* reset controller: one bit a line, 1 = asserted, line n at bit n % 32 of word n / 32 */
	VNPU_WINDOW_CONTROL = 2 /* fault switches and error records, see docs/vnpu.md */
};

/* A range of addresses that the host forwards to mmio_read and mmio_write. */
struct vnpu_window {
	enum vnpu_window_kind kind;
	unsigned int index;
	uint64_t base;
	uint64_t size;
};

struct vnpu_info {
	const char *soc;             /* "rk3588" */
	unsigned int cores;
	unsigned int lines;               /* interrupt lines: one of each core, then that of the mailbox, if there is one */
	unsigned int irq[VNPU_MAX_LINES]; /* GIC SPI number of each line */
	unsigned int windows;
	struct vnpu_window window[VNPU_MAX_WINDOWS];
	uint64_t sram_base, sram_size; /* system SRAM, plain memory that the host provides; size 0: none */
	/* Memory at the mailbox that the guest shares with the firmware, plain as well; size 0: no mailbox */
	uint64_t shared_base, shared_size;
	uint64_t default_hz; /* clock rate of the NPU after power-on */
};

/* Switches of vnpu_api::set_fault, per core; a mask of these. Also in the control window. */
#define VNPU_FAULT_HANG (1u << 0)       /* a started job never ends */
#define VNPU_FAULT_NO_IRQ (1u << 1)     /* the job ends, the line stays low */
#define VNPU_FAULT_WRONG_BITS (1u << 2) /* the job ends with the status bits of `param` */
#define VNPU_FAULT_STORM (1u << 3)      /* the line stays high whatever is cleared */
#define VNPU_FAULT_SLOW (1u << 4)       /* every task takes `param` cycles longer */
#define VNPU_FAULT_BUS_ERROR (1u << 5)  /* the next transfer of data ends in a bus error */
#define VNPU_FAULT_DEAD_RESET (1u << 6) /* reset lines have no effect */
#define VNPU_FAULT_LIE (1u << 7)        /* the job ends without having touched memory */

struct vnpu_api {
	uint32_t abi_version;
	/* soc: a name of vnpu_info::soc. ops and opaque must outlive the instance. NULL: error text (NUL-terminated). */
	struct vnpu *(*create)(const char *soc, const struct vnpu_host_ops *ops, void *opaque, char *error,
			       size_t error_len);
	void (*destroy)(struct vnpu *npu);
	const struct vnpu_info *(*info)(const struct vnpu *npu);
	/* Accesses outside the windows read 0, are ignored on write, and reported. */
	uint32_t (*mmio_read)(struct vnpu *npu, uint64_t addr);
	void (*mmio_write)(struct vnpu *npu, uint64_t addr, uint32_t value);
	/* Time is now `cycle` (never less than before): run what is due. */
	void (*advance)(struct vnpu *npu, uint64_t cycle);
	/* core: index, or a value >= cores for all of them. mask 0 switches all off. */
	void (*set_fault)(struct vnpu *npu, unsigned int core, uint32_t mask, uint32_t param);
	/* Power-on state; memory is not touched. Lines fall, pending work is dropped. */
	void (*power_on_reset)(struct vnpu *npu);
};

/* The only exported symbol. NULL when the library does not speak this version. */
const struct vnpu_api *vnpu_get_api(uint32_t abi_version);

#ifdef __cplusplus
}
#endif

#endif
