/* SPDX-License-Identifier: MIT */
/*
 * Counting in the virtual machine: time in instructions, accesses of registers, interrupts.
 *
 * The clock is the cycle counter of the virtual NPU at 1 GHz. Under QEMU's instruction-counted
 * clock with one CPU it advances by one for each instruction of the guest, and by the time that the
 * CPU sleeps.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <linux/types.h>

/* Ends the program with a message; error is a negative errno or 0. */
void die(const char *what, int error) __attribute__((noreturn));
/* Ends the program unless the result is 0. */
void must(const char *what, int result);

/* The low half of the clock. Differences up to 4 s are right. */
__u32 now(void);
/* Ends the program unless the clock counts instructions. */
void check_clock(void);

/* Something to measure: 0 or a negative errno. */
typedef int (*operation)(void *arg);

/* Instructions of one call, the median of many. */
__u32 cost_of(operation op, void *arg);

/* What the hardware saw, all cores together. */
struct accesses {
	__u32 npu_reads, npu_writes; /* registers of the NPU itself */
	__u32 mmu_reads, mmu_writes; /* registers of the IOMMU */
	__u32 interrupts;	     /* times that a line went up */
	__u32 busy;		     /* nanoseconds in which tasks ran */
};

void read_accesses(struct accesses *a);
/* What has been added to `before` since. */
void accesses_since(const struct accesses *before, struct accesses *since);

/* One line of the result: NAME_WHAT and value / divisor. */
void print_result(const char *name, const char *what, __s64 value, unsigned int divisor);
/* A line for each kind of access, divided by the number of jobs. */
void print_accesses(const char *name, const struct accesses *a, unsigned int jobs);

#endif
