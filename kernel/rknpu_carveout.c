// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: Buffers that begin on the chip
 *
 * A buffer's first bytes can lie in memory on the chip: SRAM, the NPU's own buffer, or the one and
 * then the other, as far as some is free. DRAM follows, in one range of NPU addresses and in one
 * mapping, so nobody need know where the border is.
 */
#include <drm/rknpu_drm.h>

#include "rknpu_carveout.h"
#include "rknpu_device.h"

static void add_sram(struct rknpu_device *rknpu, struct rknpu_carveout *carveout, size_t want)
{
	struct rknpu_carveout_run *run = &carveout->run[carveout->num];

	run->size = rknpu_pool_alloc(&rknpu->sram, 0, rknpu->sram.size, want, &run->offset);
	if (!run->size)
		return;
	run->pool = &rknpu->sram;
	carveout->size += run->size;
	carveout->num++;
}

static void add_nbuf(struct rknpu_device *rknpu, struct rknpu_carveout *carveout, u32 core_mask,
		     size_t want)
{
	unsigned int num;

	num = rknpu_nbuf_alloc(rknpu, core_mask, want, &carveout->run[carveout->num]);
	while (num--)
		carveout->size += carveout->run[carveout->num++].size;
}

/**
 * rknpu_carveout_alloc() - take memory on the chip, or less than asked for, or none
 * @rknpu: the device
 * @carveout: all zero, filled in
 * @flags: of &enum rknpu_mem_type; say from where
 * @core_mask: the core that will use it, see rknpu_nbuf_alloc()
 * @want: bytes, whole pages
 *
 * The memory is zero.
 */
void rknpu_carveout_alloc(struct rknpu_device *rknpu, struct rknpu_carveout *carveout, u32 flags,
			  u32 core_mask, size_t want)
{
	/* One range of addresses over it and DRAM takes an IOMMU. */
	if (!rknpu->iommu)
		return;
	if (flags & RKNPU_MEM_TRY_ALLOC_SRAM)
		add_sram(rknpu, carveout, want);
	if (flags & RKNPU_MEM_TRY_ALLOC_NBUF && carveout->size < want)
		add_nbuf(rknpu, carveout, core_mask, want - carveout->size);
}

/**
 * rknpu_carveout_free() - give it back
 * @rknpu: the device
 * @carveout: what rknpu_carveout_alloc() filled in, or all zero
 *
 * Nothing uses it any more, neither the NPU nor a mapping.
 */
void rknpu_carveout_free(struct rknpu_device *rknpu, struct rknpu_carveout *carveout)
{
	unsigned int i;

	for (i = 0; i < carveout->num; i++) {
		const struct rknpu_carveout_run *run = &carveout->run[i];

		if (run->pool == &rknpu->nbuf.pool)
			rknpu_nbuf_free(rknpu, run->offset, run->size);
		else
			rknpu_pool_free(run->pool, run->offset, run->size);
	}
}

/**
 * rknpu_carveout_of() - how much of it is of one pool
 * @carveout: the memory
 * @pool: the pool
 *
 * Return: bytes.
 */
size_t rknpu_carveout_of(const struct rknpu_carveout *carveout, const struct rknpu_pool *pool)
{
	size_t size = 0;
	unsigned int i;

	for (i = 0; i < carveout->num; i++)
		if (carveout->run[i].pool == pool)
			size += carveout->run[i].size;
	return size;
}

/* The run that has an offset of the buffer; the offset is relative to it then. */
static const struct rknpu_carveout_run *find_run(const struct rknpu_carveout *carveout,
						 size_t *offset)
{
	const struct rknpu_carveout_run *run = carveout->run;

	for (; *offset >= run->size; run++)
		*offset -= run->size;
	return run;
}

/**
 * rknpu_carveout_run_start() - physical address of a run
 * @run: the run
 *
 * Return: the address.
 */
phys_addr_t rknpu_carveout_run_start(const struct rknpu_carveout_run *run)
{
	return run->pool->base + run->offset;
}

/**
 * rknpu_carveout_phys() - physical address of a byte
 * @carveout: the memory
 * @offset: in the buffer, below the carveout's size
 *
 * Return: the address.
 */
phys_addr_t rknpu_carveout_phys(const struct rknpu_carveout *carveout, size_t offset)
{
	const struct rknpu_carveout_run *run = find_run(carveout, &offset);

	return rknpu_carveout_run_start(run) + offset;
}

/**
 * rknpu_carveout_vaddr() - where the kernel finds a byte
 * @carveout: the memory
 * @offset: in the buffer, below the carveout's size
 *
 * Return: the address, good up to the end of the page.
 */
void __iomem *rknpu_carveout_vaddr(const struct rknpu_carveout *carveout, size_t offset)
{
	const struct rknpu_carveout_run *run = find_run(carveout, &offset);

	return run->pool->vaddr + run->offset + offset;
}
