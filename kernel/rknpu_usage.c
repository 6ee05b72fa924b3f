// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: Accounting
 *
 * Memory is charged to the process that made the buffer, for as long as the buffer lives: also
 * while others use it through a dma-buf, and after its maker is gone. The module parameter
 * "quota_mib" limits what one process may have.
 */
#include <linux/moduleparam.h>
#include <linux/pid.h>
#include <linux/seq_file.h>

#include "rknpu_compat.h"
#include "rknpu_device.h"
#include "rknpu_mmu.h"
#include "rknpu_usage.h"

static ulong rknpu_quota_mib;
module_param_named(quota_mib, rknpu_quota_mib, ulong, 0644);
MODULE_PARM_DESC(quota_mib, "Memory for buffers that one process may have, in MiB; 0: no limit");

/**
 * rknpu_usage_charge() - a process makes a buffer
 * @space: the process
 * @bytes: size of the buffer
 *
 * Return: 0, or -EDQUOT beyond the quota.
 */
int rknpu_usage_charge(struct rknpu_space *space, u64 bytes)
{
	u64 quota = (u64)READ_ONCE(rknpu_quota_mib) << 20;
	u64 now = atomic64_add_return(bytes, &space->usage.bytes);

	if (quota && now > quota) {
		atomic64_sub(bytes, &space->usage.bytes);
		return -EDQUOT;
	}
	atomic64_inc(&space->usage.objects);
	atomic64_add(bytes, &space->rknpu->usage.bytes);
	atomic64_inc(&space->rknpu->usage.objects);
	return 0;
}

/**
 * rknpu_usage_uncharge() - a buffer is gone
 * @space: the process that made it
 * @bytes: size of the buffer
 */
void rknpu_usage_uncharge(struct rknpu_space *space, u64 bytes)
{
	atomic64_sub(bytes, &space->usage.bytes);
	atomic64_dec(&space->usage.objects);
	atomic64_sub(bytes, &space->rknpu->usage.bytes);
	atomic64_dec(&space->rknpu->usage.objects);
}

/**
 * rknpu_usage_add_chip() - a process has more or less memory on the chip
 * @space: the process
 * @sram: how much more SRAM
 * @nbuf: how much more of the on-chip buffer
 */
void rknpu_usage_add_chip(struct rknpu_space *space, s64 sram, s64 nbuf)
{
	atomic64_add(sram, &space->usage.sram);
	atomic64_add(nbuf, &space->usage.nbuf);
	atomic64_add(sram, &space->rknpu->usage.sram);
	atomic64_add(nbuf, &space->rknpu->usage.nbuf);
}

/**
 * rknpu_usage_add_iova() - a process uses more or fewer NPU addresses
 * @space: the process
 * @bytes: how many more
 */
void rknpu_usage_add_iova(struct rknpu_space *space, s64 bytes)
{
	atomic64_add(bytes, &space->usage.iova);
	atomic64_add(bytes, &space->rknpu->usage.iova);
}

static void show_line(struct seq_file *m, const struct rknpu_usage *usage)
{
	seq_printf(m, "%12lld %8lld %10lld %12lld %8lld\n", (s64)atomic64_read(&usage->bytes),
		   (s64)atomic64_read(&usage->objects), (s64)atomic64_read(&usage->sram),
		   (s64)atomic64_read(&usage->iova), (s64)atomic64_read(&usage->nbuf));
}

/**
 * rknpu_usage_show() - print the text of the debugfs node "clients"
 * @rknpu: the device
 * @m: where to
 */
void rknpu_usage_show(struct rknpu_device *rknpu, struct seq_file *m)
{
	struct rknpu_space *space;

	seq_printf(m, "%7s %12s %8s %10s %12s %8s\n", "pid", "bytes", "objects", "sram", "iova",
		   "nbuf");

	guard(mutex)(&rknpu->spaces_lock);

	list_for_each_entry(space, &rknpu->spaces, node) {
		seq_printf(m, "%7d ", pid_vnr(space->pid));
		show_line(m, &space->usage);
	}
	seq_puts(m, "  total ");
	show_line(m, &rknpu->usage);
}
