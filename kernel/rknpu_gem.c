// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: Buffers
 *
 * Own memory is pages, zero when given out. The pages are mapped once for DMA on a device
 * without an IOMMU; that table serves cache maintenance for as long as the buffer lives, and the
 * same pages go into the domains of the processes that have a handle. As the NPU sees one range of
 * addresses in either case, "contiguous" needs no contiguous pages behind an IOMMU.
 *
 * User space names a buffer by a handle, and in SUBMIT and MEM_SYNC by a 64-bit token. A token is
 * the handle and a mark made of the buffer's serial number and a secret of the file: it is checked
 * by looking the handle up in the file and comparing the mark, so a token of another file, of a
 * buffer that is gone, or an invented one finds nothing.
 */
#include <linux/highmem.h>
#include <linux/iosys-map.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include <drm/drm_drv.h>
#include <drm/drm_prime.h>
#include <drm/rknpu_drm.h>

#include "rknpu_compat.h"
#include "rknpu_device.h"
#include "rknpu_drv.h"
#include "rknpu_gem.h"
#include "rknpu_job.h"
#include "rknpu_mmu.h"

/* Largest buffer: all addresses of a domain */
#define RKNPU_BO_SIZE_MAX (SZ_4G - PAGE_SIZE)

/* Bit 63 stays clear, so that no token looks like a kernel address. */
#define RKNPU_TOKEN_MARK GENMASK(30, 0)

/**
 * rknpu_bo_token() - the token of a buffer
 * @file: where it is valid
 * @bo: the buffer
 * @handle: its handle in the file
 *
 * Return: what user space knows as obj_addr.
 */
u64 rknpu_bo_token(const struct rknpu_file *file, const struct rknpu_bo *bo, u32 handle)
{
	return (u64)((bo->serial ^ file->secret) & RKNPU_TOKEN_MARK) << 32 | handle;
}

/**
 * rknpu_bo_by_token() - look a buffer up
 * @file: the file that uses the token
 * @token: what MEM_CREATE returned as obj_addr
 *
 * Programs mostly name the same buffer again, so the last one is remembered.
 *
 * Return: the buffer with a reference, or NULL.
 */
struct rknpu_bo *rknpu_bo_by_token(struct rknpu_file *file, u64 token)
{
	u32 handle = lower_32_bits(token), closes;
	struct drm_gem_object *obj;

	scoped_guard(spinlock, &file->lock) {
		if (file->last_bo && file->last_token == token) {
			drm_gem_object_get(&file->last_bo->base);
			return file->last_bo;
		}
		closes = file->closes;
	}

	obj = drm_gem_object_lookup(file->drm_file, handle);
	if (!obj)
		return NULL;
	if (rknpu_bo_token(file, to_rknpu_bo(obj), handle) != token) {
		drm_gem_object_put(obj);
		return NULL;
	}
	scoped_guard(spinlock, &file->lock) {
		/* Else it may be the handle just found that was closed. */
		if (file->closes == closes) {
			file->last_token = token;
			file->last_bo = to_rknpu_bo(obj);
		}
	}
	return to_rknpu_bo(obj);
}

static struct rknpu_mapping *find_mapping(struct rknpu_bo *bo, const struct rknpu_space *space)
{
	struct rknpu_mapping *mapping;

	lockdep_assert_held(&bo->lock);

	list_for_each_entry(mapping, &bo->mappings, node)
		if (mapping->space == space)
			return mapping;
	return NULL;
}

static int rknpu_gem_open(struct drm_gem_object *obj, struct drm_file *drm_file)
{
	struct rknpu_space *space = to_rknpu_file(drm_file)->space;
	struct rknpu_bo *bo = to_rknpu_bo(obj);
	struct rknpu_mapping *mapping;

	guard(mutex)(&bo->lock);

	mapping = find_mapping(bo, space);
	if (!mapping) {
		mapping = kzalloc_obj(*mapping, GFP_KERNEL);
		if (!mapping)
			return -ENOMEM;
		mapping->bo = bo;
		mapping->space = space;
		kref_get(&space->ref);
		list_add(&mapping->node, &bo->mappings);
	}
	mapping->handles++;
	return 0;
}

static void rknpu_gem_close(struct drm_gem_object *obj, struct drm_file *drm_file)
{
	struct rknpu_file *file = to_rknpu_file(drm_file);
	struct rknpu_space *space = file->space;
	struct rknpu_bo *bo = to_rknpu_bo(obj);
	struct rknpu_mapping *mapping;

	scoped_guard(spinlock, &file->lock) {
		file->last_bo = NULL;
		file->closes++;
	}
	scoped_guard(mutex, &bo->lock) {
		mapping = find_mapping(bo, space);
		if (!mapping || --mapping->handles)
			return;
		list_del(&mapping->node);
	}
	/* A job whose end the caller has seen keeps nothing mapped. */
	rknpu_job_settle(space->rknpu);
	rknpu_mapping_release(mapping);
}

static void account_carveout(struct rknpu_device *rknpu, const struct rknpu_bo *bo, int sign)
{
	s64 sram = rknpu_carveout_of(&bo->carveout, &rknpu->sram);
	s64 nbuf = rknpu_carveout_of(&bo->carveout, &rknpu->nbuf.pool);

	rknpu_usage_add_chip(bo->maker, sign * sram, sign * nbuf);
}

static void rknpu_gem_free(struct drm_gem_object *obj)
{
	struct rknpu_device *rknpu = to_rknpu(obj->dev);
	struct rknpu_bo *bo = to_rknpu_bo(obj);

	if (drm_gem_is_imported(obj)) {
		drm_prime_gem_destroy(obj, bo->sgt);
	} else {
		rknpu_memory_free(rknpu, &bo->mem);
		account_carveout(rknpu, bo, -1);
		rknpu_carveout_free(rknpu, &bo->carveout);
		rknpu_usage_uncharge(bo->maker, obj->size);
		rknpu_space_put(bo->maker);
	}
	drm_gem_object_release(obj);
	mutex_destroy(&bo->lock);
	kfree(bo);
}

static struct sg_table *rknpu_gem_get_sg_table(struct drm_gem_object *obj)
{
	struct rknpu_bo *bo = to_rknpu_bo(obj);

	return drm_prime_pages_to_sg(obj->dev, bo->mem.pages, obj->size >> PAGE_SHIFT);
}

/* Attributes of mappings of own memory: all of them agree on cached or not. */
static pgprot_t bo_pgprot(const struct rknpu_bo *bo, pgprot_t prot)
{
	if (bo->flags & RKNPU_MEM_CACHEABLE)
		return prot;
	if (bo->flags & RKNPU_MEM_WRITE_COMBINE)
		return pgprot_writecombine(prot);
	/* Uncached normal memory: device attributes would forbid unaligned accesses. */
	return pgprot_dmacoherent(prot);
}

static int rknpu_gem_vmap(struct drm_gem_object *obj, struct iosys_map *map)
{
	struct rknpu_bo *bo = to_rknpu_bo(obj);

	/* Memory on the chip has no pages to map. */
	if (drm_gem_is_imported(obj) || bo->carveout.size)
		return -EOPNOTSUPP;

	guard(mutex)(&bo->lock);

	if (!bo->vmaps) {
		bo->vaddr = vmap(bo->mem.pages, obj->size >> PAGE_SHIFT, VM_MAP,
				 bo_pgprot(bo, PAGE_KERNEL));
		if (!bo->vaddr)
			return -ENOMEM;
	}
	bo->vmaps++;
	iosys_map_set_vaddr(map, bo->vaddr);
	return 0;
}

static void rknpu_gem_vunmap(struct drm_gem_object *obj, struct iosys_map *map)
{
	struct rknpu_bo *bo = to_rknpu_bo(obj);

	guard(mutex)(&bo->lock);

	if (--bo->vmaps)
		return;
	vunmap(bo->vaddr);
	bo->vaddr = NULL;
}

/* How many pages one fault brings in */
#define RKNPU_FAULT_AROUND (SZ_2M >> PAGE_SHIFT)

static vm_fault_t insert_page(struct vm_area_struct *vma, struct rknpu_bo *bo, unsigned long index)
{
	unsigned long addr = vma->vm_start + ((index - vma->vm_pgoff) << PAGE_SHIFT);
	u64 offset = (u64)index << PAGE_SHIFT;

	if (offset < bo->carveout.size)
		return vmf_insert_pfn_prot(vma, addr,
					   PHYS_PFN(rknpu_carveout_phys(&bo->carveout, offset)),
					   pgprot_writecombine(vma->vm_page_prot));
	return vmf_insert_pfn(vma, addr, page_to_pfn(bo->mem.pages[index]));
}

static vm_fault_t rknpu_gem_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct drm_gem_object *obj = vma->vm_private_data;
	unsigned long pages = obj->size >> PAGE_SHIFT;
	struct rknpu_bo *bo = to_rknpu_bo(obj);
	unsigned long start, end, i;
	vm_fault_t ret;

	if (vmf->pgoff >= pages)
		return VM_FAULT_SIGBUS;

	ret = insert_page(vma, bo, vmf->pgoff);
	if (ret != VM_FAULT_NOPAGE)
		return ret;

	start = round_down(vmf->pgoff, RKNPU_FAULT_AROUND);
	end = min3(start + RKNPU_FAULT_AROUND, pages, vma->vm_pgoff + vma_pages(vma));
	/* The rest is a bonus: what fails comes by a fault of its own. */
	for (i = max(start, vma->vm_pgoff); i < end; i++)
		if (insert_page(vma, bo, i) != VM_FAULT_NOPAGE)
			break;
	return VM_FAULT_NOPAGE;
}

static const struct vm_operations_struct rknpu_gem_vm_ops = {
	.fault = rknpu_gem_fault,
	.open = drm_gem_vm_open,
	.close = drm_gem_vm_close,
};

static int rknpu_gem_mmap(struct drm_gem_object *obj, struct vm_area_struct *vma)
{
	struct rknpu_bo *bo = to_rknpu_bo(obj);

	/* A private writable mapping would show copies that the NPU never sees. */
	if (drm_gem_is_imported(obj) || !(vma->vm_flags & VM_SHARED))
		return -EINVAL;

	vma->vm_pgoff -= drm_vma_node_start(&obj->vma_node);
	vm_flags_set(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP | VM_DONTCOPY);
	vma->vm_page_prot = bo_pgprot(bo, vm_get_page_prot(vma->vm_flags));
	return 0;
}

/**
 * rknpu_gem_file_mmap() - mmap() on a DRM file
 * @filp: the file
 * @vma: where; the offset is what MEM_MAP returned, or that and some pages more
 *
 * Unlike the DRM core's, it takes any part of a buffer.
 *
 * Return: 0, -EINVAL when the range is not inside one buffer, or another negative errno.
 */
int rknpu_gem_file_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct drm_file *drm_file = filp->private_data;
	struct drm_device *drm = drm_file->minor->dev;
	struct drm_gem_object *obj = NULL;
	struct drm_vma_offset_node *node;
	int ret;

	if (drm_dev_is_unplugged(drm))
		return -ENODEV;

	drm_vma_offset_lock_lookup(drm->vma_offset_manager);
	node = drm_vma_offset_lookup_locked(drm->vma_offset_manager, vma->vm_pgoff,
					    vma_pages(vma));
	if (node) {
		obj = container_of(node, struct drm_gem_object, vma_node);
		/* An object without references is being freed and waits for our lock. */
		if (!kref_get_unless_zero(&obj->refcount))
			obj = NULL;
	}
	drm_vma_offset_unlock_lookup(drm->vma_offset_manager);
	if (!obj)
		return -EINVAL;

	ret = drm_vma_node_is_allowed(node, drm_file) ?
	      drm_gem_mmap_obj(obj, drm_vma_node_size(node) << PAGE_SHIFT, vma) : -EACCES;
	drm_gem_object_put(obj);
	return ret;
}

static const struct drm_gem_object_funcs rknpu_gem_funcs = {
	.free = rknpu_gem_free,
	.open = rknpu_gem_open,
	.close = rknpu_gem_close,
	.export = rknpu_prime_export,
	.get_sg_table = rknpu_gem_get_sg_table,
	.vmap = rknpu_gem_vmap,
	.vunmap = rknpu_gem_vunmap,
	.mmap = rknpu_gem_mmap,
	.vm_ops = &rknpu_gem_vm_ops,
};

/**
 * rknpu_bo_alloc() - make a buffer without memory
 * @rknpu: the device
 *
 * The caller initialises the GEM object.
 *
 * Return: the buffer, or NULL without memory.
 */
struct rknpu_bo *rknpu_bo_alloc(struct rknpu_device *rknpu)
{
	struct rknpu_bo *bo = kzalloc_obj(*bo, GFP_KERNEL);

	if (!bo)
		return NULL;
	bo->base.funcs = &rknpu_gem_funcs;
	bo->serial = atomic_inc_return(&rknpu->bo_serial);
	mutex_init(&bo->lock);
	INIT_LIST_HEAD(&bo->mappings);
	return bo;
}

/* Puts as much of the start on the chip as was asked for, fits and is free. */
static void bo_take_carveout(struct rknpu_device *rknpu, struct rknpu_bo *bo, u64 want,
			     u32 core_mask)
{
	u64 size = bo->base.size;

	if (!want || want > size)
		want = size;
	rknpu_carveout_alloc(rknpu, &bo->carveout, bo->flags, core_mask, PAGE_ALIGN(want));
	account_carveout(rknpu, bo, 1);
}

static struct rknpu_bo *bo_create(struct rknpu_file *file, u64 size, u32 flags, u64 on_chip,
				  u32 core_mask)
{
	struct rknpu_device *rknpu = file->rknpu;
	struct rknpu_bo *bo;
	int ret;

	ret = rknpu_usage_charge(file->space, size);
	if (ret)
		return ERR_PTR(ret);

	bo = rknpu_bo_alloc(rknpu);
	if (!bo) {
		rknpu_usage_uncharge(file->space, size);
		return ERR_PTR(-ENOMEM);
	}
	drm_gem_private_object_init(&rknpu->drm, &bo->base, size);
	bo->flags = flags;
	bo->maker = file->space;
	kref_get(&bo->maker->ref);

	ret = rknpu_memory_alloc(rknpu, &bo->mem, size, flags & RKNPU_MEM_DMA32);
	if (ret) {
		rknpu_bo_put(bo);
		return ERR_PTR(ret);
	}
	bo->sgt = &bo->mem.sgt;
	bo_take_carveout(rknpu, bo, on_chip, core_mask);
	return bo;
}

/* The NPU address of a buffer in the process of a file; mapped on the first call. */
static int bo_get_iova(struct rknpu_file *file, struct rknpu_bo *bo, unsigned int domain_id,
		       u64 *iova)
{
	struct rknpu_domain *domain;
	struct rknpu_mapping *mapping;
	int ret;

	domain = rknpu_space_find_domain(file->space, domain_id);
	if (IS_ERR(domain))
		return PTR_ERR(domain);

	scoped_guard(mutex, &bo->lock) {
		mapping = find_mapping(bo, file->space);
		if (!mapping)
			ret = -ENOENT; /* the handle was closed meanwhile */
		else if (mapping->domain)
			ret = 0;
		else
			ret = rknpu_mapping_map(mapping, domain);
		if (!ret)
			*iova = mapping->mm_node.start;
	}
	/* What programs know as "no room in the NPU's address space" */
	return ret == -ENOSPC ? -EFAULT : ret;
}

/**
 * rknpu_bo_find_iova() - the NPU address of a buffer, if it has one
 * @file: in whose process
 * @bo: the buffer
 * @iova: filled in
 * @domain_id: filled in, number of the address space
 *
 * Return: true when it has one.
 */
bool rknpu_bo_find_iova(struct rknpu_file *file, struct rknpu_bo *bo, u64 *iova, u32 *domain_id)
{
	struct rknpu_mapping *mapping;

	guard(mutex)(&bo->lock);

	mapping = find_mapping(bo, file->space);
	if (!mapping || !mapping->domain)
		return false;
	*iova = mapping->mm_node.start;
	*domain_id = mapping->domain->id;
	return true;
}

static void fill_in(struct rknpu_file *file, struct rknpu_mem_create *args, struct rknpu_bo *bo,
		    u64 iova)
{
	args->size = bo->base.size;
	args->sram_size = rknpu_carveout_of(&bo->carveout, &file->rknpu->sram);
	args->obj_addr = rknpu_bo_token(file, bo, args->handle);
	args->dma_addr = iova;
}

/**
 * rknpu_gem_create() - MEM_CREATE: make a buffer or describe one
 * @file: the caller
 * @args: see &struct rknpu_mem_create
 *
 * Return: 0 or a negative errno, see there.
 */
int rknpu_gem_create(struct rknpu_file *file, struct rknpu_mem_create *args)
{
	struct drm_gem_object *obj;
	struct rknpu_bo *bo;
	u32 handle;
	u64 iova;
	int ret;

	if (!rknpu_domain_id_valid(file->rknpu, args->iommu_domain_id))
		return -EINVAL;

	obj = args->handle ? drm_gem_object_lookup(file->drm_file, args->handle) : NULL;
	if (obj) {
		bo = to_rknpu_bo(obj);
		ret = bo_get_iova(file, bo, args->iommu_domain_id, &iova);
		if (!ret)
			fill_in(file, args, bo, iova);
		rknpu_bo_put(bo);
		return ret;
	}

	if (!args->size || args->size > RKNPU_BO_SIZE_MAX)
		return -EINVAL;

	bo = bo_create(file, PAGE_ALIGN(args->size), args->flags, args->sram_size,
		       args->core_mask);
	if (IS_ERR(bo))
		return PTR_ERR(bo);

	/* A failure gives no handle: a second try with the same structure would ask about it. */
	ret = drm_gem_handle_create(file->drm_file, &bo->base, &handle);
	if (!ret) {
		ret = bo_get_iova(file, bo, args->iommu_domain_id, &iova);
		/* Another thread may have guessed the handle and closed it; it is not ours then. */
		if (ret && ret != -ENOENT)
			drm_gem_handle_delete(file->drm_file, handle);
	}
	if (!ret) {
		args->handle = handle;
		fill_in(file, args, bo, iova);
	}
	rknpu_bo_put(bo);
	return ret;
}

/* Bytes from one line of pixels to the next: whole cache lines, as what reads pictures likes it */
#define RKNPU_DUMB_PITCH_ALIGN 64

/**
 * rknpu_gem_dumb_create() - MODE_CREATE_DUMB: a buffer for pixels that the CPU draws
 * @drm_file: the caller
 * @drm: the device
 * @args: width, height and bits of a pixel in; handle, pitch and size out
 *
 * Programs know no way to synchronise such buffers, so they are not cached.
 *
 * Return: 0 or a negative errno.
 */
int rknpu_gem_dumb_create(struct drm_file *drm_file, struct drm_device *drm,
			  struct drm_mode_create_dumb *args)
{
	u64 line = DIV_ROUND_UP_ULL((u64)args->width * args->bpp, BITS_PER_BYTE);
	u64 pitch = ALIGN(line, RKNPU_DUMB_PITCH_ALIGN);
	u64 size = PAGE_ALIGN(pitch * args->height);
	struct rknpu_bo *bo;
	int ret;

	if (pitch > U32_MAX || size > RKNPU_BO_SIZE_MAX)
		return -EINVAL;
	bo = bo_create(to_rknpu_file(drm_file), size,
		       RKNPU_MEM_NON_CONTIGUOUS | RKNPU_MEM_WRITE_COMBINE, 0, 0);
	if (IS_ERR(bo))
		return PTR_ERR(bo);

	ret = drm_gem_handle_create(drm_file, &bo->base, &args->handle);
	if (!ret) {
		args->pitch = pitch;
		args->size = size;
	}
	rknpu_bo_put(bo);
	return ret;
}

/**
 * rknpu_gem_map_offset() - MEM_MAP: the offset for mmap()
 * @file: the caller
 * @args: see &struct rknpu_mem_map
 *
 * Return: 0, -ENOENT for an unknown handle, -EINVAL for imported memory, or another negative errno.
 */
int rknpu_gem_map_offset(struct rknpu_file *file, struct rknpu_mem_map *args)
{
	struct drm_gem_object *obj = drm_gem_object_lookup(file->drm_file, args->handle);
	int ret;

	if (!obj)
		return -ENOENT;
	ret = drm_gem_is_imported(obj) ? -EINVAL : drm_gem_create_mmap_offset(obj);
	if (!ret)
		args->offset = drm_vma_node_offset_addr(&obj->vma_node);
	drm_gem_object_put(obj);
	return ret;
}

/**
 * rknpu_gem_destroy() - MEM_DESTROY: give up a handle
 * @file: the caller
 * @args: see &struct rknpu_mem_destroy
 *
 * Return: 0 or -EINVAL for an unknown handle.
 */
int rknpu_gem_destroy(struct rknpu_file *file, struct rknpu_mem_destroy *args)
{
	return drm_gem_handle_delete(file->drm_file, args->handle);
}

static void copy_in_page(struct rknpu_bo *bo, u64 offset, void *data, size_t len, bool to_bo)
{
	struct page *page = bo->mem.pages[offset >> PAGE_SHIFT];

	if (offset < bo->carveout.size) {
		void __iomem *chip = rknpu_carveout_vaddr(&bo->carveout, offset);

		if (to_bo)
			memcpy_toio(chip, data, len);
		else
			memcpy_fromio(data, chip, len);
	} else if (to_bo) {
		memcpy_to_page(page, offset_in_page(offset), data, len);
	} else {
		memcpy_from_page(data, page, offset_in_page(offset), len);
	}
}

/**
 * rknpu_bo_copy() - read or write own memory of a buffer from the kernel
 * @rknpu: the device
 * @bo: the buffer, not an import
 * @offset: start; the range lies inside the buffer
 * @data: the other side
 * @len: bytes
 * @to_bo: direction
 *
 * Agrees with what the user's mapping shows, cached or not.
 *
 * Return: 0, or -EINVAL for imported memory.
 */
int rknpu_bo_copy(struct rknpu_device *rknpu, struct rknpu_bo *bo, u64 offset, void *data,
		  size_t len, bool to_bo)
{
	bool cached = bo->flags & RKNPU_MEM_CACHEABLE;
	size_t done, part;

	if (!bo->mem.pages)
		return -EINVAL;
	if (!cached)
		rknpu_bo_sync(rknpu, bo, offset, len, false);

	for (done = 0; done < len; done += part) {
		size_t start = offset_in_page(offset + done);

		part = min_t(size_t, len - done, PAGE_SIZE - start);
		copy_in_page(bo, offset + done, data + done, part, to_bo);
	}

	if (!cached && to_bo)
		rknpu_bo_sync(rknpu, bo, offset, len, true);
	return 0;
}
