// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: Address spaces
 *
 * Every process has up to sixteen address spaces ("domains") of 4 GiB, each an IOMMU paging domain
 * with its own allocator of addresses. All files that a process opens share them, as runtimes open
 * the device more than once. What the NPU can reach in a job is what its process has mapped there,
 * nothing else. With the module parameter "shared_address_space" all processes share one set of
 * domains, as with the vendor's driver: no switches, no isolation.
 *
 * Addresses are given out from the top, page by page, without any further alignment: the hardware
 * needs none, and large buffers fill a domain to its end that way.
 */
#include <linux/iommu.h>
#include <linux/moduleparam.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "rknpu_compat.h"
#include "rknpu_device.h"
#include "rknpu_fault.h"
#include "rknpu_gem.h"
#include "rknpu_mmu.h"
#include "rknpu_sched.h"

static bool rknpu_shared;
module_param_named(shared_address_space, rknpu_shared, bool, 0444);
MODULE_PARM_DESC(shared_address_space, "All processes share their NPU addresses, without isolation");

/* Address registers of the NPU have 32 bits. Address 0 is never given out. */
#define RKNPU_IOVA_START PAGE_SIZE
#define RKNPU_IOVA_END SZ_4G

static void domain_destroy(struct kref *ref)
{
	struct rknpu_domain *domain = container_of(ref, struct rknpu_domain, ref);

	drm_mm_takedown(&domain->mm);
	mutex_destroy(&domain->lock);
	if (domain->iommu)
		iommu_domain_free(domain->iommu);
	kfree(domain);
}

/**
 * rknpu_domain_put() - give back a reference
 * @domain: the domain, or NULL
 */
void rknpu_domain_put(struct rknpu_domain *domain)
{
	if (domain)
		kref_put(&domain->ref, domain_destroy);
}

/* Called by the IOMMU driver in its interrupt handler. */
static int domain_fault(struct iommu_domain *iommu, struct device *dev, unsigned long iova,
			int flags, void *token)
{
	struct rknpu_domain *domain = token;

	dev_err_ratelimited(domain->rknpu->drm.dev, "page fault: %s of address %#lx\n",
			    flags & IOMMU_FAULT_WRITE ? "write" : "read", iova);
	rknpu_sched_page_fault(domain->rknpu);
	return 0;
}

static struct rknpu_domain *domain_create(struct rknpu_device *rknpu, unsigned int id)
{
	struct rknpu_domain *domain = kzalloc_obj(*domain, GFP_KERNEL);

	if (!domain)
		return ERR_PTR(-ENOMEM);
	if (rknpu->iommu) {
		domain->iommu = iommu_paging_domain_alloc(rknpu->nodes[0]->dev);
		if (IS_ERR(domain->iommu)) {
			int ret = PTR_ERR(domain->iommu);

			kfree(domain);
			return ERR_PTR(ret);
		}
		iommu_set_fault_handler(domain->iommu, domain_fault, domain);
	}

	kref_init(&domain->ref);
	domain->rknpu = rknpu;
	domain->id = id;
	mutex_init(&domain->lock);
	INIT_LIST_HEAD(&domain->visits);
	INIT_LIST_HEAD(&domain->zombies);
	drm_mm_init(&domain->mm, RKNPU_IOVA_START, RKNPU_IOVA_END - RKNPU_IOVA_START);
	return domain;
}

static void space_destroy(struct kref *ref)
{
	struct rknpu_space *space = container_of(ref, struct rknpu_space, ref);
	unsigned int i;

	list_del(&space->node);
	mutex_unlock(&space->rknpu->spaces_lock);

	for (i = 0; i < ARRAY_SIZE(space->domain); i++)
		rknpu_domain_put(space->domain[i]);
	put_pid(space->pid);
	mutex_destroy(&space->lock);
	kfree(space);
}

/**
 * rknpu_space_put() - give back a reference
 * @space: the space
 */
void rknpu_space_put(struct rknpu_space *space)
{
	kref_put_mutex(&space->ref, space_destroy, &space->rknpu->spaces_lock);
}

/**
 * rknpu_space_get() - take a reference
 * @space: the space
 *
 * Return: @space.
 */
struct rknpu_space *rknpu_space_get(struct rknpu_space *space)
{
	kref_get(&space->ref);
	return space;
}

/**
 * rknpu_space_get_current() - find or create the address spaces of the calling process
 * @rknpu: the device
 *
 * Return: the space with a reference, or an ERR_PTR.
 */
struct rknpu_space *rknpu_space_get_current(struct rknpu_device *rknpu)
{
	struct pid *pid = task_tgid(current);
	struct rknpu_space *space;
	unsigned int level;

	guard(mutex)(&rknpu->spaces_lock);

	list_for_each_entry(space, &rknpu->spaces, node) {
		if (space->pid == pid && space->exec_id == current->self_exec_id)
			return rknpu_space_get(space);
	}

	space = kzalloc_obj(*space, GFP_KERNEL);
	if (!space)
		return ERR_PTR(-ENOMEM);
	kref_init(&space->ref);
	space->rknpu = rknpu;
	space->pid = get_pid(pid);
	space->exec_id = current->self_exec_id;
	mutex_init(&space->lock);
	for (level = 0; level < RKNPU_NUM_LEVELS; level++)
		rknpu_dispatch_flow_init(&space->flow[level], level);
	list_add(&space->node, &rknpu->spaces);
	return space;
}

/**
 * rknpu_domain_id_valid() - check the number of a domain from user space
 * @rknpu: the device
 * @id: the number
 *
 * Return: true when a process may use it; without an IOMMU there is but one.
 */
bool rknpu_domain_id_valid(const struct rknpu_device *rknpu, u32 id)
{
	return id < (rknpu->iommu ? RKNPU_MAX_IOMMU_DOMAIN_NUM : 1);
}

/**
 * rknpu_isolates() - is a process kept from other processes' buffers?
 * @rknpu: the device
 *
 * Return: true if so.
 */
bool rknpu_isolates(const struct rknpu_device *rknpu)
{
	return rknpu->iommu && !rknpu_shared;
}

/* The domain that a process has already, with a reference, or NULL. Under spaces_lock. */
static struct rknpu_domain *get_shared_domain(struct rknpu_device *rknpu, unsigned int id)
{
	struct rknpu_space *space;

	list_for_each_entry(space, &rknpu->spaces, node) {
		if (!space->domain[id])
			continue;
		kref_get(&space->domain[id]->ref);
		return space->domain[id];
	}
	return NULL;
}

/**
 * rknpu_space_find_domain() - find or create one of a process's domains
 * @space: the process
 * @id: number of the domain, already checked
 *
 * Return: the domain, which stays for as long as the space, or an ERR_PTR.
 */
struct rknpu_domain *rknpu_space_find_domain(struct rknpu_space *space, unsigned int id)
{
	struct rknpu_domain *domain;

	/* Pairs with the release below. */
	domain = smp_load_acquire(&space->domain[id]);
	if (domain)
		return domain;

	guard(mutex)(&space->rknpu->spaces_lock);
	guard(mutex)(&space->lock);

	domain = space->domain[id];
	if (!domain && rknpu_shared)
		domain = get_shared_domain(space->rknpu, id);
	if (!domain)
		domain = domain_create(space->rknpu, id);
	if (IS_ERR(domain))
		return domain;
	/* Whoever finds it without the lock finds it complete. */
	smp_store_release(&space->domain[id], domain);
	return domain;
}

/*
 * The IOMMU's driver invalidates translations in the registers of all banks, whenever something is
 * mapped or unmapped: no core may be in reset then.
 */
static int do_map(struct rknpu_domain *domain, u64 iova, phys_addr_t phys, u64 len)
{
	guard(mutex)(&domain->rknpu->reset_lock);
	return iommu_map(domain->iommu, iova, phys, len, IOMMU_READ | IOMMU_WRITE, GFP_NOWAIT);
}

static void do_unmap(struct rknpu_domain *domain, u64 iova, u64 len)
{
	guard(mutex)(&domain->rknpu->reset_lock);
	iommu_unmap(domain->iommu, iova, len);
}

static int map_run(struct rknpu_mapping *mapping, struct rknpu_domain *domain, u64 *mapped,
		   phys_addr_t phys, u64 len)
{
	int ret;

	if (rknpu_fault_iommu_map(len))
		return -ENOMEM;
	ret = do_map(domain, mapping->mm_node.start + *mapped, phys, len);
	if (!ret)
		*mapped += len;
	return ret;
}

/* Makes one range of memory on the chip and all segments of memory. */
static int map_bo(struct rknpu_mapping *mapping, struct rknpu_domain *domain, u64 *mapped)
{
	struct rknpu_bo *bo = mapping->bo;
	u64 size = bo->base.size, skip = bo->carveout.size;
	struct scatterlist *sg;
	int ret, i;

	for (i = 0; i < bo->carveout.num; i++) {
		const struct rknpu_carveout_run *run = &bo->carveout.run[i];

		ret = map_run(mapping, domain, mapped, rknpu_carveout_run_start(run), run->size);
		if (ret)
			return ret;
	}

	/*
	 * The DMA device has no IOMMU: its addresses are physical ones, also for imported memory
	 * without pages.
	 */
	for_each_sgtable_dma_sg(bo->sgt, sg, i) {
		u64 len = sg_dma_len(sg);
		u64 from = min(skip, len);

		skip -= from;
		len = min(len - from, size - *mapped);
		if (!len)
			continue;
		ret = map_run(mapping, domain, mapped, sg_dma_address(sg) + from, len);
		if (ret)
			return ret;
		/* There may be a million of them. */
		cond_resched();
	}
	return *mapped == size ? 0 : -EINVAL;
}

/*
 * The one physical range of a buffer: addresses are what they are. The allocator notes them for
 * rknpu_domain_read(), if no other buffer has put the same memory there.
 */
static int take_physical(struct rknpu_mapping *mapping, struct rknpu_domain *domain)
{
	u64 size = mapping->bo->base.size, done = 0;
	struct sg_table *sgt = mapping->bo->sgt;
	u64 start = sg_dma_address(sgt->sgl);
	struct scatterlist *sg;
	int i, ret;

	for_each_sgtable_dma_sg(sgt, sg, i) {
		if (sg_dma_address(sg) != start + done)
			return -EINVAL;
		done += sg_dma_len(sg);
	}
	if (done < size || start + size > RKNPU_IOVA_END)
		return -EINVAL;
	mapping->mm_node.start = start;
	mapping->mm_node.size = size;
	ret = drm_mm_reserve_node(&domain->mm, &mapping->mm_node);
	return ret == -ENOSPC ? 0 : ret;
}

static int take_iova(struct rknpu_mapping *mapping, struct rknpu_domain *domain)
{
	u64 mapped = 0;
	int ret;

	ret = drm_mm_insert_node_in_range(&domain->mm, &mapping->mm_node, mapping->bo->base.size,
					  PAGE_SIZE, 0, RKNPU_IOVA_START, RKNPU_IOVA_END,
					  DRM_MM_INSERT_HIGH);
	if (ret)
		return ret;

	ret = map_bo(mapping, domain, &mapped);
	if (ret) {
		if (mapped)
			do_unmap(domain, mapping->mm_node.start, mapped);
		drm_mm_remove_node(&mapping->mm_node);
	}
	return ret;
}

/**
 * rknpu_mapping_map() - give a buffer its NPU addresses
 * @mapping: the buffer in a process; not mapped yet
 * @domain: where to, the mapping takes its own reference
 *
 * Return: 0; -ENOSPC when the addresses are used up; -EINVAL when there is no IOMMU and the memory
 * is scattered or beyond 4 GiB; or another negative errno.
 */
int rknpu_mapping_map(struct rknpu_mapping *mapping, struct rknpu_domain *domain)
{
	int ret;

	guard(mutex)(&domain->lock);

	ret = domain->iommu ? take_iova(mapping, domain) : take_physical(mapping, domain);
	if (ret)
		return ret;
	rknpu_usage_add_iova(mapping->space, mapping->mm_node.size);
	kref_get(&domain->ref);
	mapping->domain = domain;
	return 0;
}

/* Takes the pages away from the NPU. Nothing may use the addresses any more. */
static void mapping_unmap(struct rknpu_mapping *mapping)
{
	struct rknpu_domain *domain = mapping->domain;

	mutex_lock(&domain->lock);
	rknpu_usage_add_iova(mapping->space, -(s64)mapping->mm_node.size);
	if (domain->iommu)
		do_unmap(domain, mapping->mm_node.start, mapping->mm_node.size);
	if (drm_mm_node_allocated(&mapping->mm_node))
		drm_mm_remove_node(&mapping->mm_node);
	mutex_unlock(&domain->lock);

	rknpu_domain_put(domain);
	mapping->domain = NULL;
}

static void mapping_free(struct rknpu_mapping *mapping)
{
	rknpu_space_put(mapping->space);
	kfree(mapping);
}

/**
 * rknpu_domain_bury() - let those zombies go that no job may use any more
 * @domain: the domain
 *
 * Context: &rknpu_device.lock held.
 */
void rknpu_domain_bury(struct rknpu_domain *domain)
{
	struct rknpu_device *rknpu = domain->rknpu;
	struct rknpu_mapping *mapping, *tmp;
	struct rknpu_visit *oldest;

	lockdep_assert_held(&rknpu->lock);

	oldest = list_first_entry_or_null(&domain->visits, struct rknpu_visit, node);
	list_for_each_entry_safe(mapping, tmp, &domain->zombies, node) {
		if (oldest && oldest->number <= mapping->last_visit)
			break;
		list_move_tail(&mapping->node, &rknpu->dead_mappings);
		queue_work(rknpu->slow_wq, &rknpu->reap_work);
	}
}

/* The next mapping that rknpu_domain_bury() has let go, or NULL */
static struct rknpu_mapping *pop_dead(struct rknpu_device *rknpu)
{
	struct rknpu_mapping *mapping;

	guard(spinlock_irqsave)(&rknpu->lock);

	mapping = list_first_entry_or_null(&rknpu->dead_mappings, struct rknpu_mapping, node);
	if (mapping)
		list_del(&mapping->node);
	return mapping;
}

/**
 * rknpu_mapping_reap() - free the mappings that jobs have kept until now
 * @rknpu: the device
 *
 * Context: may sleep.
 */
void rknpu_mapping_reap(struct rknpu_device *rknpu)
{
	struct rknpu_mapping *mapping;

	while ((mapping = pop_dead(rknpu))) {
		struct drm_gem_object *obj = &mapping->bo->base;

		mapping_unmap(mapping);
		mapping_free(mapping);
		drm_gem_object_put(obj);
	}
}

/* Makes the mapping a zombie if a job may use it; else returns false. */
static bool leave_to_jobs(struct rknpu_mapping *mapping)
{
	struct rknpu_domain *domain = mapping->domain;

	guard(spinlock_irqsave)(&domain->rknpu->lock);

	if (list_empty(&domain->visits))
		return false;
	drm_gem_object_get(&mapping->bo->base);
	mapping->last_visit = domain->last_visit;
	list_add_tail(&mapping->node, &domain->zombies);
	return true;
}

/**
 * rknpu_domain_read() - read what the NPU finds at an address
 * @domain: the address space
 * @address: where
 * @data: filled in
 * @len: bytes
 *
 * Context: neither allocates nor waits.
 * Return: bytes read. Fewer than @len at the end of a buffer; 0 in imported memory, outside of the
 * process's buffers, and while somebody changes mappings.
 */
size_t rknpu_domain_read(struct rknpu_domain *domain, u64 address, void *data, size_t len)
{
	struct drm_mm_node *node;
	size_t done = 0;

	if (address >= RKNPU_IOVA_END || !mutex_trylock(&domain->lock))
		return 0;

	drm_mm_for_each_node_in_range(node, &domain->mm, address, address + 1) {
		struct rknpu_bo *bo = container_of(node, struct rknpu_mapping, mm_node)->bo;
		u64 offset = address - node->start;

		len = min_t(u64, len, node->size - offset);
		done = rknpu_bo_copy(domain->rknpu, bo, offset, data, len, false) ? 0 : len;
	}
	mutex_unlock(&domain->lock);
	return done;
}

/**
 * rknpu_mapping_release() - a process has no handle of the buffer any more
 * @mapping: taken off the buffer's list, freed here or when the last job that may use it has ended
 *
 * The caller has a reference of the buffer.
 */
void rknpu_mapping_release(struct rknpu_mapping *mapping)
{
	if (mapping->domain) {
		if (leave_to_jobs(mapping))
			return;
		mapping_unmap(mapping);
	}
	mapping_free(mapping);
}

/**
 * rknpu_mmu_attach() - show a domain to all cores behind an IOMMU
 * @node: the node of the cores
 * @domain: what to show
 *
 * Also restores the IOMMU's registers when the domain was attached before and a reset has cleared
 * them.
 *
 * Context: the device's work queue; no core of the node is at work.
 * Return: 0 or a negative errno; nothing is attached then.
 */
int rknpu_mmu_attach(struct rknpu_node *node, struct rknpu_domain *domain)
{
	int ret;

	if (!node->group)
		return 0;

	kref_get(&domain->ref);
	rknpu_mmu_detach(node);

	ret = iommu_attach_group(domain->iommu, node->group);
	if (ret) {
		rknpu_domain_put(domain);
		return ret;
	}
	node->domain = domain;
	return 0;
}

/**
 * rknpu_mmu_detach() - show nothing any more
 * @node: the node
 */
void rknpu_mmu_detach(struct rknpu_node *node)
{
	struct rknpu_domain *domain = node->domain;

	if (!domain)
		return;
	node->domain = NULL;
	iommu_detach_group(domain->iommu, node->group);
	rknpu_domain_put(domain);
}
