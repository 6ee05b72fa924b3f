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
#include <linux/string.h>

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

/* The offsets of a core's counters, at most RKNPU_MAX_COUNTERS; how many there are */
static unsigned int counters_of(const struct rknpu_soc *soc, u32 *offset)
{
	unsigned int i, n = 0;

	for (i = 0; i < ARRAY_SIZE(soc->counters) && soc->counters[i]; i++) {
		offset[n++] = soc->counters[i] + RKNPU_COUNTERS_DATA_WRITTEN;
		offset[n++] = soc->counters[i] + RKNPU_COUNTERS_DATA_READ;
		offset[n++] = soc->counters[i] + RKNPU_COUNTERS_WEIGHTS_READ;
	}
	return n;
}

/**
 * rknpu_traffic_restart() - the counters are at 0: after a reset, and when power comes on
 * @io: the core
 */
void rknpu_traffic_restart(struct rknpu_core_io *io)
{
	memset(io->cleared_at, 0, sizeof(io->cleared_at));
}

/**
 * rknpu_traffic_restart_all() - the same for all cores of a node
 * @node: the node
 */
void rknpu_traffic_restart_all(struct rknpu_node *node)
{
	unsigned int i;

	for (i = 0; i < node->num_cores; i++)
		rknpu_traffic_restart(&node->io[i]);
}

/*
 * Clears the counters of a core. Some take that in slave mode only. A core at work can't be put
 * into it: the end of each list of a chain says in the same register where the next one is.
 */
static void clear_core(struct rknpu_core *core)
{
	const struct rknpu_soc *soc = core->rknpu->soc;
	u32 offset[RKNPU_MAX_COUNTERS];
	unsigned int i, n = counters_of(soc, offset);

	guard(rknpu_jobs)(core->rknpu);

	if (soc->counters_slave && rknpu_dispatch_busy(&core->rknpu->dispatch, core->index)) {
		for (i = 0; i < n; i++)
			core->io->cleared_at[i] = readl_relaxed(core->io->pc + offset[i]);
		return;
	}
	if (soc->counters_slave)
		writel_relaxed(RKNPU_PC_DATA_ADDR_SLAVE, core->io->pc + RKNPU_PC_DATA_ADDR);
	for (i = 0; i < ARRAY_SIZE(soc->counters) && soc->counters[i]; i++) {
		void __iomem *clear = core->io->pc + soc->counters[i];

		writel_relaxed(RKNPU_COUNTERS_HOLD | RKNPU_COUNTERS_ENABLE, clear);
		writel_relaxed(RKNPU_COUNTERS_ENABLE, clear);
	}
	rknpu_traffic_restart(core->io);
}

static bool is_asked_for(unsigned int counter, u32 action)
{
	static const u32 actions[] = {
		RKNPU_GET_DT_WR_AMOUNT, RKNPU_GET_DT_RD_AMOUNT, RKNPU_GET_WT_RD_AMOUNT,
	};

	return action == RKNPU_GET_TOTAL_RW_AMOUNT ||
	       action == actions[counter % ARRAY_SIZE(actions)];
}

static u32 read_core(const struct rknpu_core *core, u32 action)
{
	const struct rknpu_soc *soc = core->rknpu->soc;
	u32 offset[RKNPU_MAX_COUNTERS], sum = 0;
	unsigned int i, n = counters_of(soc, offset);

	for (i = 0; i < n; i++)
		if (is_asked_for(i, action))
			sum += readl_relaxed(core->io->pc + offset[i]) - core->io->cleared_at[i];
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
