// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: Core dumps
 *
 * What a core was doing when its job failed, as text, in /sys/class/devcoredump.
 *
 * The facts are taken by the recovery before it resets the core. Jobs of others wait for it, so it
 * must not wait for memory: there is room for one snapshot, set aside when the device comes up.
 * Making text of it and handing it over is done by a worker that nobody waits for; failures until
 * then leave no dump of their own. The device core dump class keeps one of each device for five
 * minutes, or until somebody writes to its file.
 *
 * Of memory a dump shows command lists only, and only what the job itself could reach.
 */
#include <linux/devcoredump.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/string_helpers.h>
#include <linux/utsname.h>
#include <linux/vmalloc.h>

#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include <drm/rknpu_drm.h>

#include "rknpu_coredump.h"
#include "rknpu_device.h"
#include "rknpu_gem.h"
#include "rknpu_job.h"
#include "rknpu_mmu.h"
#include "rknpu_reg_names.h"
#include "rknpu_regs.h"
#include "rknpu_soc.h"

/* Commands on each side of the interesting one */
#define RKNPU_DUMP_COMMANDS 64
/* How far into a list to look for the one whose address faulted */
#define RKNPU_DUMP_SEARCH 4096
/* An access faults this far behind the address that a command sets, at most */
#define RKNPU_DUMP_FAULT_DISTANCE SZ_16M
/* Size of the text, twice of what the largest one takes */
#define RKNPU_DUMP_BYTES SZ_64K

/**
 * struct rknpu_coredump - one failure
 */
struct rknpu_coredump {
	/** @full: has not been handed over; only the recovery sets it, only the report clears it */
	bool full;
	/** @core: the core */
	struct rknpu_core *core;
	/** @time: of the failure, since the machine was started */
	u64 time;
	/** @usable: mask of the cores in service */
	u8 usable;
	/** @status: interrupts, and tasks of this start */
	struct rknpu_core_status status;
	/** @int_mask: interrupts that would have ended the start */
	u32 int_mask;
	/** @error: what became of the job */
	int error;
	/** @mask: cores of the job */
	u8 mask;
	/** @ran_ns: time on the hardware */
	u64 ran_ns;
	/** @timeout_ns: what it may take */
	u64 timeout_ns;
	/** @pingpong: whether it fetches the next list while a task runs */
	bool pingpong;
	/** @num_deps: fences that it waited for */
	u32 num_deps;
	/** @has_fence: others may wait for it */
	bool has_fence;
	/** @pid: process that submitted it */
	pid_t pid;
	/** @comm: name of its thread */
	char comm[TASK_COMM_LEN];
	/** @domain: number of the address space */
	unsigned int domain;
	/** @first: first task of the core's range */
	u32 first;
	/** @number: number of tasks in it */
	u32 number;
	/** @done: how many of them have ended */
	u32 done;
	/** @index: the task that ran, or was next */
	u32 index;
	/** @task_valid: @task was read */
	bool task_valid;
	/** @task: its entry */
	struct rknpu_task task;
	/** @fault: the last page fault; its address is that of this job if @error says so */
	struct rknpu_mmu_status fault;
	/** @mmu: the banks now */
	struct rknpu_mmu_status mmu[RKNPU_MAX_MMU_BANKS];
	/** @regs: values, in the order of rknpu_reg_names */
	u32 regs[ARRAY_SIZE(rknpu_reg_names)];
	/** @list_length: commands in the list */
	u32 list_length;
	/** @command_start: index of the first command in @commands */
	u32 command_start;
	/** @num_commands: number of commands in @commands */
	u32 num_commands;
	/** @commands: a part of the list */
	u64 commands[2 * RKNPU_DUMP_COMMANDS];
};

/* Fields of a register command */
static u16 command_target(u64 command)
{
	return command >> 48;
}

static u32 command_value(u64 command)
{
	return command >> 16;
}

static u16 command_offset(u64 command)
{
	return command;
}

/**
 * rknpu_coredump_init() - set memory aside
 * @rknpu: the device
 *
 * Return: 0 or -ENOMEM.
 */
int rknpu_coredump_init(struct rknpu_device *rknpu)
{
	if (!IS_ENABLED(CONFIG_DEV_COREDUMP))
		return 0;
	rknpu->coredump = drmm_kzalloc(&rknpu->drm, sizeof(*rknpu->coredump), GFP_KERNEL);
	return rknpu->coredump ? 0 : -ENOMEM;
}

/* Number of commands read from @index on, at most @num */
static u32 read_commands(struct rknpu_domain *domain, const struct rknpu_task *task, u32 index,
			 u64 *commands, u32 num)
{
	u64 address = task->regcmd_addr + (u64)index * sizeof(u64);

	return rknpu_domain_read(domain, address, commands, num * sizeof(u64)) / sizeof(u64);
}

/* The command that set the address which faulted: the one with the nearest value below, or none */
static u32 find_fault(struct rknpu_coredump *dump, struct rknpu_domain *domain)
{
	u32 best = RKNPU_DUMP_FAULT_DISTANCE, found = dump->list_length;
	u32 end = min_t(u32, dump->list_length, RKNPU_DUMP_SEARCH);
	u32 index, num, i;

	for (index = 0; index < end; index += num) {
		num = read_commands(domain, &dump->task, index, dump->commands,
				    min_t(u32, end - index, ARRAY_SIZE(dump->commands)));
		if (!num)
			break;
		for (i = 0; i < num; i++) {
			u32 distance = dump->fault.address - command_value(dump->commands[i]);

			if (command_value(dump->commands[i]) && distance < best) {
				best = distance;
				found = index + i;
			}
		}
	}
	return found;
}

/* The part of the list around the command that faulted, or else its end, where tasks start. */
static void take_commands(struct rknpu_coredump *dump, struct rknpu_domain *domain)
{
	u32 centre;

	dump->num_commands = 0;
	dump->list_length = 0;
	if (!dump->task_valid ||
	    check_add_overflow(dump->task.regcfg_amount, RKNPU_PC_TAIL_COMMANDS,
			       &dump->list_length))
		return;

	centre = dump->error == -EFAULT ? find_fault(dump, domain) : dump->list_length;
	centre = min(centre, dump->list_length - min(dump->list_length, RKNPU_DUMP_COMMANDS));
	dump->command_start = centre - min(centre, RKNPU_DUMP_COMMANDS);
	dump->num_commands = read_commands(domain, &dump->task, dump->command_start, dump->commands,
					   min_t(u32, dump->list_length - dump->command_start,
						 ARRAY_SIZE(dump->commands)));
}

static void take_job(struct rknpu_coredump *dump, struct rknpu_core *core)
{
	const struct rknpu_job *job = core->job;
	const struct rknpu_range *range = &job->range[core->index];

	dump->error = core->error;
	dump->mask = job->sched.mask;
	dump->ran_ns = ktime_get_ns() - job->started_ns;
	dump->timeout_ns = job->timeout;
	dump->pingpong = job->control >> core->rknpu->soc->task_number_bits &
			 RKNPU_PC_TASK_CONTROL_PINGPONG;
	dump->num_deps = job->num_deps;
	dump->has_fence = job->fence;
	dump->pid = job->pid;
	memcpy(dump->comm, job->comm, sizeof(dump->comm));
	dump->domain = job->domain->id;
	dump->first = range->first;
	dump->number = range->number;
	dump->done = core->chunk * rknpu_soc_max_tasks(core->rknpu->soc) + dump->status.tasks;
	dump->index = range->first + min(dump->done, range->number - 1);
	dump->task_valid = !rknpu_bo_copy(core->rknpu, job->tasks,
					  (u64)dump->index * sizeof(dump->task), &dump->task,
					  sizeof(dump->task), false);
	take_commands(dump, job->domain);
}

/**
 * rknpu_coredump_take() - note what a core is doing
 * @core: a stopped, powered core, not reset yet, with the job that failed
 *
 * Context: the recovery, on which fences depend: neither allocates nor waits.
 */
void rknpu_coredump_take(struct rknpu_core *core)
{
	struct rknpu_coredump *dump = core->rknpu->coredump;
	unsigned int i;

	/* Behind the report's last look at it. */
	if (!dump || smp_load_acquire(&dump->full))
		return;

	dump->core = core;
	dump->time = ktime_get_ns();
	dump->usable = rknpu_dispatch_usable(&core->rknpu->dispatch);
	dump->int_mask = core->int_mask;
	dump->fault = core->fault;
	rknpu_core_read_status(core, &dump->status);
	for (i = 0; i < core->io->num_mmu; i++)
		rknpu_core_read_mmu(core, i, &dump->mmu[i]);
	for (i = 0; i < ARRAY_SIZE(rknpu_reg_names); i++)
		if (rknpu_reg_names[i].readable)
			dump->regs[i] = rknpu_core_read(core, rknpu_reg_names[i].offset);
	take_job(dump, core);
	/* Complete, for the report. */
	smp_store_release(&dump->full, true);
}

static const char *error_text(int error)
{
	switch (error) {
	case -ETIMEDOUT:
		return "ETIMEDOUT, the job ran out of its time";
	case -EFAULT:
		return "EFAULT, page fault";
	case -EIO:
		return "EIO, DMA error or interrupt storm";
	default:
		return "unknown";
	}
}

static void print_interrupts(struct drm_printer *p, const char *what, u32 bits)
{
	static const char *const names[] = {
		"CNA_FEATURE_0", "CNA_FEATURE_1", "CNA_WEIGHT_0", "CNA_WEIGHT_1", "CNA_CSC_0",
		"CNA_CSC_1", "CORE_0", "CORE_1", "DPU_0", "DPU_1", "PPU_0", "PPU_1",
		"DMA_READ_ERROR", "DMA_WRITE_ERROR",
	};
	unsigned int i;

	drm_printf(p, "  %s: %#x", what, bits);
	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (bits & BIT(i))
			drm_printf(p, " %s", names[i]);
	drm_printf(p, "\n");
}

static void print_job(struct drm_printer *p, const struct rknpu_coredump *dump)
{
	const struct rknpu_task *task = &dump->task;

	drm_printf(p, "job:\n");
	drm_printf(p, "  error: %d (%s)\n", dump->error, error_text(dump->error));
	drm_printf(p, "  process: %d (%.*s)\n", dump->pid, TASK_COMM_LEN, dump->comm);
	drm_printf(p, "  core mask: %#x\n", dump->mask);
	drm_printf(p, "  time on the hardware: %llu us of %llu us\n",
		   div_u64(dump->ran_ns, NSEC_PER_USEC), div_u64(dump->timeout_ns, NSEC_PER_USEC));
	drm_printf(p, "  ping-pong: %s\n", str_yes_no(dump->pingpong));
	drm_printf(p, "  waited for: %u fences\n", dump->num_deps);
	drm_printf(p, "  has a fence: %s\n", str_yes_no(dump->has_fence));
	drm_printf(p, "  address space: %u\n", dump->domain);
	drm_printf(p, "  tasks: %u, from index %u on\n", dump->number, dump->first);
	drm_printf(p, "  task counter: %u\n", dump->done);
	print_interrupts(p, "interrupts expected", dump->int_mask);
	print_interrupts(p, "interrupts raised", dump->status.raw);

	drm_printf(p, "task %u:\n", dump->index);
	if (!dump->task_valid) {
		drm_printf(p, "  can't be read\n");
		return;
	}
	drm_printf(p, "  flags: %#x\n  op_idx: %u\n  enable_mask: %#x\n", task->flags,
		   task->op_idx, task->enable_mask);
	drm_printf(p, "  int_mask: %#x\n  int_clear: %#x\n  int_status: %#x\n", task->int_mask,
		   task->int_clear, task->int_status);
	drm_printf(p, "  regcfg_amount: %u\n  regcfg_offset: %#x\n  regcmd_addr: %#llx\n",
		   task->regcfg_amount, task->regcfg_offset, task->regcmd_addr);
}

static void print_mmu(struct drm_printer *p, const struct rknpu_coredump *dump)
{
	unsigned int i;

	if (!dump->core->io->num_mmu)
		return;
	drm_printf(p, "IOMMU of the core:\n");
	if (dump->error == -EFAULT)
		drm_printf(p, "  page fault: address %#010x, status %#x\n", dump->fault.address,
			   dump->fault.status);
	for (i = 0; i < dump->core->io->num_mmu; i++)
		drm_printf(p, "  bank %u: status %#x, fault address %#010x\n", i,
			   dump->mmu[i].status, dump->mmu[i].address);
}

static void print_registers(struct drm_printer *p, const struct rknpu_coredump *dump)
{
	unsigned int i;

	drm_printf(p, "registers of core %u:\n", dump->core->index);
	for (i = 0; i < ARRAY_SIZE(rknpu_reg_names); i++)
		if (rknpu_reg_names[i].readable)
			drm_printf(p, "  %#06x %s %#010x\n", rknpu_reg_names[i].offset,
				   rknpu_reg_names[i].name, dump->regs[i]);
}

static const char *command_name(u64 command)
{
	unsigned int i;

	switch (command_target(command)) {
	case RKNPU_TARGET_NONE:
		return "(filler)";
	case RKNPU_TARGET_BARRIER:
		return "(barrier)";
	case RKNPU_TARGET_START:
		return "(start)";
	}
	for (i = 0; i < ARRAY_SIZE(rknpu_reg_names); i++)
		if (rknpu_reg_names[i].offset == command_offset(command))
			return rknpu_reg_names[i].name;
	return "(unknown)";
}

static void print_commands(struct drm_printer *p, const struct rknpu_coredump *dump)
{
	u32 i;

	drm_printf(p, "command list: %u of %u commands\n", dump->num_commands, dump->list_length);
	for (i = 0; i < dump->num_commands; i++) {
		u64 command = dump->commands[i];

		drm_printf(p, "  [%u] %#06x:%#06x %s %#010x\n", dump->command_start + i,
			   command_target(command), command_offset(command), command_name(command),
			   command_value(command));
	}
}

static void print(struct drm_printer *p, const struct rknpu_coredump *dump)
{
	const struct rknpu_device *rknpu = dump->core->rknpu;

	drm_printf(p, "rknpu core dump 1\n");
	drm_printf(p, "driver: %s %u.%u.%u\n", RKNPU_DRIVER_NAME, RKNPU_DRIVER_MAJOR,
		   RKNPU_DRIVER_MINOR, RKNPU_DRIVER_PATCHLEVEL);
	drm_printf(p, "kernel: %s\n", init_utsname()->release);
	drm_printf(p, "SoC: %s, hardware version %#x\n", rknpu->soc->name, rknpu->hw_version);
	drm_printf(p, "time: %llu us\n", div_u64(dump->time, NSEC_PER_USEC));
	drm_printf(p, "core: %u\n", dump->core->index);
	drm_printf(p, "cores in service: %#x\n", dump->usable);
	print_job(p, dump);
	print_mmu(p, dump);
	print_registers(p, dump);
	print_commands(p, dump);
}

/**
 * rknpu_coredump_report() - hand over what was taken
 * @rknpu: the device
 *
 * Context: may sleep and allocate.
 */
void rknpu_coredump_report(struct rknpu_device *rknpu)
{
	struct rknpu_coredump *dump = rknpu->coredump;
	struct drm_print_iterator iter = { .remain = RKNPU_DUMP_BYTES };
	struct drm_printer p;
	void *text;

	/* All that was taken before. */
	if (!dump || !smp_load_acquire(&dump->full))
		return;
	text = vzalloc(RKNPU_DUMP_BYTES);
	if (text) {
		iter.data = text;
		p = drm_coredump_printer(&iter);
		print(&p, dump);
		dev_coredumpv(dump->core->node->dev, text, RKNPU_DUMP_BYTES - iter.remain,
			      GFP_KERNEL);
	}
	/* No further look at it. */
	smp_store_release(&dump->full, false);
}
