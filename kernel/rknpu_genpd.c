// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: Power domains
 *
 * A node with a single power domain is attached to it by the bus. One with several, as the vendor's
 * form has them on chips with several cores, is a matter of the driver: each domain gets a device
 * of its own, which is on while the node's device is. So it is for the IOMMU, which lies in the
 * same domains, is resumed before the node, and is told of none by vendor trees.
 *
 * The kernel resumes the IOMMU before it probes a driver for the node, and the IOMMU's driver then
 * writes its registers: it has an address space to show even if no driver is there. So the domains
 * belong to the device and not to the driver that is bound to it: they are attached when the module
 * is loaded or the device comes, and stay until either goes. The driver of the power controller is
 * there before, as it can't be a module, nor be unbound.
 */
#include <linux/device.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/of.h>
#include <linux/of_platform.h>
#include <linux/platform_device.h>
#include <linux/pm_domain.h>
#include <linux/pm_runtime.h>
#include <linux/slab.h>

#include "rknpu_genpd.h"

/**
 * struct rknpu_genpd - the domains of a node
 */
struct rknpu_genpd {
	/** @entry: in the list of all */
	struct list_head entry;
	/** @dev: the node's device, with a reference */
	struct device *dev;
	/** @iommu: that of its IOMMU, with a reference; NULL: there is none */
	struct device *iommu;
	/** @num: how many are attached */
	int num;
	/** @domains: the devices that stand for them */
	struct device *domains[] __counted_by(num);
};

static LIST_HEAD(rknpu_genpds);
/* Protects the list. */
static DEFINE_MUTEX(rknpu_genpd_lock);
static const struct of_device_id *rknpu_genpd_nodes;

static struct rknpu_genpd *find(const struct device *dev)
{
	struct rknpu_genpd *pd;

	list_for_each_entry(pd, &rknpu_genpds, entry)
		if (pd->dev == dev)
			return pd;
	return NULL;
}

/* @consumer needs @supplier; if it is on, from now on. */
static int link_to(struct device *consumer, struct device *supplier)
{
	u32 flags = DL_FLAG_STATELESS | DL_FLAG_PM_RUNTIME;

	if (!consumer)
		return 0;
	if (!pm_runtime_status_suspended(consumer))
		flags |= DL_FLAG_RPM_ACTIVE;
	return device_link_add(consumer, supplier, flags) ? 0 : -ENOMEM;
}

static void detach(struct rknpu_genpd *pd)
{
	/* It may be about to be suspended, for which it needs the domains. */
	if (pd->iommu)
		pm_runtime_suspend(pd->iommu);

	while (pd->num) {
		struct device *domain = pd->domains[pd->num - 1];

		if (pd->iommu)
			device_link_remove(pd->iommu, domain);
		device_link_remove(pd->dev, domain);
		dev_pm_domain_detach(domain, false);
		pd->num--;
	}
	put_device(pd->iommu);
	put_device(pd->dev);
	kfree(pd);
}

static int attach_one(struct rknpu_genpd *pd)
{
	struct device *domain = dev_pm_domain_attach_by_id(pd->dev, pd->num);
	int ret;

	if (IS_ERR_OR_NULL(domain))
		return dev_err_probe(pd->dev, domain ? PTR_ERR(domain) : -ENODEV,
				     "can't attach power domain %d\n", pd->num);
	pd->num++;
	pd->domains[pd->num - 1] = domain;
	ret = link_to(pd->dev, domain);
	return ret ?: link_to(pd->iommu, domain);
}

/* The device of the node's IOMMU with a reference; NULL: it has none. */
static struct device *get_iommu(struct device *dev)
{
	struct device_node *np = of_parse_phandle(dev->of_node, "iommus", 0);
	struct platform_device *pdev;

	if (!np || !of_device_is_available(np)) {
		of_node_put(np);
		return NULL;
	}
	pdev = of_find_device_by_node(np);
	of_node_put(np);
	return pdev ? &pdev->dev : ERR_PTR(-EPROBE_DEFER);
}

static int attach(struct device *dev, int num)
{
	struct device *iommu = get_iommu(dev);
	struct rknpu_genpd *pd;
	int ret = 0;

	if (IS_ERR(iommu))
		return PTR_ERR(iommu);
	pd = kzalloc(struct_size(pd, domains, num), GFP_KERNEL);
	if (!pd) {
		put_device(iommu);
		return -ENOMEM;
	}
	pd->dev = get_device(dev);
	pd->iommu = iommu;
	while (!ret && pd->num < num)
		ret = attach_one(pd);
	if (ret) {
		detach(pd);
		return ret;
	}
	list_add(&pd->entry, &rknpu_genpds);
	return 0;
}

/**
 * rknpu_genpd_attach() - let the power domains of a node follow its device
 * @dev: the node's device, not active yet
 *
 * They stay when the driver is unbound. Does nothing when that is done already, or is the bus's
 * matter.
 *
 * Return: 0 or a negative errno.
 */
int rknpu_genpd_attach(struct device *dev)
{
	int num = of_count_phandle_with_args(dev->of_node, "power-domains",
					     "#power-domain-cells");

	if (num < 2)
		return 0;
	guard(mutex)(&rknpu_genpd_lock);
	return find(dev) ? 0 : attach(dev, num);
}

/**
 * rknpu_genpd_sleep() - the system goes to sleep, and the node and its IOMMU have no more to do
 * @dev: the node's device
 *
 * The devices that stand for the domains count as working until here, and hold the node's clocks.
 * Left to itself the kernel stops these only when interrupts are off already; then a firmware that
 * is spoken to through a mailbox can't answer.
 *
 * Context: the late phase of suspend.
 * Return: 0 or a negative errno, after which nothing has changed.
 */
int rknpu_genpd_sleep(struct device *dev)
{
	struct rknpu_genpd *pd;
	int i, ret = 0;

	guard(mutex)(&rknpu_genpd_lock);
	pd = find(dev);
	for (i = 0; pd && i < pd->num; i++) {
		ret = pm_runtime_force_suspend(pd->domains[i]);
		if (ret)
			break;
	}
	while (ret && i--)
		pm_runtime_force_resume(pd->domains[i]);
	return ret;
}

/**
 * rknpu_genpd_wake() - undo rknpu_genpd_sleep()
 * @dev: the node's device
 *
 * Context: the early phase of resume.
 * Return: 0 or a negative errno.
 */
int rknpu_genpd_wake(struct device *dev)
{
	struct rknpu_genpd *pd;
	int i, ret = 0;

	guard(mutex)(&rknpu_genpd_lock);
	pd = find(dev);
	for (i = 0; pd && i < pd->num; i++)
		ret = pm_runtime_force_resume(pd->domains[i]) ?: ret;
	return ret;
}

/* What fails now is tried again, and told of, when the driver is bound. */
static int attach_if_node(struct device *dev, void *data)
{
	if (of_match_node(rknpu_genpd_nodes, dev->of_node) && !dev->driver)
		rknpu_genpd_attach(dev);
	return 0;
}

static int device_changes(struct notifier_block *nb, unsigned long what, void *data)
{
	struct rknpu_genpd *pd;

	if (what == BUS_NOTIFY_ADD_DEVICE) {
		/* It may as well be an IOMMU that a node waits for. */
		bus_for_each_dev(&platform_bus_type, NULL, NULL, attach_if_node);
	} else if (what == BUS_NOTIFY_REMOVED_DEVICE) {
		guard(mutex)(&rknpu_genpd_lock);
		pd = find(data);
		if (pd) {
			list_del(&pd->entry);
			detach(pd);
		}
	}
	return NOTIFY_DONE;
}

static struct notifier_block rknpu_genpd_notifier = { .notifier_call = device_changes };

/**
 * rknpu_genpd_init() - attach the power domains of all nodes that are there or come
 * @nodes: what nodes to look for, as long as the module is there
 *
 * Return: 0 or a negative errno.
 */
int rknpu_genpd_init(const struct of_device_id *nodes)
{
	int ret;

	rknpu_genpd_nodes = nodes;
	ret = bus_register_notifier(&platform_bus_type, &rknpu_genpd_notifier);
	if (!ret)
		bus_for_each_dev(&platform_bus_type, NULL, NULL, attach_if_node);
	return ret;
}

/**
 * rknpu_genpd_exit() - let go of all of them, with no driver bound to the nodes
 */
void rknpu_genpd_exit(void)
{
	struct rknpu_genpd *pd, *next;

	bus_unregister_notifier(&platform_bus_type, &rknpu_genpd_notifier);
	guard(mutex)(&rknpu_genpd_lock);
	list_for_each_entry_safe(pd, next, &rknpu_genpds, entry) {
		list_del(&pd->entry);
		detach(pd);
	}
}
