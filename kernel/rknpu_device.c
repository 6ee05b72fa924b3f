// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: Device
 *
 * Puts the NPU together from its device-tree nodes and takes it apart again. Order of the end: no
 * new calls (unplug), no jobs, no interrupts, IOMMUs detached. Buffers may live on behind mappings
 * and dma-bufs; they need only the DMA device and their domains.
 */
#include <linux/dma-mapping.h>
#include <linux/iommu.h>
#include <linux/mm.h>
#include <linux/of.h>
#include <linux/of_reserved_mem.h>
#include <linux/platform_device.h>
#include <linux/pm_runtime.h>

#include <drm/drm_drv.h>
#include <drm/drm_managed.h>

#include "rknpu_compat.h"
#include "rknpu_coredump.h"
#include "rknpu_debugfs.h"
#include "rknpu_devfreq.h"
#include "rknpu_device.h"
#include "rknpu_drv.h"
#include "rknpu_job.h"
#include "rknpu_mmu.h"
#include "rknpu_reset.h"
#include "rknpu_sched.h"
#include "rknpu_soc.h"
#include "rknpu_sram.h"
#include "rknpu_traffic.h"

static void dma_dev_release(struct drm_device *drm, void *dma_pdev)
{
	platform_device_unregister(dma_pdev);
}

/* Without an IOMMU: buffers come from the memory-region of the device tree, or else from CMA. */
static int use_reserved_memory(struct rknpu_device *rknpu)
{
	struct device *dev = rknpu->nodes[0]->dev;
	struct device_node *np = of_parse_phandle(dev->of_node, "memory-region", 0);
	struct reserved_mem *region = np ? of_reserved_mem_lookup(np) : NULL;
	u64 size = region ? region->size :
		   (u64)global_zone_page_state(NR_FREE_CMA_PAGES) << PAGE_SHIFT;

	of_node_put(np);
	dev_info(dev, "no IOMMU: programs can reach all memory; %llu MiB for buffers in %s\n",
		 size >> 20, region ? region->name : "CMA");
	return region ? of_reserved_mem_device_init_by_idx(rknpu->dma_dev, dev->of_node, 0) : 0;
}

/* A device that no IOMMU serves: what is mapped on it has its physical address. */
static int dma_dev_create(struct rknpu_device *rknpu)
{
	struct platform_device_info info = {
		.name = "rknpu-dma",
		.id = PLATFORM_DEVID_AUTO,
		/* The NPU's own addresses have 32 bits. */
		.dma_mask = DMA_BIT_MASK(rknpu->iommu ? rknpu->soc->dma_bits : 32),
	};
	struct platform_device *pdev = platform_device_register_full(&info);
	int ret;

	if (IS_ERR(pdev))
		return PTR_ERR(pdev);
	dma_set_coherent_mask(&pdev->dev, info.dma_mask);
	/* Page by page in the IOMMU's tables: runs of any length will do. */
	dma_set_max_seg_size(&pdev->dev, UINT_MAX);
	rknpu->dma_dev = &pdev->dev;
	ret = drmm_add_action_or_reset(&rknpu->drm, dma_dev_release, pdev);
	return ret || rknpu->iommu ? ret : use_reserved_memory(rknpu);
}

static void groups_put(struct rknpu_device *rknpu)
{
	unsigned int i;

	for (i = 0; i < rknpu->num_nodes; i++) {
		iommu_group_put(rknpu->nodes[i]->group);
		rknpu->nodes[i]->group = NULL;
	}
}

static int groups_get(struct rknpu_device *rknpu)
{
	unsigned int i;

	for (i = 0; i < rknpu->num_nodes; i++) {
		struct rknpu_node *node = rknpu->nodes[i];

		if (!rknpu->iommu)
			continue;
		node->group = iommu_group_get(node->dev);
		if (!node->group) {
			dev_err(node->dev, "no IOMMU, though other cores have one\n");
			groups_put(rknpu);
			return -ENODEV;
		}
	}
	if (rknpu->iommu && !rknpu_isolates(rknpu))
		dev_info(rknpu->drm.dev, "one address space for all processes, no isolation\n");
	return 0;
}

static void cores_init(struct rknpu_device *rknpu)
{
	unsigned int n, i;

	for (n = 0; n < rknpu->num_nodes; n++) {
		struct rknpu_node *node = rknpu->nodes[n];

		for (i = 0; i < node->num_cores; i++, rknpu->num_cores++)
			rknpu_core_init(&rknpu->cores[rknpu->num_cores], rknpu, node, &node->io[i],
					rknpu->num_cores);
	}
}

static void cores_mute(struct rknpu_device *rknpu, unsigned int num)
{
	while (num--)
		rknpu_core_mute(&rknpu->cores[num]);
}

static int cores_listen(struct rknpu_device *rknpu)
{
	unsigned int i;
	int ret;

	for (i = 0; i < rknpu->num_cores; i++) {
		ret = rknpu_core_listen(&rknpu->cores[i]);
		if (ret) {
			cores_mute(rknpu, i);
			return ret;
		}
	}
	return 0;
}

/* Whatever ran before, a boot loader or another driver: begin with cores that do nothing. */
static void cores_reset(struct rknpu_device *rknpu)
{
	unsigned int i;
	int ret;

	for (i = 0; i < rknpu->num_cores; i++) {
		ret = rknpu_core_reset(&rknpu->cores[i]);
		if (!ret && !i)
			rknpu_reset_write_init(rknpu->nodes[0]);
		if (!ret || ret == -EOPNOTSUPP)
			continue;
		dev_warn(rknpu->drm.dev, "core %u: can't be reset (%pe), out of service\n", i,
			 ERR_PTR(ret));
		rknpu_dispatch_retire(&rknpu->dispatch, i);
	}
}

/* With power on. The handlers come last: they find everything in place. */
static int hardware_prepare(struct rknpu_device *rknpu)
{
	int ret;

	cores_init(rknpu);
	rknpu_power_init(rknpu);
	ret = rknpu_sched_init(rknpu);
	if (ret)
		return ret;
	cores_reset(rknpu);
	rknpu->hw_version = rknpu_core_version(&rknpu->cores[0]);
	ret = cores_listen(rknpu);
	if (ret)
		rknpu_sched_fini(rknpu);
	return ret;
}

static int hardware_init(struct rknpu_device *rknpu)
{
	int ret;

	ret = rknpu_power_resume(rknpu);
	if (ret)
		return ret;
	ret = hardware_prepare(rknpu);
	if (ret) {
		pm_runtime_put_sync_suspend(rknpu->pm_dev);
		return ret;
	}
	rknpu_devfreq_init(rknpu);
	pm_runtime_mark_last_busy(rknpu->pm_dev);
	pm_runtime_put_autosuspend(rknpu->pm_dev);
	return 0;
}

static void hardware_fini(struct rknpu_device *rknpu)
{
	unsigned int i;

	rknpu_sched_stop(rknpu);
	rknpu_nbuf_fini(rknpu);
	rknpu_power_fini(rknpu);
	rknpu_devfreq_fini(rknpu);
	rknpu_job_free_spare(rknpu);
	cores_mute(rknpu, rknpu->num_cores);
	for (i = 0; i < rknpu->num_nodes; i++)
		rknpu_mmu_detach(rknpu->nodes[i]);
	rknpu_sched_fini(rknpu);
	/* Not after the usual time, but now: the clocks and supplies are given back next. */
	for (i = 0; i < rknpu->num_nodes; i++)
		pm_runtime_suspend(rknpu->nodes[i]->dev);
}

/**
 * rknpu_device_register() - bring the NPU up
 * @dev: parent of the DRM device; its runtime PM powers all nodes, enabled
 * @nodes: the device-tree nodes in core order; they outlive the registration
 * @num_nodes: number of @nodes
 *
 * Return: the device, to be given to rknpu_device_unregister(), or an ERR_PTR.
 */
struct rknpu_device *rknpu_device_register(struct device *dev, struct rknpu_node **nodes,
					   unsigned int num_nodes)
{
	struct rknpu_device *rknpu;
	unsigned int i;
	int ret;

	rknpu = devm_drm_dev_alloc(dev, &rknpu_drm_driver, struct rknpu_device, drm);
	if (IS_ERR(rknpu))
		return rknpu;

	rknpu->soc = nodes[0]->soc;
	rknpu->pm_dev = dev;
	rknpu->num_nodes = num_nodes;
	for (i = 0; i < num_nodes; i++)
		rknpu->nodes[i] = nodes[i];
	rknpu->iommu = device_iommu_mapped(nodes[0]->dev);
	INIT_LIST_HEAD(&rknpu->spaces);
	ret = drmm_mutex_init(&rknpu->drm, &rknpu->spaces_lock);
	if (ret)
		return ERR_PTR(ret);

	ret = dma_dev_create(rknpu);
	if (ret)
		return ERR_PTR(ret);
	ret = rknpu_sram_init(rknpu);
	if (ret)
		return ERR_PTR(ret);
	ret = rknpu_nbuf_init(rknpu);
	if (ret)
		return ERR_PTR(ret);
	ret = rknpu_traffic_init(rknpu);
	if (ret)
		return ERR_PTR(ret);
	ret = rknpu_coredump_init(rknpu);
	if (ret)
		return ERR_PTR(ret);
	ret = groups_get(rknpu);
	if (ret)
		return ERR_PTR(ret);
	ret = hardware_init(rknpu);
	if (ret)
		goto err_groups;

	ret = drm_dev_register(&rknpu->drm, 0);
	if (ret)
		goto err_hardware;

	rknpu_debugfs_init(rknpu);
	return rknpu;

err_hardware:
	hardware_fini(rknpu);
err_groups:
	groups_put(rknpu);
	return ERR_PTR(ret);
}

/**
 * rknpu_device_unregister() - take the NPU down
 * @rknpu: the device; gone for the caller
 */
void rknpu_device_unregister(struct rknpu_device *rknpu)
{
	rknpu_debugfs_fini(rknpu);
	drm_dev_unplug(&rknpu->drm);
	hardware_fini(rknpu);
	groups_put(rknpu);
}
