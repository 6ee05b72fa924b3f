/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _RKNPU_GEM_H_
#define _RKNPU_GEM_H_

#include <linux/mm.h>
#include <linux/mutex.h>

#include <drm/drm_gem.h>
#include <drm/rknpu_drm.h>

#include "rknpu_carveout.h"
#include "rknpu_memory.h"

struct dma_buf;
struct dma_buf_attachment;
struct drm_mode_create_dumb;
struct rknpu_device;
struct rknpu_file;
struct rknpu_mem_create;
struct rknpu_mem_destroy;
struct rknpu_mem_map;
struct rknpu_mem_sync;
struct rknpu_space;
struct sg_table;

/**
 * struct rknpu_bo - a buffer
 */
struct rknpu_bo {
	/** @base: GEM object */
	struct drm_gem_object base;
	/**
	 * @flags: of enum rknpu_mem_type; caching as for imported memory is unknown and counts as
	 * uncached
	 */
	u32 flags;
	/** @serial: tells this buffer from all others of the device */
	u32 serial;
	/** @mem: own memory, empty for imports */
	struct rknpu_memory mem;
	/** @sgt: the memory, mapped on &rknpu_device.dma_dev */
	struct sg_table *sgt;
	/** @maker: process that the memory is charged to, with a reference; NULL for imports */
	struct rknpu_space *maker;
	/**
	 * @carveout: where its first bytes lie instead of in @mem; the pages for them exist, but
	 * are not used
	 */
	struct rknpu_carveout carveout;
	/** @lock: protects @mappings, @vaddr and @vmaps; taken outside &rknpu_domain.lock */
	struct mutex lock;
	/** @mappings: one &struct rknpu_mapping for each process with a handle */
	struct list_head mappings;
	/** @vaddr: kernel mapping for importers of own memory */
	void *vaddr;
	/** @vmaps: users of @vaddr */
	unsigned int vmaps;
};

static inline struct rknpu_bo *to_rknpu_bo(struct drm_gem_object *obj)
{
	return container_of(obj, struct rknpu_bo, base);
}

static inline void rknpu_bo_put(struct rknpu_bo *bo)
{
	drm_gem_object_put(&bo->base);
}

/*
 * Where the CPU finds a range of own memory of a buffer, if that is as simple as in one page of
 * memory that user space has mapped cached as well; else NULL, and rknpu_bo_copy() is needed.
 */
static inline void *rknpu_bo_address(const struct rknpu_bo *bo, u64 offset, size_t len)
{
	size_t in_page = offset_in_page(offset);

	if (!(bo->flags & RKNPU_MEM_CACHEABLE) || !bo->mem.pages || offset < bo->carveout.size ||
	    in_page + len > PAGE_SIZE || PageHighMem(bo->mem.pages[offset >> PAGE_SHIFT]))
		return NULL;
	return page_address(bo->mem.pages[offset >> PAGE_SHIFT]) + in_page;
}

struct rknpu_bo *rknpu_bo_alloc(struct rknpu_device *rknpu);
u64 rknpu_bo_token(const struct rknpu_file *file, const struct rknpu_bo *bo, u32 handle);
bool rknpu_bo_find_iova(struct rknpu_file *file, struct rknpu_bo *bo, u64 *iova, u32 *domain_id);
struct rknpu_bo *rknpu_bo_by_token(struct rknpu_file *file, u64 token);
int rknpu_bo_copy(struct rknpu_device *rknpu, struct rknpu_bo *bo, u64 offset, void *data,
		  size_t len, bool to_bo);
int rknpu_gem_file_mmap(struct file *filp, struct vm_area_struct *vma);

int rknpu_gem_create(struct rknpu_file *file, struct rknpu_mem_create *args);
int rknpu_gem_dumb_create(struct drm_file *drm_file, struct drm_device *drm,
			  struct drm_mode_create_dumb *args);
int rknpu_gem_map_offset(struct rknpu_file *file, struct rknpu_mem_map *args);
int rknpu_gem_destroy(struct rknpu_file *file, struct rknpu_mem_destroy *args);
int rknpu_gem_sync(struct rknpu_file *file, struct rknpu_mem_sync *args);

void rknpu_bo_sync(struct rknpu_device *rknpu, struct rknpu_bo *bo, u64 offset, u64 size,
		   bool to_device);

struct dma_buf *rknpu_prime_export(struct drm_gem_object *obj, int flags);
struct drm_gem_object *rknpu_prime_import(struct drm_device *drm, struct dma_buf *dma_buf);
struct drm_gem_object *rknpu_prime_import_sg_table(struct drm_device *drm,
						   struct dma_buf_attachment *attach,
						   struct sg_table *sgt);

#endif
