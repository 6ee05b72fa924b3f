// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "npu_client.h"
#include "npu_control.h"
#include "npu_proc.h"

#define WARM_UP 50
#define RUNS 501

void die(const char *what, int error)
{
	if (error)
		printf("bench-driver: %s: %s\n", what, strerror(-error));
	else
		printf("bench-driver: %s\n", what);
	exit(1);
}

void must(const char *what, int result)
{
	if (result)
		die(what, result);
}

__u32 now(void)
{
	return npu_ctl(VNPU_CTL_CYCLE_LO);
}

void check_clock(void)
{
	const int rounds = 1000000;
	long long start = npu_now_ns();
	__u32 cycles = now();
	long long rate;
	int i;

	npu_sleep_ms(100);
	cycles = now() - cycles;
	rate = cycles * 1000LL / (npu_now_ns() - start);
	if (rate < 999 || rate > 1001)
		die("the virtual NPU doesn't run at 1 GHz", 0);

	/* Some instructions a round. */
	cycles = now();
	for (i = 0; i < rounds; i++)
		__asm__ volatile("nop" ::: "memory");
	cycles = now() - cycles;
	if (cycles < 2u * rounds || cycles > 6u * rounds)
		die("time does not count instructions: --icount --cpus 1 is needed", 0);
}

static int nothing(void *arg)
{
	(void)arg;
	return 0;
}

static int by_value(const void *a, const void *b)
{
	__u32 left = *(const __u32 *)a, right = *(const __u32 *)b;

	return left < right ? -1 : left > right;
}

static __u32 median_of(operation op, void *arg)
{
	static __u32 sample[RUNS];
	int i;

	for (i = -WARM_UP; i < RUNS; i++) {
		__u32 start = now();
		int ret = op(arg);
		__u32 end = now();

		must("an operation", ret);
		if (i >= 0)
			sample[i] = end - start;
	}
	qsort(sample, RUNS, sizeof(*sample), by_value);
	return sample[RUNS / 2];
}

__u32 cost_of(operation op, void *arg)
{
	return median_of(op, arg) - median_of(nothing, NULL);
}

void read_accesses(struct accesses *a)
{
	a->mmu_reads = npu_ctl_total(VNPU_CTL_MMU_READS);
	a->mmu_writes = npu_ctl_total(VNPU_CTL_MMU_WRITES);
	a->npu_reads = npu_ctl_total(VNPU_CTL_MMIO_READS) - a->mmu_reads;
	a->npu_writes = npu_ctl_total(VNPU_CTL_MMIO_WRITES) - a->mmu_writes;
	a->interrupts = npu_ctl_total(VNPU_CTL_LINE_RISES);
	a->busy = npu_ctl_total(VNPU_CTL_BUSY_LO);
}

void accesses_since(const struct accesses *before, struct accesses *since)
{
	read_accesses(since);
	since->npu_reads -= before->npu_reads;
	since->npu_writes -= before->npu_writes;
	since->mmu_reads -= before->mmu_reads;
	since->mmu_writes -= before->mmu_writes;
	since->interrupts -= before->interrupts;
	since->busy -= before->busy;
}

void print_result(const char *name, const char *what, __s64 value, unsigned int divisor)
{
	if (value % divisor)
		printf("%s_%s %.2f\n", name, what, (double)value / divisor);
	else
		printf("%s_%s %lld\n", name, what, (long long)value / divisor);
}

void print_accesses(const char *name, const struct accesses *a, unsigned int jobs)
{
	print_result(name, "npu_reads", a->npu_reads, jobs);
	print_result(name, "npu_writes", a->npu_writes, jobs);
	print_result(name, "mmu_reads", a->mmu_reads, jobs);
	print_result(name, "mmu_writes", a->mmu_writes, jobs);
	print_result(name, "interrupts", a->interrupts, jobs);
}
