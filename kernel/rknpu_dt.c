// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: Device tree
 *
 * There are two forms. The BSP form has one node with all cores and one IOMMU for all of them. The
 * mainline form has one node and one IOMMU per core; here the component framework gathers the nodes
 * under the one with the lowest address, which is core 0, and which powers the others through
 * device links.
 *
 * Either way a node is described by &struct rknpu_node, and the rest of the driver does not know
 * the form.
 */
#include <linux/clk.h>
#include <linux/component.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/module.h>
#include <linux/nvmem-consumer.h>
#include <linux/of.h>
#include <linux/of_address.h>
#include <linux/of_platform.h>
#include <linux/platform_device.h>
#include <linux/pm_runtime.h>
#include <linux/regulator/consumer.h>
#include <linux/reset.h>
#include <linux/sort.h>

#include "rknpu_compat.h"
#include "rknpu_devfreq.h"
#include "rknpu_device.h"
#include "rknpu_drv.h"
#include "rknpu_fault.h"
#include "rknpu_genpd.h"
#include "rknpu_power.h"
#include "rknpu_regs.h"
#include "rknpu_reset.h"
#include "rknpu_soc.h"
#include "rknpu_traffic.h"
#include "rknpu_suspend.h"

/* Time without a job after which the NPU is powered off, as programs know it */
#define RKNPU_AUTOSUSPEND_MS 3000

/* BSP form: offsets of the blocks in a core's window */
#define RKNPU_WINDOW_CNA 0x1000
#define RKNPU_WINDOW_CORE 0x3000

/**
 * struct rknpu_match - what a compatible stands for
 */
struct rknpu_match {
	/** @soc: per-SoC facts */
	const struct rknpu_soc *soc;
	/** @per_core: mainline form, the node is one core */
	bool per_core;
};

static const struct rknpu_match rknpu_match_rk3562 = { .soc = &rknpu_soc_rk3562 };
static const struct rknpu_match rknpu_match_rk3568 = { .soc = &rknpu_soc_rk3568 };
static const struct rknpu_match rknpu_match_rk3576 = { .soc = &rknpu_soc_rk3576 };
static const struct rknpu_match rknpu_match_rv1106 = { .soc = &rknpu_soc_rv1106 };
static const struct rknpu_match rknpu_match_rv1126b = { .soc = &rknpu_soc_rv1126b };
static const struct rknpu_match rknpu_match_rk3588 = { .soc = &rknpu_soc_rk3588 };
static const struct rknpu_match rknpu_match_rk3588_core = {
	.soc = &rknpu_soc_rk3588,
	.per_core = true,
};

/* The module has been loaded and stays so: who comes and goes now does it one by one. */
static bool rknpu_dt_settled;

static const struct of_device_id rknpu_dt_ids[] = {
	{ .compatible = "rockchip,rk3562-rknpu", .data = &rknpu_match_rk3562 },
	{ .compatible = "rockchip,rk3568-rknpu", .data = &rknpu_match_rk3568 },
	{ .compatible = "rockchip,rk3576-rknpu", .data = &rknpu_match_rk3576 },
	{ .compatible = "rockchip,rk3588-rknpu", .data = &rknpu_match_rk3588 },
	{ .compatible = "rockchip,rv1106-rknpu", .data = &rknpu_match_rv1106 },
	{ .compatible = "rockchip,rv1126b-rknpu", .data = &rknpu_match_rv1126b },
	/* The generic one of vendor trees, beside or instead of that of RK3568 */
	{ .compatible = "rockchip,rknpu", .data = &rknpu_match_rk3568 },
	{ .compatible = "rockchip,rk3588-rknn-core", .data = &rknpu_match_rk3588_core },
	{}
};
MODULE_DEVICE_TABLE(of, rknpu_dt_ids);

/* The windows of the IOMMU lie inside the NPU's, so the regions can't be claimed. */
static void __iomem *map_window(struct platform_device *pdev, struct resource *res)
{
	if (!res)
		return IOMEM_ERR_PTR(-EINVAL);
	return devm_ioremap(&pdev->dev, res->start, resource_size(res)) ?: IOMEM_ERR_PTR(-ENOMEM);
}

static int get_reset(struct device *dev, struct reset_control **reset, const char *format,
		     unsigned int index)
{
	char name[16];

	snprintf(name, sizeof(name), format, index);
	*reset = devm_reset_control_get_optional_exclusive(dev, name);
	return PTR_ERR_OR_ZERO(*reset);
}

static int get_resets(struct device *dev, struct rknpu_core_io *io, const char *axi,
		      const char *ahb, unsigned int index)
{
	int ret;

	ret = get_reset(dev, &io->resets[0], axi, index);
	if (!ret)
		ret = get_reset(dev, &io->resets[1], ahb, index);
	if (ret)
		return dev_err_probe(dev, ret, "can't get resets\n");
	if (!io->resets[0])
		dev_info(dev, "no resets: a core that hangs can't be recovered\n");
	return 0;
}

static int get_common_resets(struct rknpu_node *node)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(node->common_resets) && node->soc->common_resets[i]; i++) {
		const char *name = node->soc->common_resets[i];
		struct reset_control *reset =
			devm_reset_control_get_optional_exclusive(node->dev, name);

		if (IS_ERR(reset))
			return dev_err_probe(node->dev, PTR_ERR(reset), "can't get reset %s\n",
					     name);
		node->common_resets[i] = reset;
	}
	return 0;
}

/*
 * A die with fuses is told from the whole one by an nvmem cell: a mask of the cores that don't
 * work. The last core is cut off whatever it says.
 */
static int find_fused(struct rknpu_node *node)
{
	const struct rknpu_soc *fused = node->soc->fused;
	u32 bad;
	int ret;

	if (!fused || of_property_match_string(node->dev->of_node, "nvmem-cell-names", "cores") < 0)
		return 0;
	ret = nvmem_cell_read_variable_le_u32(node->dev, "cores", &bad);
	if (ret)
		return dev_err_probe(node->dev, ret, "can't read which cores there are\n");
	if (bad & GENMASK(fused->num_cores - 1, 0))
		return dev_err_probe(node->dev, -ENODEV, "cores %#x don't work\n", bad);
	node->soc = fused;
	return 0;
}

/* The mainline form names the core clock, in the BSP form it is the first one. */
static int get_clocks(struct rknpu_node *node)
{
	int i;

	node->num_clks = devm_clk_bulk_get_all(node->dev, &node->clks);
	if (node->num_clks < 0)
		return dev_err_probe(node->dev, node->num_clks, "can't get clocks\n");
	if (node->num_clks)
		node->core_clk = node->clks[0].clk;
	for (i = 0; i < node->num_clks; i++)
		if (node->clks[i].id && !strcmp(node->clks[i].id, "npu"))
			node->core_clk = node->clks[i].clk;
	return 0;
}

static int get_supplies(struct rknpu_node *node, const char *const *names)
{
	unsigned int i;

	node->supply_names = names;
	for (i = 0; i < ARRAY_SIZE(node->supplies); i++) {
		struct regulator *supply = devm_regulator_get_optional(node->dev, names[i]);

		if (PTR_ERR(supply) == -ENODEV) {
			dev_info(node->dev, "no %s-supply: voltage unknown, always on\n", names[i]);
			continue;
		}
		if (IS_ERR(supply))
			return dev_err_probe(node->dev, PTR_ERR(supply), "can't get %s-supply\n",
					     names[i]);
		node->supplies[i] = supply;
	}
	return 0;
}

/* Banks of the node's IOMMU with registers in a range: those of one core */
static int get_mmu_banks(struct device *dev, struct rknpu_core_io *io, struct resource *range)
{
	struct device_node *np = of_parse_phandle(dev->of_node, "iommus", 0);
	struct resource res;
	unsigned int i;
	int ret = 0;

	for (i = 0; np && !ret && !of_address_to_resource(np, i, &res); i++) {
		if (range && !resource_contains(range, &res))
			continue;
		if (io->num_mmu == RKNPU_MAX_MMU_BANKS) {
			ret = dev_err_probe(dev, -EINVAL, "too many IOMMU banks\n");
			break;
		}
		io->mmu[io->num_mmu] = devm_ioremap(dev, res.start, resource_size(&res));
		if (io->mmu[io->num_mmu++])
			continue;
		ret = -ENOMEM;
	}
	of_node_put(np);
	return ret;
}

static struct rknpu_node *node_create(struct platform_device *pdev,
				      const struct rknpu_match *match)
{
	static const char *const supplies[][2] = { { "rknpu", "mem" }, { "npu", "sram" } };
	struct rknpu_node *node = devm_kzalloc(&pdev->dev, sizeof(*node), GFP_KERNEL);
	int ret;

	if (!node)
		return ERR_PTR(-ENOMEM);
	node->dev = &pdev->dev;
	node->soc = match->soc;
	ret = find_fused(node);
	if (ret)
		return ERR_PTR(ret);
	ret = get_common_resets(node);
	if (ret)
		return ERR_PTR(ret);
	ret = rknpu_genpd_attach(&pdev->dev);
	if (ret)
		return ERR_PTR(ret);
	ret = get_clocks(node);
	if (ret)
		return ERR_PTR(ret);
	ret = get_supplies(node, supplies[match->per_core]);
	if (ret)
		return ERR_PTR(ret);
	platform_set_drvdata(pdev, node);
	return node;
}

static int bsp_core_io(struct platform_device *pdev, struct rknpu_node *node, unsigned int index)
{
	struct rknpu_core_io *io = &node->io[index];
	bool single = node->num_cores == 1;
	struct resource *window;
	char name[16];
	int ret;

	window = platform_get_resource(pdev, IORESOURCE_MEM, index);
	io->pc = map_window(pdev, window);
	if (IS_ERR(io->pc))
		return dev_err_probe(&pdev->dev, PTR_ERR(io->pc), "no registers of core %u\n",
				     index);
	if (resource_size(window) < RKNPU_WINDOW_BLOCKS)
		return dev_err_probe(&pdev->dev, -EINVAL, "too few registers of core %u\n", index);
	io->blocks = io->pc;
	io->cna = io->pc + RKNPU_WINDOW_CNA;
	io->core = io->pc + RKNPU_WINDOW_CORE;
	ret = get_mmu_banks(&pdev->dev, io, window);
	if (ret)
		return ret;

	snprintf(name, sizeof(name), single ? "npu_irq" : "npu%u_irq", index);
	io->irq = platform_get_irq_byname_optional(pdev, name);
	if (io->irq == -ENXIO)
		io->irq = platform_get_irq(pdev, index);
	if (io->irq < 0)
		return io->irq;

	return get_resets(&pdev->dev, io, single ? "srst_a" : "srst_a%u",
			  single ? "srst_h" : "srst_h%u", index);
}

static int core_io(struct platform_device *pdev, struct rknpu_node *node)
{
	struct rknpu_core_io *io = &node->io[0];
	struct resource *pc;
	int ret;

	pc = platform_get_resource_byname(pdev, IORESOURCE_MEM, "pc");
	io->pc = map_window(pdev, pc);
	io->cna = map_window(pdev, platform_get_resource_byname(pdev, IORESOURCE_MEM, "cna"));
	io->core = map_window(pdev, platform_get_resource_byname(pdev, IORESOURCE_MEM, "core"));
	if (IS_ERR(io->pc) || IS_ERR(io->cna) || IS_ERR(io->core))
		return dev_err_probe(&pdev->dev, -EINVAL, "no registers pc, cna, core\n");
	node->start = pc->start;
	/* What the node does not list is there all the same. */
	io->blocks = devm_ioremap(&pdev->dev, pc->start, RKNPU_WINDOW_BLOCKS);
	if (!io->blocks)
		return -ENOMEM;
	ret = get_mmu_banks(&pdev->dev, io, NULL);
	if (ret)
		return ret;

	io->irq = platform_get_irq(pdev, 0);
	if (io->irq < 0)
		return io->irq;

	return get_resets(&pdev->dev, io, "srst_a", "srst_h", 0);
}

/* Switches off the first @num supplies. */
static void disable_supplies(struct rknpu_node *node, unsigned int num)
{
	while (num--)
		if (node->supplies[num])
			regulator_disable(node->supplies[num]);
}

static int enable_supplies(struct rknpu_node *node)
{
	unsigned int i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(node->supplies); i++) {
		ret = node->supplies[i] ? regulator_enable(node->supplies[i]) : 0;
		if (ret) {
			disable_supplies(node, i);
			return ret;
		}
	}
	return 0;
}

static int rknpu_node_resume(struct device *dev)
{
	struct rknpu_node *node = dev_get_drvdata(dev);
	int ret;

	ret = enable_supplies(node);
	if (ret)
		return ret;
	ret = rknpu_fault_power_on() ? -EIO : clk_bulk_prepare_enable(node->num_clks, node->clks);
	if (ret) {
		disable_supplies(node, ARRAY_SIZE(node->supplies));
		return ret;
	}
	rknpu_reset_write_init(node);
	rknpu_traffic_restart_all(node);
	WRITE_ONCE(node->powered, true);
	rknpu_devfreq_power_on(node->devfreq);
	return 0;
}

static int rknpu_node_suspend(struct device *dev)
{
	struct rknpu_node *node = dev_get_drvdata(dev);
	unsigned int i;

	/* The lines are shared: no handler may touch a register behind a stopped clock. */
	WRITE_ONCE(node->powered, false);
	for (i = 0; i < node->num_cores; i++)
		synchronize_irq(node->io[i].irq);
	rknpu_devfreq_power_off(node->devfreq);
	clk_bulk_disable_unprepare(node->num_clks, node->clks);
	disable_supplies(node, ARRAY_SIZE(node->supplies));
	return 0;
}

/*
 * Since some kernel between 6.12 and 7.2, a device that will be needed again counts as working all
 * the time, and so do its IOMMU and its power domains. Their clocks would then be started when
 * interrupts are still off, and a firmware that is spoken to through a mailbox can't answer. So it
 * counts as suspended, as before.
 */
static int force_suspend(struct rknpu_node *node)
{
	int ret = pm_runtime_force_suspend(node->dev);

	if (!ret && !pm_runtime_status_suspended(node->dev))
		node->sleeps = !pm_runtime_set_suspended(node->dev);
	return ret;
}

static int force_resume(struct rknpu_node *node)
{
	int ret = node->sleeps ? pm_runtime_set_active(node->dev) : 0;

	node->sleeps = false;
	if (ret)
		pm_runtime_enable(node->dev);
	return ret ?: pm_runtime_force_resume(node->dev);
}

/* The node that stands for the device sleeps before all others and wakes behind them. */
static int rknpu_node_sleep(struct device *dev)
{
	struct rknpu_node *node = dev_get_drvdata(dev);
	int ret;

	if (node->rknpu)
		rknpu_suspend(node->rknpu);
	ret = force_suspend(node);
	if (ret && node->rknpu)
		rknpu_resume(node->rknpu, 0);
	return ret;
}

static int rknpu_node_wake(struct device *dev)
{
	struct rknpu_node *node = dev_get_drvdata(dev);
	int ret = force_resume(node);

	if (node->rknpu)
		rknpu_resume(node->rknpu, ret);
	return ret;
}

static const struct dev_pm_ops rknpu_node_pm_ops = {
	SYSTEM_SLEEP_PM_OPS(rknpu_node_sleep, rknpu_node_wake)
	LATE_SYSTEM_SLEEP_PM_OPS(rknpu_genpd_sleep, rknpu_genpd_wake)
	RUNTIME_PM_OPS(rknpu_node_suspend, rknpu_node_resume, NULL)
};

static int enable_autosuspend(struct device *dev)
{
	pm_runtime_set_autosuspend_delay(dev, RKNPU_AUTOSUSPEND_MS);
	pm_runtime_use_autosuspend(dev);
	return devm_pm_runtime_enable(dev);
}

/* BSP form: one node is the whole NPU. */

static int bsp_probe(struct platform_device *pdev, struct rknpu_node *node)
{
	struct rknpu_device *rknpu;
	unsigned int i;
	int ret;

	node->num_cores = node->soc->num_cores;
	for (i = 0; i < node->num_cores; i++) {
		ret = bsp_core_io(pdev, node, i);
		if (ret)
			return ret;
	}
	ret = enable_autosuspend(&pdev->dev);
	if (ret)
		return ret;

	rknpu = rknpu_device_register(&pdev->dev, &node, 1);
	if (IS_ERR(rknpu))
		return dev_err_probe(&pdev->dev, PTR_ERR(rknpu), "can't bring up the NPU\n");
	node->rknpu = rknpu;
	return 0;
}

/* Mainline form: core 0 gathers the others. */

static int core_bind(struct device *dev, struct device *first, void *data)
{
	struct rknpu_node **slot = data;

	while (*slot)
		slot++;
	*slot = dev_get_drvdata(dev);

	rknpu_power_forget_failure(dev);
	/* Core 0 is powered at this moment, so this one must be as well. */
	return device_link_add(first, dev,
			       DL_FLAG_STATELESS | DL_FLAG_PM_RUNTIME | DL_FLAG_RPM_ACTIVE) ?
	       0 : -ENOMEM;
}

static void core_unbind(struct device *dev, struct device *first, void *data)
{
	device_link_remove(first, dev);
}

static const struct component_ops core_component_ops = {
	.bind = core_bind,
	.unbind = core_unbind,
};

/* Core numbers follow the addresses, whatever the order of the nodes is. */
static int by_address(const void *a, const void *b)
{
	const struct rknpu_node *const *first = a, *const *second = b;

	return (*first)->start < (*second)->start ? -1 : (*first)->start > (*second)->start;
}

static int gather_bind(struct device *dev)
{
	/* One more than there can be: the components look for the first free slot. */
	struct rknpu_node *nodes[RKNPU_DISPATCH_MAX_CORES + 1] = { dev_get_drvdata(dev) };
	struct rknpu_device *rknpu;
	unsigned int num = 0;
	int ret;

	rknpu_power_forget_failure(dev);
	ret = pm_runtime_resume_and_get(dev);
	if (ret)
		return ret;
	ret = component_bind_all(dev, nodes);
	pm_runtime_mark_last_busy(dev);
	pm_runtime_put_autosuspend(dev);
	if (ret)
		return ret;
	while (nodes[num])
		num++;
	sort(nodes, num, sizeof(*nodes), by_address, NULL);

	rknpu = rknpu_device_register(dev, nodes, num);
	if (IS_ERR(rknpu)) {
		component_unbind_all(dev, NULL);
		return dev_err_probe(dev, PTR_ERR(rknpu), "can't bring up the NPU\n");
	}
	nodes[0]->rknpu = rknpu;
	return 0;
}

static void gather_unbind(struct device *dev)
{
	struct rknpu_node *node = dev_get_drvdata(dev);

	rknpu_device_unregister(node->rknpu);
	node->rknpu = NULL;
	component_unbind_all(dev, NULL);
}

static const struct component_master_ops gather_ops = {
	.bind = gather_bind,
	.unbind = gather_unbind,
};

/* The next node after @np that is a core in use, with a reference; drops the one of @np. */
static struct device_node *next_core(struct device_node *np)
{
	while ((np = of_find_matching_node(np, rknpu_dt_ids))) {
		const struct rknpu_match *match = of_match_node(rknpu_dt_ids, np)->data;

		if (match->per_core && of_device_is_available(np))
			return np;
	}
	return NULL;
}

static u64 address_of(struct device_node *np)
{
	struct resource res;

	return of_address_to_resource(np, 0, &res) ? U64_MAX : res.start;
}

/* The core with the lowest address is core 0. */
static bool is_first_core(struct device *dev)
{
	u64 address = address_of(dev->of_node);
	struct device_node *np = NULL;

	while ((np = next_core(np))) {
		if (address_of(np) < address) {
			of_node_put(np);
			return false;
		}
	}
	return true;
}

static int gather_others(struct device *dev)
{
	struct component_match *match = NULL;
	struct device_node *np = NULL;
	unsigned int num = 1;

	while ((np = next_core(np))) {
		if (np == dev->of_node)
			continue;
		if (++num > RKNPU_DISPATCH_MAX_CORES) {
			of_node_put(np);
			return dev_err_probe(dev, -EINVAL, "more than %u cores\n",
					     RKNPU_DISPATCH_MAX_CORES);
		}
		component_match_add_release(dev, &match, component_release_of,
					    component_compare_of, of_node_get(np));
	}
	return component_master_add_with_match(dev, &gather_ops, match);
}

/* Names the cores that another driver has: without them there is no NPU. */
static void report_foreign_cores(const struct device_driver *ours)
{
	struct device_node *np = NULL;

	while ((np = next_core(np))) {
		struct platform_device *pdev = of_find_device_by_node(np);
		struct device *dev = pdev ? &pdev->dev : NULL;

		/* One that is being bound or unbound at the moment reports for itself. */
		if (dev && device_trylock(dev)) {
			if (dev->driver && dev->driver != ours)
				pr_notice("RKNPU: driver %s has %s: no NPU until all cores are bound to RKNPU\n",
					  dev->driver->name, dev_name(dev));
			device_unlock(dev);
		}
		put_device(dev);
	}
}

static int core_probe(struct platform_device *pdev, struct rknpu_node *node)
{
	int ret;

	node->num_cores = 1;
	ret = core_io(pdev, node);
	if (ret)
		return ret;
	ret = enable_autosuspend(&pdev->dev);
	if (ret)
		return ret;
	node->gathers = is_first_core(&pdev->dev);
	ret = node->gathers ? gather_others(&pdev->dev) :
			      component_add(&pdev->dev, &core_component_ops);
	if (!ret && rknpu_dt_settled)
		report_foreign_cores(pdev->dev.driver);
	return ret;
}

static int rknpu_probe(struct platform_device *pdev)
{
	const struct rknpu_match *match = of_device_get_match_data(&pdev->dev);
	struct rknpu_node *node = node_create(pdev, match);

	if (IS_ERR(node))
		return PTR_ERR(node);
	return match->per_core ? core_probe(pdev, node) : bsp_probe(pdev, node);
}

static void rknpu_remove(struct platform_device *pdev)
{
	const struct rknpu_match *match = of_device_get_match_data(&pdev->dev);
	struct rknpu_node *node = platform_get_drvdata(pdev);

	if (match->per_core && rknpu_dt_settled)
		dev_notice(&pdev->dev, "unbound: no NPU until this core is bound again\n");
	if (!match->per_core)
		rknpu_device_unregister(node->rknpu);
	else if (node->gathers)
		component_master_del(&pdev->dev, &gather_ops);
	else
		component_del(&pdev->dev, &core_component_ops);
}

static struct platform_driver rknpu_driver = {
	.probe = rknpu_probe,
	RKNPU_PLATFORM_REMOVE(rknpu_remove)
	.driver = {
		.name = "RKNPU",
		.of_match_table = rknpu_dt_ids,
		.pm = pm_ptr(&rknpu_node_pm_ops),
	},
};

/**
 * rknpu_dt_register_driver() - start to look for NPUs
 *
 * Return: 0 or a negative errno.
 */
int rknpu_dt_register_driver(void)
{
	int ret = rknpu_genpd_init(rknpu_dt_ids);

	if (ret)
		return ret;
	ret = platform_driver_register(&rknpu_driver);
	if (ret) {
		rknpu_genpd_exit();
		return ret;
	}
	report_foreign_cores(&rknpu_driver.driver);
	rknpu_dt_settled = true;
	return 0;
}

/**
 * rknpu_dt_unregister_driver() - let go of all NPUs
 */
void rknpu_dt_unregister_driver(void)
{
	rknpu_dt_settled = false;
	platform_driver_unregister(&rknpu_driver);
	rknpu_genpd_exit();
}
