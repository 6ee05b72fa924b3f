/* SPDX-License-Identifier: GPL-2.0-only */
/* What is in use, as the kernel counts it. */
#ifndef NPU_USAGE_H
#define NPU_USAGE_H

#include <stdbool.h>
#include <sys/types.h>

/* One line of the debugfs node "clients". */
struct npu_usage {
	long long bytes, objects, sram, iova, nbuf;
};

/* The line of a process, or all zero if it has none. */
struct npu_usage npu_usage_of(pid_t pid);
struct npu_usage npu_usage_total(void);
bool npu_usage_equal(struct npu_usage a, struct npu_usage b);
/* The first line of "clients", as it must be; and the lines of a process and of the total. */
#define NPU_USAGE_HEAD "    pid        bytes  objects       sram         iova     nbuf\n"
void npu_usage_line(char line[80], pid_t pid, struct npu_usage usage);
/* The whole text of "clients". */
void npu_usage_text(char *text, size_t len);

/* Bytes of SRAM that are free, as the driver tells. */
unsigned int npu_sram_free(int fd);

/* Sum of counters that must be the same before and after. Compare with npu_state_equal(). */
struct npu_state {
	struct npu_usage own, total;
	int dmabufs;
	unsigned int sram_free;
};

struct npu_state npu_state(int fd);
/*
 * What ended jobs held is freed a moment later. So the state before is one that does not change any
 * more, and the one after may take its time to be the same; if not, the difference is printed.
 */
struct npu_state npu_state_at_rest(int fd);
bool npu_state_returns(const struct npu_state *before, int fd);
/* Prints the difference as a comment, if there is one. */
bool npu_state_equal(const struct npu_state *before, const struct npu_state *after);

#endif
