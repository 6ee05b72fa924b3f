// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: Power domains
 *
 * A node with a single power domain is attached to it by the bus. One with several, as the vendor's
 * form has them on chips with several cores, is a matter of the driver: each domain gets a device
 * of its own, which is on while the node's device is. So it is for the IOMMU, which lies in the
 * same domains, is resumed before the node, and is told of none by vendor trees.
 */
#include <linux/device.h>
#include <linux/of.h>
#include <linux/of_platform.h>
#include <linux/platform_device.h>
#include <linux/pm_domain.h>

#include "rknpu_genpd.h"

static void detach_domain(void *domain)
{
	dev_pm_domain_detach(domain, false);
}

static void delete_link(void *link)
{
	device_link_del(link);
}

static void put_device_of(void *dev)
{
	put_device(dev);
}

/* As long as @dev is bound, @consumer needs @supplier. */
static int link_to(struct device *dev, struct device *consumer, struct device *supplier)
{
	struct device_link *link = device_link_add(consumer, supplier,
						   DL_FLAG_STATELESS | DL_FLAG_PM_RUNTIME);

	return link ? devm_add_action_or_reset(dev, delete_link, link) : -ENOMEM;
}

/* The IOMMU's device, which lives for at least as long as that of the node; NULL: there is none */
static int find_iommu(struct device *dev, struct device **iommu)
{
	struct device_node *np = of_parse_phandle(dev->of_node, "iommus", 0);
	struct platform_device *pdev = np ? of_find_device_by_node(np) : NULL;

	of_node_put(np);
	*iommu = pdev ? &pdev->dev : NULL;
	return pdev ? devm_add_action_or_reset(dev, put_device_of, &pdev->dev) : 0;
}

/**
 * rknpu_genpd_attach() - let the power domains of a node follow its device
 * @dev: the node's device, not active yet
 *
 * Undone when the driver is unbound.
 *
 * Return: 0, also with no domain or one, or a negative errno.
 */
int rknpu_genpd_attach(struct device *dev)
{
	int num = of_count_phandle_with_args(dev->of_node, "power-domains",
					     "#power-domain-cells");
	struct device *iommu;
	int ret, i;

	if (num < 2)
		return 0;
	ret = find_iommu(dev, &iommu);
	if (ret)
		return ret;

	for (i = 0; i < num; i++) {
		struct device *domain = dev_pm_domain_attach_by_id(dev, i);

		if (IS_ERR_OR_NULL(domain))
			return dev_err_probe(dev, domain ? PTR_ERR(domain) : -ENODEV,
					     "can't attach power domain %d\n", i);
		ret = devm_add_action_or_reset(dev, detach_domain, domain);
		if (!ret)
			ret = link_to(dev, dev, domain);
		if (!ret && iommu)
			ret = link_to(dev, iommu, domain);
		if (ret)
			return ret;
	}
	return 0;
}
