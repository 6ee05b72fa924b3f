// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: Questions
 *
 * What programs can ask without changing anything: facts about the device, and about a buffer.
 */
#include <drm/rknpu_drm.h>

#include "rknpu_compat.h"
#include "rknpu_device.h"
#include "rknpu_drv.h"
#include "rknpu_gem.h"
#include "rknpu_job.h"
#include "rknpu_mmu.h"
#include "rknpu_query.h"
#include "rknpu_sched.h"
#include "rknpu_soc.h"

#define RKNPU_ABI_LEVEL 4

static u8 usable_cores(struct rknpu_device *rknpu)
{
	guard(rknpu_jobs)(rknpu);
	return rknpu_dispatch_usable(&rknpu->dispatch);
}

static u64 core_masks(const struct rknpu_device *rknpu)
{
	u64 masks = 0;
	u32 mask;

	for (mask = 0; mask < BIT(rknpu->num_cores); mask++)
		if (rknpu_job_check_core_mask(rknpu, mask))
			masks |= BIT_ULL(mask);
	return masks;
}

static u64 features(const struct rknpu_device *rknpu)
{
	u64 features = 0;

	if (rknpu->iommu)
		features |= RKNPU_FEATURE_IOMMU;
	if (rknpu_isolates(rknpu))
		features |= RKNPU_FEATURE_ISOLATION;
	if (rknpu->cores[0].io->resets[0])
		features |= RKNPU_FEATURE_CORE_RESET;
	return features | RKNPU_FEATURE_SUBMIT_ASYNC | RKNPU_FEATURE_CANCEL;
}

/**
 * rknpu_get_param() - GET_PARAM
 * @file: the caller
 * @args: see &struct rknpu_get_param
 *
 * Return: 0 or -EINVAL.
 */
int rknpu_get_param(struct rknpu_file *file, struct rknpu_get_param *args)
{
	struct rknpu_device *rknpu = file->rknpu;

	if (args->pad)
		return -EINVAL;

	switch (args->param) {
	case RKNPU_PARAM_ABI_LEVEL:
		args->value = RKNPU_ABI_LEVEL;
		return 0;
	case RKNPU_PARAM_SOC:
		args->value = rknpu->soc->number;
		return 0;
	case RKNPU_PARAM_HW_VERSION:
		args->value = rknpu->hw_version;
		return 0;
	case RKNPU_PARAM_NUM_CORES:
		args->value = rknpu->num_cores;
		return 0;
	case RKNPU_PARAM_USABLE_CORES:
		args->value = usable_cores(rknpu);
		return 0;
	case RKNPU_PARAM_CORE_MASKS:
		args->value = core_masks(rknpu);
		return 0;
	case RKNPU_PARAM_SRAM_TOTAL:
		args->value = rknpu->sram.size;
		return 0;
	case RKNPU_PARAM_SRAM_FREE:
		args->value = rknpu_pool_available(&rknpu->sram);
		return 0;
	case RKNPU_PARAM_NBUF_TOTAL:
		args->value = rknpu->nbuf.pool.size;
		return 0;
	case RKNPU_PARAM_NBUF_FREE:
		args->value = rknpu_pool_available(&rknpu->nbuf.pool);
		return 0;
	case RKNPU_PARAM_NUM_DOMAINS:
		args->value = rknpu->iommu ? RKNPU_MAX_IOMMU_DOMAIN_NUM : 1;
		return 0;
	case RKNPU_PARAM_MAX_TASKS:
		args->value = rknpu_soc_max_tasks(rknpu->soc);
		return 0;
	case RKNPU_PARAM_FEATURES:
		args->value = features(rknpu);
		return 0;
	default:
		return -EINVAL;
	}
}

/**
 * rknpu_mem_info() - MEM_INFO
 * @file: the caller
 * @args: see &struct rknpu_mem_info
 *
 * Return: 0, -ENOENT for an unknown handle, or -EINVAL.
 */
int rknpu_mem_info(struct rknpu_file *file, struct rknpu_mem_info *args)
{
	struct drm_gem_object *obj;
	struct rknpu_bo *bo;

	if (args->pad || args->pad2)
		return -EINVAL;
	obj = drm_gem_object_lookup(file->drm_file, args->handle);
	if (!obj)
		return -ENOENT;
	bo = to_rknpu_bo(obj);

	args->flags = drm_gem_is_imported(obj) ? RKNPU_MEM_INFO_IMPORTED : 0;
	args->mem_flags = bo->flags;
	args->size = obj->size;
	args->sram_size = rknpu_carveout_of(&bo->carveout, &file->rknpu->sram);
	args->nbuf_size = rknpu_carveout_of(&bo->carveout, &file->rknpu->nbuf.pool);
	args->obj_addr = rknpu_bo_token(file, bo, args->handle);
	args->dma_addr = 0;
	args->iommu_domain_id = 0;
	if (rknpu_bo_find_iova(file, bo, &args->dma_addr, &args->iommu_domain_id))
		args->flags |= RKNPU_MEM_INFO_MAPPED;

	rknpu_bo_put(bo);
	return 0;
}
