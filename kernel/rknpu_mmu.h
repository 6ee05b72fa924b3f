/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _RKNPU_MMU_H_
#define _RKNPU_MMU_H_

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>

#include <drm/drm_mm.h>
#include <drm/rknpu_drm.h>

#include "rknpu_dispatch.h"
#include "rknpu_usage.h"

struct iommu_domain;
struct pid;
struct rknpu_bo;
struct rknpu_device;
struct rknpu_node;

/**
 * struct rknpu_visit - the time during which a job may use a domain
 *
 * A job may use any address of its domain, so a mapping that user space gave up stays until all
 * jobs that were submitted before have ended. Protected by &rknpu_device.lock.
 */
struct rknpu_visit {
	/** @node: entry of &rknpu_domain.visits */
	struct list_head node;
	/** @number: visits are counted from 1 in the order of their beginnings */
	u64 number;
};

/**
 * struct rknpu_domain - one NPU address space of 4 GiB
 */
struct rknpu_domain {
	/** @ref: the space, mappings, and nodes that show it */
	struct kref ref;
	/** @rknpu: the device */
	struct rknpu_device *rknpu;
	/** @id: its number in the process */
	unsigned int id;
	/** @iommu: page tables */
	struct iommu_domain *iommu;
	/** @lock: protects @mm and the page tables; taken inside &rknpu_bo.lock */
	struct mutex lock;
	/** @mm: allocator of NPU addresses */
	struct drm_mm mm;

	/* The rest is protected by &rknpu_device.lock. */

	/** @visits: those that have not ended, the oldest first */
	struct list_head visits;
	/** @last_visit: number of the newest one */
	u64 last_visit;
	/** @zombies: mappings given up during visits, the first one first */
	struct list_head zombies;
};

/**
 * struct rknpu_space - the address spaces of one process
 */
struct rknpu_space {
	/** @ref: files, mapping records, and jobs whose file is closed */
	struct kref ref;
	/** @rknpu: the device */
	struct rknpu_device *rknpu;
	/** @node: entry of &rknpu_device.spaces */
	struct list_head node;
	/** @pid: the process, with a reference, so that its number is not used again */
	struct pid *pid;
	/**
	 * @exec_id: which of the programs that the process has executed: files of an earlier one
	 * may be in the hands of its children
	 */
	u64 exec_id;
	/** @lock: protects @domain and @current_id; taken inside &rknpu_device.spaces_lock */
	struct mutex lock;
	/** @domain: created on first use */
	struct rknpu_domain *domain[RKNPU_MAX_IOMMU_DOMAIN_NUM];
	/** @current_id: what GET_IOMMU_DOMAIN_ID tells */
	unsigned int current_id;
	/** @usage: memory of the process */
	struct rknpu_usage usage;
	/** @flow: its share of the cores, by priority; protected by &rknpu_device.lock */
	struct rknpu_dispatch_flow flow[RKNPU_NUM_LEVELS];
};

/**
 * struct rknpu_mapping - a buffer as one process has it
 *
 * Exists while the process has a handle of the buffer. Protected by &rknpu_bo.lock.
 */
struct rknpu_mapping {
	/**
	 * @node: entry of &rknpu_bo.mappings, later of &rknpu_domain.zombies, at last of
	 * &rknpu_device.dead_mappings
	 */
	struct list_head node;
	/** @last_visit: of a zombie: number of the last visit that may use it */
	u64 last_visit;
	/** @bo: the buffer; counted only while the mapping is a zombie */
	struct rknpu_bo *bo;
	/** @space: the process, with a reference */
	struct rknpu_space *space;
	/** @handles: handles that files of the process have of the buffer */
	unsigned int handles;
	/** @domain: where the buffer is mapped, with a reference; NULL: not yet */
	struct rknpu_domain *domain;
	/** @mm_node: the NPU addresses */
	struct drm_mm_node mm_node;
};

void rknpu_domain_bury(struct rknpu_domain *domain);

/**
 * rknpu_domain_enter() - a job will use the domain
 * @domain: the domain, which the job's file keeps
 * @visit: filled in
 *
 * Context: &rknpu_device.lock held.
 */
static inline void rknpu_domain_enter(struct rknpu_domain *domain, struct rknpu_visit *visit)
{
	visit->number = ++domain->last_visit;
	list_add_tail(&visit->node, &domain->visits);
}

/**
 * rknpu_domain_leave() - a job does not use the domain any more
 * @domain: the domain
 * @visit: what rknpu_domain_enter() filled in
 *
 * Context: &rknpu_device.lock held.
 */
static inline void rknpu_domain_leave(struct rknpu_domain *domain, struct rknpu_visit *visit)
{
	list_del(&visit->node);
	if (!list_empty(&domain->zombies))
		rknpu_domain_bury(domain);
}

bool rknpu_isolates(const struct rknpu_device *rknpu);
bool rknpu_domain_id_valid(const struct rknpu_device *rknpu, u32 id);

struct rknpu_space *rknpu_space_get_current(struct rknpu_device *rknpu);
struct rknpu_space *rknpu_space_get(struct rknpu_space *space);
void rknpu_space_put(struct rknpu_space *space);
struct rknpu_domain *rknpu_space_find_domain(struct rknpu_space *space, unsigned int id);

void rknpu_domain_put(struct rknpu_domain *domain);
size_t rknpu_domain_read(struct rknpu_domain *domain, u64 address, void *data, size_t len);

int rknpu_mapping_map(struct rknpu_mapping *mapping, struct rknpu_domain *domain);
void rknpu_mapping_release(struct rknpu_mapping *mapping);
void rknpu_mapping_reap(struct rknpu_device *rknpu);

int rknpu_mmu_attach(struct rknpu_node *node, struct rknpu_domain *domain);
void rknpu_mmu_detach(struct rknpu_node *node);

#endif
