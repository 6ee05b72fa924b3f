/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _RKNPU_DEVICE_H_
#define _RKNPU_DEVICE_H_

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <drm/drm_device.h>

#include "rknpu_core.h"
#include "rknpu_dispatch.h"
#include "rknpu_nbuf.h"
#include "rknpu_pool.h"
#include "rknpu_power.h"
#include "rknpu_soc.h"
#include "rknpu_usage.h"

#define RKNPU_DRIVER_NAME "rknpu"
#define RKNPU_DRIVER_MAJOR 0
#define RKNPU_DRIVER_MINOR 9
#define RKNPU_DRIVER_PATCHLEVEL 8

struct clk;
struct clk_bulk_data;
struct dentry;
struct iommu_group;
struct platform_device;
struct regulator;
struct reset_control;
struct rknpu_coredump;
struct rknpu_devfreq;
struct rknpu_domain;

/**
 * struct rknpu_node - one device-tree node with NPU cores and the IOMMU in front of them
 *
 * The BSP form has one node with all cores, the mainline form one node per core.
 */
struct rknpu_node {
	/** @dev: the node's platform device; its runtime PM powers the cores and the IOMMU */
	struct device *dev;
	/** @rknpu: the device, in the node that stands for it; see @gathers */
	struct rknpu_device *rknpu;
	/** @gathers: mainline form: the node of core 0, which takes in the others */
	bool gathers;
	/** @soc: what the compatible says */
	const struct rknpu_soc *soc;
	/** @core_clk: one of @clks, the clock that the cores compute with; NULL: none is known */
	struct clk *core_clk;
	/** @clks: all clocks of the node */
	struct clk_bulk_data *clks;
	/** @num_clks: number of @clks */
	int num_clks;
	/** @supplies: of the logic and of the memories; NULL when the device tree has none */
	struct regulator *supplies[2];
	/** @supply_names: their names in the device tree, without "-supply" */
	const char *const *supply_names;
	/** @devfreq: frequency scaling, in the node that stands for the device; NULL: none */
	struct rknpu_devfreq *devfreq;
	/** @powered: registers may be touched; cleared before the clocks go off */
	bool powered;
	/** @sleeps: the system sleeps, and the node has to be woken with all that it needs */
	bool sleeps;
	/** @start: physical address of the first core's registers */
	resource_size_t start;
	/** @num_cores: number of @io */
	unsigned int num_cores;
	/** @io: windows, interrupt and resets of each core */
	struct rknpu_core_io io[RKNPU_DISPATCH_MAX_CORES];
	/** @common_resets: lines that concern all cores, NULL when the SoC has none */
	struct reset_control *common_resets[RKNPU_MAX_COMMON_RESETS];
	/** @group: IOMMU group; NULL before the device is up */
	struct iommu_group *group;
	/** @domain: what is attached, with a reference; only touched by the device's work queue */
	struct rknpu_domain *domain;
};

/**
 * struct rknpu_device - the NPU
 */
struct rknpu_device {
	/** @drm: the DRM device, first member so that it can be embedded */
	struct drm_device drm;
	/** @soc: per-SoC facts */
	const struct rknpu_soc *soc;
	/** @pm_dev: device whose runtime PM covers all nodes */
	struct device *pm_dev;
	/** @power: keeps @pm_dev resumed for jobs */
	struct rknpu_power power;
	/** @iommu: the NPU works behind IOMMUs; else it sees physical addresses */
	bool iommu;
	/**
	 * @dma_dev: device without an IOMMU; pages are mapped on it for cache maintenance and
	 * imports
	 */
	struct device *dma_dev;
	/** @nodes: the device-tree nodes; index = index of the IOMMU in the dispatcher */
	struct rknpu_node *nodes[RKNPU_DISPATCH_MAX_CORES];
	/** @num_nodes: number of @nodes */
	unsigned int num_nodes;
	/** @cores: the cores */
	struct rknpu_core cores[RKNPU_DISPATCH_MAX_CORES];
	/** @num_cores: number of @cores */
	unsigned int num_cores;
	/** @sram: SRAM set aside for buffers */
	struct rknpu_pool sram;
	/** @nbuf: the on-chip buffer */
	struct rknpu_nbuf nbuf;
	/** @usage: memory of all processes */
	struct rknpu_usage usage;
	/** @hw_version: version registers of core 0 */
	u32 hw_version;
	/** @bandwidth: registers that say how urgent transfers are; NULL: the SoC has none */
	void __iomem *bandwidth;
	/**
	 * @reset_lock: held while cores are in reset, and by who reads registers beside the jobs.
	 * Fences depend on the former: nothing waits for memory under it. Outside @lock.
	 */
	struct mutex reset_lock;
	/** @no_reset: cores that fail are kept as they are, for somebody to look at */
	bool no_reset;

	/**
	 * @lock: protects @dispatch, @recover, @waiting, @dead_mappings, @stopping, @paused, what
	 * the cores run, and the state of all jobs. Innermost lock, taken with interrupts off and
	 * by the interrupt handlers; see guard(rknpu_jobs).
	 */
	spinlock_t lock;
	/** @dispatch: which core does what */
	struct rknpu_dispatch dispatch;
	/** @recover: mask of stopped cores that wait for @recover_work */
	u8 recover;
	/** @waiting: jobs that wait for fences */
	struct list_head waiting;
	/** @stopping: no job is accepted any more */
	bool stopping;
	/** @paused: the system sleeps, no job is started */
	bool paused;
	/** @signal: jobs that have ended and whose fences are to be signalled */
	struct llist_head signal;
	/** @signalling: somebody is at it */
	atomic_t signalling;
	/** @jobs: jobs that have not been freed */
	atomic_t jobs;
	/** @spare_job: memory for the next job, or NULL */
	struct rknpu_job *spare_job;
	/**
	 * @idle: woken when a core stops working while cores are held back, and by the last job
	 */
	wait_queue_head_t idle;

	/**
	 * @wq: ordered, so that address-space switches and resets never meet. Fences depend on what
	 * is done here: it never waits for memory.
	 */
	struct workqueue_struct *wq;
	/** @switch_work: switches address spaces for cores that wait for it */
	struct work_struct switch_work;
	/** @recover_work: resets stopped cores */
	struct work_struct recover_work;
	/** @slow_wq: what may wait for memory; no job's end depends on it */
	struct workqueue_struct *slow_wq;
	/** @reap_work: frees the jobs on @reap and the mappings on @dead_mappings */
	struct work_struct reap_work;
	/** @reap: jobs whose last reference was dropped in an interrupt */
	struct llist_head reap;
	/** @dead_mappings: what user space gave up and jobs have kept; protected by @lock */
	struct list_head dead_mappings;
	/** @report_work: tells user space of failures */
	struct work_struct report_work;
	/** @coredump: the last failure; NULL if nobody could get at it */
	struct rknpu_coredump *coredump;
	/** @wedged: no core is in service any more */
	bool wedged;

	/**
	 * @spaces_lock: protects @spaces and the creation of domains; taken outside
	 * &rknpu_space.lock
	 */
	struct mutex spaces_lock;
	/** @spaces: address spaces of the processes that have the device open */
	struct list_head spaces;

	/** @bo_serial: source of numbers that tell buffers apart */
	atomic_t bo_serial;

	/** @debugfs: the vendor-compatible folder */
	struct dentry *debugfs;
	/** @proc: the same in /proc, where the kernel's configuration wants it */
	struct proc_dir_entry *proc;
};

static inline struct rknpu_device *to_rknpu(struct drm_device *drm)
{
	return container_of(drm, struct rknpu_device, drm);
}

struct rknpu_device *rknpu_device_register(struct device *dev, struct rknpu_node **nodes,
					   unsigned int num_nodes);
void rknpu_device_unregister(struct rknpu_device *rknpu);

#endif
