// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: Traffic on the memory bus
 *
 * Some SoCs count what the NPU reads and writes, and some have registers that say how urgent its
 * transfers are. Both are at work beside the jobs. Counters start at 0 when power comes on and
 * after a reset.
 */
#include <linux/capability.h>
#include <linux/io.h>
#include <linux/mutex.h>

#include <drm/drm_drv.h>
#include <drm/drm_managed.h>
#include <drm/rknpu_drm.h>

#include "rknpu_compat.h"
#include "rknpu_device.h"
#include "rknpu_power.h"
#include "rknpu_regs.h"
#include "rknpu_sched.h"
#include "rknpu_soc.h"
#include "rknpu_traffic.h"

/* Clears the counters of a core. A chain of tasks may run: it has its lists already. */
static void clear_core(struct rknpu_core *core)
{
	const struct rknpu_soc *soc = core->rknpu->soc;
	u32 address = 0;
	unsigned int i;

	guard(rknpu_jobs)(core->rknpu);

	if (soc->counters_slave) {
		address = readl_relaxed(core->io->pc + RKNPU_PC_DATA_ADDR);
		writel_relaxed(RKNPU_PC_DATA_ADDR_SLAVE, core->io->pc + RKNPU_PC_DATA_ADDR);
	}
	for (i = 0; i < ARRAY_SIZE(soc->counters) && soc->counters[i]; i++) {
		void __iomem *clear = core->io->pc + soc->counters[i];

		writel_relaxed(RKNPU_COUNTERS_HOLD | RKNPU_COUNTERS_ENABLE, clear);
		writel_relaxed(RKNPU_COUNTERS_ENABLE, clear);
	}
	if (soc->counters_slave)
		writel_relaxed(address, core->io->pc + RKNPU_PC_DATA_ADDR);
}

static u32 read_core(const struct rknpu_core *core, u32 action)
{
	const struct rknpu_soc *soc = core->rknpu->soc;
	u32 sum = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(soc->counters) && soc->counters[i]; i++) {
		void __iomem *clear = core->io->pc + soc->counters[i];

		if (action == RKNPU_GET_DT_WR_AMOUNT || action == RKNPU_GET_TOTAL_RW_AMOUNT)
			sum += readl_relaxed(clear + RKNPU_COUNTERS_DATA_WRITTEN);
		if (action == RKNPU_GET_DT_RD_AMOUNT || action == RKNPU_GET_TOTAL_RW_AMOUNT)
			sum += readl_relaxed(clear + RKNPU_COUNTERS_DATA_READ);
		if (action == RKNPU_GET_WT_RD_AMOUNT || action == RKNPU_GET_TOTAL_RW_AMOUNT)
			sum += readl_relaxed(clear + RKNPU_COUNTERS_WEIGHTS_READ);
	}
	return sum * soc->amount_scale;
}

/**
 * rknpu_traffic_init() - make the registers accessible
 * @rknpu: the device
 *
 * Return: 0 or a negative errno.
 */
int rknpu_traffic_init(struct rknpu_device *rknpu)
{
	phys_addr_t base = rknpu->soc->bandwidth;
	int ret = drmm_mutex_init(&rknpu->drm, &rknpu->reset_lock);

	if (ret || !base)
		return ret;
	rknpu->bandwidth = devm_ioremap(rknpu->drm.dev, base, RKNPU_BANDWIDTH_SIZE);
	return rknpu->bandwidth ? 0 : -ENOMEM;
}

static void __iomem *bandwidth_reg(struct rknpu_device *rknpu, u32 action)
{
	switch (action) {
	case RKNPU_GET_BW_PRIORITY:
	case RKNPU_SET_BW_PRIORITY:
		return rknpu->bandwidth + RKNPU_BANDWIDTH_PRIORITY;
	case RKNPU_GET_BW_EXPECT:
	case RKNPU_SET_BW_EXPECT:
		return rknpu->bandwidth + RKNPU_BANDWIDTH_EXPECT;
	default:
		return rknpu->bandwidth + RKNPU_BANDWIDTH_TW;
	}
}

/* With power on. No core is in reset meanwhile. */
static void do_action(struct rknpu_device *rknpu, u32 action, u32 *value)
{
	unsigned int i;

	guard(mutex)(&rknpu->reset_lock);

	switch (action) {
	case RKNPU_GET_BW_PRIORITY:
	case RKNPU_GET_BW_EXPECT:
	case RKNPU_GET_BW_TW:
		*value = readl_relaxed(bandwidth_reg(rknpu, action));
		return;
	case RKNPU_SET_BW_PRIORITY:
	case RKNPU_SET_BW_EXPECT:
	case RKNPU_SET_BW_TW:
		writel_relaxed(*value, bandwidth_reg(rknpu, action));
		return;
	case RKNPU_ACT_CLR_TOTAL_RW_AMOUNT:
		for (i = 0; i < rknpu->num_cores; i++)
			clear_core(&rknpu->cores[i]);
		return;
	default:
		*value = 0;
		for (i = 0; i < rknpu->num_cores; i++)
			*value += read_core(&rknpu->cores[i], action);
		return;
	}
}

/**
 * rknpu_traffic_action() - the actions of counters and bandwidth registers
 * @rknpu: the device
 * @action: which one
 * @value: in or out. A counter is the sum over all cores. Left alone where there are no counters.
 *
 * Bandwidth registers concern everybody on the bus: to change them takes the right to raise
 * priorities. The value 0 leaves them as they are.
 *
 * Return: 0; -EINVAL for registers that the SoC has not; -EPERM; or another negative errno.
 */
int rknpu_traffic_action(struct rknpu_device *rknpu, u32 action, u32 *value)
{
	bool counters = action >= RKNPU_ACT_CLR_TOTAL_RW_AMOUNT;
	bool set = action == RKNPU_SET_BW_PRIORITY || action == RKNPU_SET_BW_EXPECT ||
		   action == RKNPU_SET_BW_TW;
	int ret, index;

	if (counters && !rknpu->soc->counters[0])
		return 0;
	if (!counters && !rknpu->bandwidth)
		return -EINVAL;
	if (set && !*value)
		return 0;
	if (set && !capable(CAP_SYS_NICE))
		return -EPERM;

	if (!drm_dev_enter(&rknpu->drm, &index))
		return -ENODEV;
	ret = rknpu_power_get(rknpu);
	if (!ret) {
		do_action(rknpu, action, value);
		rknpu_power_put(rknpu);
	}
	drm_dev_exit(index);
	return ret;
}
