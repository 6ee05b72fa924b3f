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
#include <linux/platform_device.h>
#include <linux/pm_runtime.h>

#include <drm/drm_drv.h>
#include <drm/drm_managed.h>

#include "rknpu_compat.h"
#include "rknpu_debugfs.h"
#include "rknpu_device.h"
#include "rknpu_drv.h"
#include "rknpu_mmu.h"
#include "rknpu_sched.h"
#include "rknpu_soc.h"

static void dma_dev_release(struct drm_device *drm, void *dma_pdev)
{
	platform_device_unregister(dma_pdev);
}

/* A device that no IOMMU serves: what is mapped on it has its physical address. */
static int dma_dev_create(struct rknpu_device *rknpu)
{
	struct platform_device_info info = {
		.name = "rknpu-dma",
		.id = PLATFORM_DEVID_AUTO,
		.dma_mask = DMA_BIT_MASK(rknpu->soc->dma_bits),
	};
	struct platform_device *pdev = platform_device_register_full(&info);

	if (IS_ERR(pdev))
		return PTR_ERR(pdev);
	dma_set_coherent_mask(&pdev->dev, info.dma_mask);
	rknpu->dma_dev = &pdev->dev;
	return drmm_add_action_or_reset(&rknpu->drm, dma_dev_release, pdev);
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

		node->group = device_iommu_mapped(node->dev) ? iommu_group_get(node->dev) : NULL;
		if (!node->group) {
			dev_err(node->dev, "no IOMMU\n");
			groups_put(rknpu);
			return -ENODEV;
		}
	}
	return 0;
}

static int cores_init(struct rknpu_device *rknpu)
{
	unsigned int n, i;
	int ret;

	for (n = 0; n < rknpu->num_nodes; n++) {
		struct rknpu_node *node = rknpu->nodes[n];

		for (i = 0; i < node->num_cores; i++) {
			unsigned int index = rknpu->num_cores;

			ret = rknpu_core_init(&rknpu->cores[index], rknpu, node, &node->io[i],
					      index);
			if (ret)
				return ret;
			rknpu->num_cores++;
		}
	}
	return 0;
}

static void cores_fini(struct rknpu_device *rknpu)
{
	while (rknpu->num_cores)
		rknpu_core_fini(&rknpu->cores[--rknpu->num_cores]);
}

/*
 * The nodes tell how many cores there are before the interrupts are requested, so that handlers
 * find all in place.
 */
static int hardware_init(struct rknpu_device *rknpu)
{
	int ret;

	ret = pm_runtime_resume_and_get(rknpu->pm_dev);
	if (ret)
		return ret;

	ret = cores_init(rknpu);
	if (!ret)
		ret = rknpu_sched_init(rknpu);
	if (!ret)
		rknpu->hw_version = rknpu_core_version(&rknpu->cores[0]);
	if (ret)
		cores_fini(rknpu);

	pm_runtime_mark_last_busy(rknpu->pm_dev);
	pm_runtime_put_autosuspend(rknpu->pm_dev);
	return ret;
}

static void hardware_fini(struct rknpu_device *rknpu)
{
	unsigned int i;

	rknpu_sched_stop(rknpu);
	cores_fini(rknpu);
	for (i = 0; i < rknpu->num_nodes; i++)
		rknpu_mmu_detach(rknpu->nodes[i]);
	destroy_workqueue(rknpu->wq);
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
