// SPDX-License-Identifier: MIT
/*
 * bench-driver: what the driver costs, in guest instructions, register accesses and interrupts.
 *
 * Runs in the virtual machine under the instruction-counted clock and prints one "name value" a
 * line. With two arguments, an operation and a folder, it runs that operation once for tools/bench/
 * trace on the host, which it meets in the folder. See docs/benchmarks.md.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "measure.h"
#include "npu_client.h"
#include "npu_control.h"
#include "npu_matmul.h"
#include "streams.h"
#include "trace.h"

#define CORE0 1
#define TASKS 100
/* Length of a queue, and of a shorter one to compare with */
#define QUEUE 1000
#define HALF_QUEUE 500
/* What a job takes that keeps the core busy while the queue is filled, in nanoseconds */
#define GATE_NS 50000000
/* What a job takes beside which the CPU has time to do all it has to do */
#define JOB_NS 50000

struct bench {
	int fd;
	struct npu_matmul mm;	 /* as many rows as tasks */
	struct npu_matmul other; /* the same in another address space */
	struct rknpu_submit one, hundred, elsewhere, unwaited;
};

static int submit(const struct bench *b, const struct rknpu_submit *job)
{
	struct rknpu_submit arg = *job;

	return npu_submit(b->fd, &arg);
}

static int system_call(void *arg)
{
	(void)arg;
	return syscall(SYS_getppid) < 0 ? -errno : 0;
}

static int constant_ioctl(void *arg)
{
	const struct bench *b = arg;
	__u32 value = 0;

	return npu_action(b->fd, RKNPU_GET_DRV_VERSION, &value);
}

static int one_task(void *arg)
{
	const struct bench *b = arg;

	return submit(b, &b->one);
}

static int hundred_tasks(void *arg)
{
	const struct bench *b = arg;

	return submit(b, &b->hundred);
}

static int one_task_unwaited(void *arg)
{
	const struct bench *b = arg;

	return submit(b, &b->unwaited);
}

/* Two jobs in one address space, or in two. */
static int stay(void *arg)
{
	const struct bench *b = arg;
	int ret = submit(b, &b->one);

	return ret ? ret : submit(b, &b->one);
}

static int alternate(void *arg)
{
	const struct bench *b = arg;
	int ret = submit(b, &b->elsewhere);

	return ret ? ret : submit(b, &b->one);
}

static int queue_of_three(void *arg)
{
	int ret = one_task_unwaited(arg);

	ret = ret ? ret : one_task_unwaited(arg);
	return ret ? ret : one_task(arg);
}

/* What the hardware saw of one call, on average */
static void count_accesses(const char *name, operation op, struct bench *b)
{
	const unsigned int count = 100;
	struct accesses before, since;
	unsigned int i;

	read_accesses(&before);
	for (i = 0; i < count; i++)
		must(name, op(b));
	accesses_since(&before, &since);
	print_accesses(name, &since, count);
}

static void count(const char *name, operation op, struct bench *b)
{
	print_result(name, "instructions", cost_of(op, b), 1);
	count_accesses(name, op, b);
}

/* Nanoseconds in which the task of a one-task job runs */
static __u32 task_time(struct bench *b)
{
	struct accesses before, since;

	read_accesses(&before);
	must("a job", one_task(b));
	accesses_since(&before, &since);
	return since.busy;
}

/* The CPU has fallen asleep when the job ends. The job's own time is not counted. */
static void count_asleep(struct bench *b)
{
	npu_instant(false);
	npu_fault(0, VNPU_FAULT_SLOW, JOB_NS);
	print_result("asleep_1", "instructions", cost_of(one_task, b) - task_time(b), 1);
	npu_fault_none();
	npu_instant(true);
}

struct queue_result {
	__u32 submit;	 /* instructions to queue all jobs but the first and the last */
	__u32 total;	 /* from before the first to after the last, with the time of the first */
	struct accesses accesses;
};

enum queue_kind {
	NO_TIME, /* jobs take no time, and the CPU is awake */
	AWAKE,	 /* jobs take JOB_NS, and the CPU is awake */
	ASLEEP,	 /* jobs take JOB_NS, and the CPU sleeps meanwhile */
};

/*
 * A queue of `number` jobs: the first one keeps the core busy until all are queued, then the caller
 * waits for the last one, and for what the driver does later.
 */
static void run_queue(struct bench *b, unsigned int number, enum queue_kind kind,
		      struct queue_result *r)
{
	struct accesses before;
	__u32 start, first, tasks;
	unsigned int i;

	npu_instant(false);
	npu_fault(0, VNPU_FAULT_SLOW, GATE_NS);
	read_accesses(&before);
	tasks = npu_ctl_core(0, VNPU_CTL_TASKS);
	start = now();
	must("the first job of a queue", one_task_unwaited(b));
	if (kind == NO_TIME)
		npu_instant(true);
	else
		npu_fault(0, VNPU_FAULT_SLOW, JOB_NS);

	first = now();
	for (i = 2; i < number; i++)
		must("a job of a queue", one_task_unwaited(b));
	r->submit = now() - first;
	if (now() - start > GATE_NS)
		die("the queue is not filled in time", 0);
	must("the last job of a queue", kind == ASLEEP ? one_task(b) : one_task_unwaited(b));
	while (npu_ctl_core(0, VNPU_CTL_TASKS) - tasks < number)
		;
	for (i = 0; i < 10; i++)
		sched_yield();
	r->total = now() - start;
	accesses_since(&before, &r->accesses);
	npu_fault_none();
	npu_instant(true);
}

/* What the jobs cost by which a queue is longer than another: what both have falls out. */
static void count_queue(struct bench *b)
{
	const unsigned int more = QUEUE - HALF_QUEUE;
	struct queue_result full, half;
	__s64 end;

	run_queue(b, QUEUE, NO_TIME, &full); /* warm up */
	run_queue(b, HALF_QUEUE, NO_TIME, &half);
	run_queue(b, QUEUE, NO_TIME, &full);
	end = full.total - half.total;
	print_result("queued", "submit_instructions", full.submit, QUEUE - 2);
	print_result("queued", "end_instructions", end, more);
	print_result("queued", "instructions",
		     (__s64)full.submit * more / (QUEUE - 2) + end, more);
	print_accesses("queued", &full.accesses, QUEUE);
}

/* Between two jobs of a queue: what it takes beside the jobs' own time. */
static void count_gap(struct bench *b, const char *name, enum queue_kind kind)
{
	const unsigned int more = QUEUE - HALF_QUEUE;
	struct queue_result full, half;
	__s64 gap;

	run_queue(b, HALF_QUEUE, kind, &half);
	run_queue(b, QUEUE, kind, &full);
	gap = (__s64)full.total - half.total - (__s64)(full.accesses.busy - half.accesses.busy);
	print_result(name, "instructions", gap, more);
	if (kind == ASLEEP)
		return;
	/* The second write to the start register is behind the start. */
	print_result("gap", "npu_accesses",
		     full.accesses.npu_reads + full.accesses.npu_writes - QUEUE, QUEUE);
	print_result("gap", "mmu_accesses", full.accesses.mmu_reads + full.accesses.mmu_writes,
		     QUEUE);
}

static void count_switch(struct bench *b)
{
	struct accesses before, since;
	const unsigned int rounds = 50;
	unsigned int i;

	print_result("switch", "instructions",
		     (__s64)cost_of(alternate, b) - cost_of(stay, b), 2);
	read_accesses(&before);
	for (i = 0; i < rounds; i++)
		must("a job", alternate(b));
	accesses_since(&before, &since);
	print_result("switch", "mmu_reads", since.mmu_reads, 2 * rounds);
	print_result("switch", "mmu_writes", since.mmu_writes, 2 * rounds);
}

static void count_streams(void)
{
	__u32 one = run_streams(1, false);

	print_result("streams", "one_process_ratio", 3000LL * one / run_streams(3, false), 1000);
	one = run_streams(1, true);
	print_result("streams", "three_processes_ratio", 3000LL * one / run_streams(3, true),
		     1000);
}

static void prepare(struct bench *b)
{
	b->fd = npu_open();
	if (b->fd < 0)
		die("no NPU", b->fd);
	must("buffers", npu_matmul_create(&b->mm, b->fd, TASKS, 64, 32, 1));
	must("buffers", npu_matmul_create_in(&b->other, b->fd, 1, 1, 64, 32, 2));
	npu_matmul_job(&b->mm, &b->one, CORE0, TASKS - 1, 1);
	npu_matmul_job(&b->mm, &b->hundred, CORE0, 0, TASKS);
	npu_matmul_job(&b->other, &b->elsewhere, CORE0, 0, 1);
	b->elsewhere.iommu_domain_id = 1;
	b->unwaited = b->one;
	b->unwaited.flags |= RKNPU_JOB_NONBLOCK;
}

/* Jobs that were counted are worth nothing if they did not compute. */
static void check(struct bench *b)
{
	char text[256];

	npu_matmul_poison(&b->mm);
	must("a job", hundred_tasks(b));
	if (npu_matmul_wrong(&b->mm, 0, TASKS))
		die("a job has computed something wrong", 0);
	if (npu_ctl_misuse(text, sizeof(text)))
		die(text, 0);
}

static void count_all(struct bench *b)
{
	print_result("system_call", "instructions", cost_of(system_call, b), 1);
	print_result("constant_ioctl", "instructions", cost_of(constant_ioctl, b), 1);
	count("blocking_1", one_task, b);
	count("blocking_100", hundred_tasks, b);
	count_asleep(b);
	count("unwaited_1", one_task_unwaited, b);
	count_queue(b);
	count_gap(b, "gap", AWAKE);
	count_gap(b, "gap_asleep", ASLEEP);
	count_switch(b);
	count_streams();
}

static void trace(struct bench *b, const char *name, const char *folder)
{
	const struct {
		const char *name;
		operation op;
		bool asleep;
	} traces[] = {
		{ "system_call", system_call, false },
		{ "constant_ioctl", constant_ioctl, false },
		{ "blocking_1", one_task, false },
		{ "blocking_100", hundred_tasks, false },
		{ "asleep_1", one_task, true },
		{ "unwaited_1", one_task_unwaited, false },
		{ "gap", queue_of_three, true },
		{ "switch", alternate, false },
	};
	unsigned int i;

	for (i = 0; i < sizeof(traces) / sizeof(*traces); i++) {
		if (strcmp(traces[i].name, name))
			continue;
		npu_instant(!traces[i].asleep);
		if (traces[i].asleep)
			npu_fault(0, VNPU_FAULT_SLOW, JOB_NS);
		trace_operation(traces[i].op, b, folder);
		return;
	}
	die("no such operation", 0);
}

int main(int argc, char **argv)
{
	struct bench b = {};

	npu_fault_none();
	npu_ctl_clear(VNPU_CTL_CLEAR_RECORDS);
	check_clock();
	prepare(&b);
	npu_instant(true);

	if (argc == 3)
		trace(&b, argv[1], argv[2]);
	else
		count_all(&b);

	npu_fault_none();
	check(&b);
	return 0;
}
