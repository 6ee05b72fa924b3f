// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: NBUF
 *
 * Some SoCs have memory inside the NPU that buffers can begin in. Where there are several cores,
 * each has its own part of it, which may be in pieces; who computes on several gets it whole.
 *
 * It is the NPU's, so it is taken to lose what it holds together with the NPU's power. Therefore
 * the NPU stays powered while somebody has a part of it.
 */
#include <linux/minmax.h>
#include <linux/pm_runtime.h>

#include <drm/drm_drv.h>
#include <drm/drm_managed.h>

#include "rknpu_carveout.h"
#include "rknpu_compat.h"
#include "rknpu_device.h"
#include "rknpu_nbuf.h"
#include "rknpu_power.h"

/**
 * rknpu_nbuf_init() - get ready
 * @rknpu: the device
 *
 * Return: 0, also on SoCs without NBUF, or a negative errno.
 */
int rknpu_nbuf_init(struct rknpu_device *rknpu)
{
	struct rknpu_pool *pool = &rknpu->nbuf.pool;
	phys_addr_t end;
	int ret;

	if (!rknpu->soc->nbuf_size)
		return 0;
	ret = drmm_mutex_init(&rknpu->drm, &rknpu->nbuf.lock);
	if (ret)
		return ret;
	ret = rknpu_pool_init(&rknpu->drm, pool, rknpu->soc->nbuf, rknpu->soc->nbuf_size);
	if (ret)
		return ret;
	end = pool->base + pool->size;
	dev_info(rknpu->drm.dev, "RKNPU: nbuf region: [%pa, %pa), nbuf size: %#zx\n", &pool->base,
		 &end, pool->size);
	return 0;
}

static void power_off(struct rknpu_device *rknpu)
{
	if (!rknpu->nbuf.powered)
		return;
	rknpu->nbuf.powered = false;
	pm_runtime_mark_last_busy(rknpu->pm_dev);
	pm_runtime_put_autosuspend(rknpu->pm_dev);
}

/**
 * rknpu_nbuf_fini() - keep power no longer; buffers may live on, but nobody computes with them
 * @rknpu: the device, unplugged
 */
void rknpu_nbuf_fini(struct rknpu_device *rknpu)
{
	if (!rknpu->nbuf.pool.size)
		return;

	guard(mutex)(&rknpu->nbuf.lock);
	power_off(rknpu);
}

/* Takes what it can of one core's pieces, in their order. */
static unsigned int alloc_pieces(struct rknpu_pool *pool, const struct rknpu_nbuf_piece *pieces,
				 size_t want, struct rknpu_carveout_run *run)
{
	unsigned int i, num = 0;

	for (i = 0; i < RKNPU_NBUF_PIECES && want; i++) {
		size_t size = rknpu_pool_alloc(pool, pieces[i].start, pieces[i].size, want,
					       &run[num].offset);

		if (!size)
			continue;
		run[num].pool = pool;
		run[num++].size = size;
		want -= size;
	}
	return num;
}

static unsigned int alloc(struct rknpu_device *rknpu, u32 core_mask, size_t want,
			  struct rknpu_carveout_run *run)
{
	const struct rknpu_nbuf_piece (*of_core)[RKNPU_NBUF_PIECES] = rknpu->soc->nbuf_of_core;
	const struct rknpu_nbuf_piece whole[RKNPU_NBUF_PIECES] = {
		{ 0, rknpu->nbuf.pool.size },
	};
	unsigned int core, num = 0;

	if (!of_core || (core_mask && core_mask != BIT(0) && core_mask != BIT(1)))
		return alloc_pieces(&rknpu->nbuf.pool, whole, want, run);
	/* Without a core named, it is that of the first one that has some left. */
	for (core = 0; core < rknpu->soc->num_cores && !num; core++)
		if (!core_mask || core_mask & BIT(core))
			num = alloc_pieces(&rknpu->nbuf.pool, of_core[core], want, run);
	return num;
}

/**
 * rknpu_nbuf_alloc() - take NBUF, or less than asked for, or none
 * @rknpu: the device
 * @core_mask: the core that will use it, or any (0); all other masks: several cores
 * @want: bytes, whole pages
 * @run: filled in; %RKNPU_NBUF_PIECES at most
 *
 * Return: number of runs.
 */
unsigned int rknpu_nbuf_alloc(struct rknpu_device *rknpu, u32 core_mask, size_t want,
			      struct rknpu_carveout_run *run)
{
	struct rknpu_nbuf *nbuf = &rknpu->nbuf;
	unsigned int num = 0;
	int index;

	if (!nbuf->pool.size || !drm_dev_enter(&rknpu->drm, &index))
		return 0;

	scoped_guard(mutex, &nbuf->lock) {
		if (!nbuf->powered)
			nbuf->powered = !rknpu_power_resume(rknpu);
		if (nbuf->powered)
			num = alloc(rknpu, core_mask, want, run);
		if (!nbuf->pool.used)
			power_off(rknpu);
	}
	drm_dev_exit(index);
	return num;
}

/**
 * rknpu_nbuf_free() - give NBUF back
 * @rknpu: the device
 * @offset: where it starts
 * @size: bytes
 *
 * Nothing uses it any more, neither the NPU nor a mapping.
 */
void rknpu_nbuf_free(struct rknpu_device *rknpu, size_t offset, size_t size)
{
	struct rknpu_nbuf *nbuf = &rknpu->nbuf;

	guard(mutex)(&nbuf->lock);

	rknpu_pool_free(&nbuf->pool, offset, size);
	if (!nbuf->pool.used)
		power_off(rknpu);
}
