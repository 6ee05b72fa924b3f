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

/* What an importer gets of a buffer that begins in SRAM */
struct rknpu_sram_map {
	/* bus addresses only, as SRAM has no pages */
	struct sg_table all;
	/* the pages behind the SRAM part; empty if there are none */
	struct sg_table pages;
};

static int map_pages(struct rknpu_sram_map *map, struct dma_buf_attachment *attach,
		     struct rknpu_bo *bo, enum dma_data_direction dir)
{
	size_t len = bo->base.size - bo->sram_size;
	int ret;

	if (!len)
		return 0;
	ret = sg_alloc_table_from_pages(&map->pages, bo->mem.pages + (bo->sram_size >> PAGE_SHIFT),
					len >> PAGE_SHIFT, 0, len, GFP_KERNEL);
	if (ret)
		return ret;
	ret = dma_map_sgtable(attach->dev, &map->pages, dir, 0);
	if (ret)
		sg_free_table(&map->pages);
	return ret;
}

static void unmap_pages(struct rknpu_sram_map *map, struct dma_buf_attachment *attach,
			enum dma_data_direction dir)
{
	if (!map->pages.nents)
		return;
	dma_unmap_sgtable(attach->dev, &map->pages, dir, 0);
	sg_free_table(&map->pages);
}

static int map_all(struct rknpu_sram_map *map, struct dma_buf_attachment *attach,
		   struct rknpu_bo *bo, enum dma_data_direction dir)
{
	struct rknpu_sram *sram = &to_rknpu(bo->base.dev)->sram;
	struct scatterlist *to, *from;
	dma_addr_t addr;
	int ret, i;

	ret = sg_alloc_table(&map->all, 1 + map->pages.nents, GFP_KERNEL);
	if (ret)
		return ret;
	addr = dma_map_resource(attach->dev, sram->base + bo->sram_offset, bo->sram_size, dir, 0);
	ret = dma_mapping_error(attach->dev, addr);
	if (ret) {
		sg_free_table(&map->all);
		return ret;
	}

	to = map->all.sgl;
	sg_dma_address(to) = addr;
	sg_dma_len(to) = bo->sram_size;
	for_each_sgtable_dma_sg(&map->pages, from, i) {
		to = sg_next(to);
		sg_dma_address(to) = sg_dma_address(from);
		sg_dma_len(to) = sg_dma_len(from);
	}
	return 0;
}

static struct sg_table *map_with_sram(struct dma_buf_attachment *attach, struct rknpu_bo *bo,
				      enum dma_data_direction dir)
{
	struct rknpu_sram_map *map = kzalloc_obj(*map, GFP_KERNEL);
	int ret;

	if (!map)
		return ERR_PTR(-ENOMEM);
	ret = map_pages(map, attach, bo, dir);
	if (!ret) {
		ret = map_all(map, attach, bo, dir);
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

	return bo->sram_size ? map_with_sram(attach, bo, dir) : drm_gem_map_dma_buf(attach, dir);
}

static void rknpu_prime_unmap(struct dma_buf_attachment *attach, struct sg_table *sgt,
			      enum dma_data_direction dir)
{
	struct rknpu_bo *bo = to_rknpu_bo(attach->dmabuf->priv);
	struct rknpu_sram_map *map;

	if (!bo->sram_size) {
		drm_gem_unmap_dma_buf(attach, sgt, dir);
		return;
	}
	map = container_of(sgt, struct rknpu_sram_map, all);
	dma_unmap_resource(attach->dev, sg_dma_address(sgt->sgl), bo->sram_size, dir, 0);
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
