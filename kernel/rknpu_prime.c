// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: Sharing by dma-buf
 *
 * Exports are the DRM core's, with begin and end of CPU access added, so that DMA_BUF_IOCTL_SYNC
 * does what it says for cached buffers. Imports are mapped on the device without an IOMMU:
 * scattered memory is fine, the domains of the processes make one range of it.
 */
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_prime.h>

#include "rknpu_compat.h"
#include "rknpu_device.h"
#include "rknpu_gem.h"

static int rknpu_prime_begin_cpu_access(struct dma_buf *dma_buf, enum dma_data_direction dir)
{
	struct drm_gem_object *obj = dma_buf->priv;

	if (dir != DMA_TO_DEVICE)
		rknpu_bo_sync(to_rknpu(obj->dev), to_rknpu_bo(obj), 0, obj->size, false);
	return 0;
}

static int rknpu_prime_end_cpu_access(struct dma_buf *dma_buf, enum dma_data_direction dir)
{
	struct drm_gem_object *obj = dma_buf->priv;

	if (dir != DMA_FROM_DEVICE)
		rknpu_bo_sync(to_rknpu(obj->dev), to_rknpu_bo(obj), 0, obj->size, true);
	return 0;
}

/* What an importer gets of a buffer that begins on the chip */
struct rknpu_chip_map {
	/* bus addresses only, as memory on the chip has no pages */
	struct sg_table all;
	/* the pages behind the part on the chip; empty if there are none */
	struct sg_table pages;
};

static int map_pages(struct rknpu_chip_map *map, struct dma_buf_attachment *attach,
		     struct rknpu_bo *bo, enum dma_data_direction dir)
{
	size_t skip = bo->carveout.size, len = bo->base.size - skip;
	int ret;

	if (!len)
		return 0;
	ret = sg_alloc_table_from_pages(&map->pages, bo->mem.pages + (skip >> PAGE_SHIFT),
					len >> PAGE_SHIFT, 0, len, GFP_KERNEL);
	if (ret)
		return ret;
	ret = dma_map_sgtable(attach->dev, &map->pages, dir, 0);
	if (ret)
		sg_free_table(&map->pages);
	return ret;
}

static void unmap_pages(struct rknpu_chip_map *map, struct dma_buf_attachment *attach,
			enum dma_data_direction dir)
{
	if (!map->pages.nents)
		return;
	dma_unmap_sgtable(attach->dev, &map->pages, dir, 0);
	sg_free_table(&map->pages);
}

/* The first @num entries are the runs on the chip. */
static void unmap_runs(struct rknpu_chip_map *map, struct dma_buf_attachment *attach,
		       unsigned int num, enum dma_data_direction dir)
{
	struct scatterlist *sg;
	unsigned int i;

	for_each_sg(map->all.sgl, sg, num, i)
		dma_unmap_resource(attach->dev, sg_dma_address(sg), sg_dma_len(sg), dir, 0);
}

static int map_runs(struct rknpu_chip_map *map, struct dma_buf_attachment *attach,
		    const struct rknpu_carveout *carveout, enum dma_data_direction dir)
{
	struct scatterlist *sg;
	unsigned int i;

	for_each_sg(map->all.sgl, sg, carveout->num, i) {
		const struct rknpu_carveout_run *run = &carveout->run[i];
		dma_addr_t addr = dma_map_resource(attach->dev, rknpu_carveout_run_start(run),
						   run->size, dir, 0);
		int ret = dma_mapping_error(attach->dev, addr);

		if (ret) {
			unmap_runs(map, attach, i, dir);
			return ret;
		}
		sg_dma_address(sg) = addr;
		sg_dma_len(sg) = run->size;
	}
	return 0;
}

static int map_all(struct rknpu_chip_map *map, struct dma_buf_attachment *attach,
		   const struct rknpu_carveout *carveout, enum dma_data_direction dir)
{
	struct scatterlist *to, *from = map->pages.sgl;
	unsigned int i;
	int ret;

	ret = sg_alloc_table(&map->all, carveout->num + map->pages.nents, GFP_KERNEL);
	if (ret)
		return ret;
	ret = map_runs(map, attach, carveout, dir);
	if (ret) {
		sg_free_table(&map->all);
		return ret;
	}
	for_each_sgtable_dma_sg(&map->all, to, i) {
		if (i < carveout->num)
			continue;
		sg_dma_address(to) = sg_dma_address(from);
		sg_dma_len(to) = sg_dma_len(from);
		from = sg_next(from);
	}
	return 0;
}

static struct sg_table *map_with_chip(struct dma_buf_attachment *attach, struct rknpu_bo *bo,
				      enum dma_data_direction dir)
{
	struct rknpu_chip_map *map = kzalloc_obj(*map, GFP_KERNEL);
	int ret;

	if (!map)
		return ERR_PTR(-ENOMEM);
	ret = map_pages(map, attach, bo, dir);
	if (!ret) {
		ret = map_all(map, attach, &bo->carveout, dir);
		if (ret)
			unmap_pages(map, attach, dir);
	}
	if (ret) {
		kfree(map);
		return ERR_PTR(ret);
	}
	return &map->all;
}

static struct sg_table *rknpu_prime_map(struct dma_buf_attachment *attach,
					enum dma_data_direction dir)
{
	struct rknpu_bo *bo = to_rknpu_bo(attach->dmabuf->priv);

	return bo->carveout.size ? map_with_chip(attach, bo, dir) :
				   drm_gem_map_dma_buf(attach, dir);
}

static void rknpu_prime_unmap(struct dma_buf_attachment *attach, struct sg_table *sgt,
			      enum dma_data_direction dir)
{
	struct rknpu_bo *bo = to_rknpu_bo(attach->dmabuf->priv);
	struct rknpu_chip_map *map;

	if (!bo->carveout.size) {
		drm_gem_unmap_dma_buf(attach, sgt, dir);
		return;
	}
	map = container_of(sgt, struct rknpu_chip_map, all);
	unmap_runs(map, attach, bo->carveout.num, dir);
	sg_free_table(&map->all);
	unmap_pages(map, attach, dir);
	kfree(map);
}

static const struct dma_buf_ops rknpu_prime_dma_buf_ops = {
	.attach = drm_gem_map_attach,
	.detach = drm_gem_map_detach,
	.map_dma_buf = rknpu_prime_map,
	.unmap_dma_buf = rknpu_prime_unmap,
	.release = drm_gem_dmabuf_release,
	.begin_cpu_access = rknpu_prime_begin_cpu_access,
	.end_cpu_access = rknpu_prime_end_cpu_access,
	.mmap = drm_gem_dmabuf_mmap,
	.vmap = drm_gem_dmabuf_vmap,
	.vunmap = drm_gem_dmabuf_vunmap,
};

/**
 * rknpu_prime_export() - make a dma-buf of a buffer
 * @obj: the buffer
 * @flags: of the file descriptor to be
 *
 * Return: the dma-buf or an ERR_PTR.
 */
struct dma_buf *rknpu_prime_export(struct drm_gem_object *obj, int flags)
{
	struct drm_device *drm = obj->dev;
	struct dma_buf_export_info info = {
		.exp_name = KBUILD_MODNAME,
		.owner = drm->driver->fops->owner,
		.ops = &rknpu_prime_dma_buf_ops,
		.size = obj->size,
		.flags = flags,
		.priv = obj,
		.resv = obj->resv,
	};

	return drm_gem_dmabuf_export(drm, &info);
}

/**
 * rknpu_prime_import() - take in a dma-buf
 * @drm: the device
 * @dma_buf: the dma-buf
 *
 * Return: the buffer, the very one that was exported if it is our own, or an ERR_PTR.
 */
struct drm_gem_object *rknpu_prime_import(struct drm_device *drm, struct dma_buf *dma_buf)
{
	if (dma_buf->ops == &rknpu_prime_dma_buf_ops) {
		struct drm_gem_object *obj = dma_buf->priv;

		if (obj->dev == drm) {
			drm_gem_object_get(obj);
			return obj;
		}
	}
	return drm_gem_prime_import_dev(drm, dma_buf, to_rknpu(drm)->dma_dev);
}

/**
 * rknpu_prime_import_sg_table() - make a buffer of foreign memory
 * @drm: the device
 * @attach: the attachment, of the DMA device
 * @sgt: the memory, mapped
 *
 * Return: the buffer or an ERR_PTR; -EINVAL when the memory is not made of whole pages.
 */
struct drm_gem_object *rknpu_prime_import_sg_table(struct drm_device *drm,
						   struct dma_buf_attachment *attach,
						   struct sg_table *sgt)
{
	u64 size = PAGE_ALIGN(attach->dmabuf->size);
	struct scatterlist *sg;
	struct rknpu_bo *bo;
	u64 total = 0;
	int i;

	if (!size || size > SZ_4G - PAGE_SIZE)
		return ERR_PTR(-EINVAL);

	/* The NPU's page tables can't show half a page without showing what lies beside it. */
	for_each_sgtable_dma_sg(sgt, sg, i) {
		if (!PAGE_ALIGNED(sg_dma_address(sg)) || !PAGE_ALIGNED(sg_dma_len(sg)))
			return ERR_PTR(-EINVAL);
		total += sg_dma_len(sg);
	}
	if (total < size)
		return ERR_PTR(-EINVAL);

	bo = rknpu_bo_alloc(to_rknpu(drm));
	if (!bo)
		return ERR_PTR(-ENOMEM);
	drm_gem_private_object_init(drm, &bo->base, size);
	bo->sgt = sgt;
	return &bo->base;
}

RKNPU_IMPORT_NS_DMA_BUF;
