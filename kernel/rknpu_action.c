// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: Actions
 *
 * One ioctl for many small values. Programs tolerate failures of some of them and rely on the
 * success of others, so each answers as programs know it, but touches nobody except the caller: a
 * reset is a promise that the next job finds a clean core, which the recovery keeps anyway.
 */
#include <linux/capability.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include <drm/drm_drv.h>
#include <drm/rknpu_drm.h>

#include "rknpu_action.h"
#include "rknpu_device.h"
#include "rknpu_drv.h"
#include "rknpu_mmu.h"
#include "rknpu_power.h"
#include "rknpu_traffic.h"

/* What the node has, its clock and its supply, goes with it. */
static int get_rate_or_voltage(struct rknpu_device *rknpu, u32 action, u32 *value)
{
	int index, ret = 0;

	if (!drm_dev_enter(&rknpu->drm, &index))
		return -ENODEV;
	if (action == RKNPU_GET_FREQ)
		*value = rknpu_power_rate(rknpu);
	else
		ret = rknpu_power_voltage(rknpu, value);
	drm_dev_exit(index);
	return ret;
}

/* What the caller could do by setpriority(2); else nothing happens, and programs don't mind. */
static void set_nice(s32 nice)
{
	if (nice < MIN_NICE || nice > MAX_NICE)
		return;
	if (nice >= task_nice(current) || nice_to_rlimit(nice) <= rlimit(RLIMIT_NICE) ||
	    capable(CAP_SYS_NICE))
		set_user_nice(current, nice);
}

static int choose_domain(struct rknpu_space *space, u32 id)
{
	if (!rknpu_domain_id_valid(space->rknpu, id))
		return -EINVAL;

	guard(mutex)(&space->lock);
	space->current_id = id;
	return 0;
}

static u32 chosen_domain(struct rknpu_space *space)
{
	guard(mutex)(&space->lock);
	return space->current_id;
}

/**
 * rknpu_action() - ACTION
 * @file: the caller
 * @args: see &struct rknpu_action
 *
 * Return: 0; -EINVAL for what is unknown or not there; -ENODEV for a reset when no core is left.
 */
int rknpu_action(struct rknpu_file *file, struct rknpu_action *args)
{
	struct rknpu_device *rknpu = file->rknpu;

	switch (args->flags) {
	case RKNPU_GET_HW_VERSION:
		args->value = rknpu->hw_version;
		return 0;
	case RKNPU_GET_DRV_VERSION:
		args->value = RKNPU_DRIVER_MAJOR * 10000 + RKNPU_DRIVER_MINOR * 100 +
			      RKNPU_DRIVER_PATCHLEVEL;
		return 0;
	case RKNPU_GET_FREQ:
	case RKNPU_GET_VOLT:
		return get_rate_or_voltage(rknpu, args->flags, &args->value);
	case RKNPU_ACT_RESET:
		/* The recovery keeps the cores clean; only a new bind helps when it gave up. */
		return READ_ONCE(rknpu->wedged) ? -ENODEV : 0;
	case RKNPU_GET_BW_PRIORITY:
	case RKNPU_SET_BW_PRIORITY:
	case RKNPU_GET_BW_EXPECT:
	case RKNPU_SET_BW_EXPECT:
	case RKNPU_GET_BW_TW:
	case RKNPU_SET_BW_TW:
	case RKNPU_ACT_CLR_TOTAL_RW_AMOUNT:
	case RKNPU_GET_DT_WR_AMOUNT:
	case RKNPU_GET_DT_RD_AMOUNT:
	case RKNPU_GET_WT_RD_AMOUNT:
	case RKNPU_GET_TOTAL_RW_AMOUNT:
		return rknpu_traffic_action(rknpu, args->flags, &args->value);
	case RKNPU_GET_IOMMU_EN:
		args->value = rknpu->iommu;
		return 0;
	case RKNPU_SET_PROC_NICE:
		set_nice((s32)args->value);
		return 0;
	case RKNPU_GET_TOTAL_SRAM_SIZE:
		args->value = rknpu->sram.size;
		return 0;
	case RKNPU_GET_FREE_SRAM_SIZE:
		args->value = rknpu_pool_available(&rknpu->sram);
		return 0;
	case RKNPU_GET_IOMMU_DOMAIN_ID:
		args->value = chosen_domain(file->space);
		return 0;
	case RKNPU_SET_IOMMU_DOMAIN_ID:
		return choose_domain(file->space, args->value);
	default:
		return -EINVAL;
	}
}
