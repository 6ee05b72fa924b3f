/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _RKNPU_SRAM_H_
#define _RKNPU_SRAM_H_

#include <linux/mutex.h>
#include <linux/types.h>

struct rknpu_device;
struct seq_file;

/**
 * struct rknpu_sram - the part of the SoC's SRAM that is set aside for the NPU
 */
struct rknpu_sram {
	/** @base: physical address */
	phys_addr_t base;
	/** @size: bytes, whole pages; 0 without SRAM */
	size_t size;
	/** @vaddr: write-combined mapping */
	void __iomem *vaddr;
	/** @lock: protects @bitmap and @used; innermost */
	struct mutex lock;
	/** @bitmap: pages in use */
	unsigned long *bitmap;
	/** @used: bytes in use */
	size_t used;
};

int rknpu_sram_init(struct rknpu_device *rknpu);
size_t rknpu_sram_alloc(struct rknpu_sram *sram, size_t want, size_t *offset);
void rknpu_sram_free(struct rknpu_sram *sram, size_t offset, size_t size);
size_t rknpu_sram_available(struct rknpu_sram *sram);
void rknpu_sram_show(struct rknpu_sram *sram, struct seq_file *m);

#endif
