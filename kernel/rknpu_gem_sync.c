// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: Cache maintenance
 *
 * Works on the table that maps the memory on the device without an IOMMU, for own and imported
 * memory alike, and touches the cache lines of the asked range only.
 */
#include <linux/dma-mapping.h>
#include <linux/overflow.h>

#include <drm/rknpu_drm.h>

#include "rknpu_device.h"
#include "rknpu_drv.h"
#include "rknpu_gem.h"

/**
 * rknpu_bo_sync() - clean or invalidate the caches for a range
 * @rknpu: the device
 * @bo: the buffer
 * @offset: start, may lie behind the end
 * @size: bytes; @offset + @size does not overflow
 * @to_device: clean (the CPU has written); else invalidate (the device has written)
 */
void rknpu_bo_sync(struct rknpu_device *rknpu, struct rknpu_bo *bo, u64 offset, u64 size,
		   bool to_device)
{
	u64 end = offset + size, start = 0;
	struct scatterlist *sg;
	int i;

	for_each_sgtable_dma_sg(bo->sgt, sg, i) {
		u64 len = sg_dma_len(sg);
		u64 from = max(offset, start), to = min(end, start + len);

		if (start >= end)
			break;
		if (from < to) {
			if (to_device)
				dma_sync_single_range_for_device(rknpu->dma_dev, sg_dma_address(sg),
								 from - start, to - from,
								 DMA_TO_DEVICE);
			else
				dma_sync_single_range_for_cpu(rknpu->dma_dev, sg_dma_address(sg),
							      from - start, to - from,
							      DMA_FROM_DEVICE);
		}
		start += len;
	}
}

/**
 * rknpu_gem_sync() - MEM_SYNC
 * @file: the caller
 * @args: see &struct rknpu_mem_sync
 *
 * Return: 0 or -EINVAL.
 */
int rknpu_gem_sync(struct rknpu_file *file, struct rknpu_mem_sync *args)
{
	struct rknpu_bo *bo;
	u64 end;

	if (check_add_overflow(args->offset, args->size, &end))
		return -EINVAL;

	bo = rknpu_bo_by_token(file, args->obj_addr);
	if (!bo)
		return -EINVAL;

	if (args->flags & RKNPU_MEM_SYNC_TO_DEVICE)
		rknpu_bo_sync(file->rknpu, bo, args->offset, args->size, true);
	if (args->flags & RKNPU_MEM_SYNC_FROM_DEVICE)
		rknpu_bo_sync(file->rknpu, bo, args->offset, args->size, false);

	rknpu_bo_put(bo);
	return 0;
}
