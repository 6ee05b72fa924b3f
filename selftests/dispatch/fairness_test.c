// SPDX-License-Identifier: GPL-2.0-only
/*
 * How the dispatcher shares the cores, on a clock of the test's own: each flow always has jobs of one kind waiting,
 * which take a fixed time. What comes out is compared with what docs/architecture.md promises: flows of a level get the
 * same core time, switches of the address space are few, a flow that was away has saved nothing up, and no job is
 * overtaken by more than 1024 others of its level.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
/* after the others */
#include <cmocka.h>

#include "rknpu_dispatch.h"

#define CORES 3
#define FLOWS 12
#define DEPTH 8 /* jobs of a load that wait or run at a time */
#define US 1000ull
#define MS (1000 * US)

/* Jobs of one kind without end */
struct load {
	unsigned int flow;
	const void *space;
	u64 ns; /* time of a job */
	u64 ns2; /* of every second one, if it differs */
	u8 wanted;
	bool any;
};

struct job {
	struct rknpu_dispatch_job sched;
	const struct load *load;
	u64 ns;
	u64 started;
	u64 starts_before; /* of the level, when it arrived at an empty queue */
	bool waiting;
};

struct simulation {
	struct rknpu_dispatch d;
	struct rknpu_dispatch_flow flow[FLOWS];
	struct job job[FLOWS * DEPTH];
	unsigned int jobs;
	struct job *on_core[CORES];
	u64 now;
	u64 used[FLOWS]; /* core time */
	unsigned int done[FLOWS];
	unsigned int switches;
	unsigned int starts;
};

static const u8 one_mmu[CORES] = { 0, 0, 0 };
static const u8 mmu_per_core[CORES] = { 0, 1, 2 };
static const char space[FLOWS];

static void arrive(struct simulation *s, struct job *job)
{
	job->ns = job->ns == job->load->ns && job->load->ns2 ? job->load->ns2 : job->load->ns;
	job->sched.flow = &s->flow[job->load->flow];
	job->sched.space = job->load->space;
	job->sched.wanted = job->load->wanted;
	job->sched.any = job->load->any;
	job->waiting = true;
	job->starts_before = s->starts;
	rknpu_dispatch_add(&s->d, &job->sched);
}

static void start(struct simulation *s)
{
	struct rknpu_dispatch_job *next;
	bool needs_switch;
	unsigned int i;

	while ((next = rknpu_dispatch_next(&s->d, &needs_switch))) {
		struct job *job = list_entry(next, struct job, sched);

		if (needs_switch) {
			s->switches++;
			rknpu_dispatch_switched(&s->d, next->mask);
		}
		job->waiting = false;
		job->started = s->now;
		s->starts++;
		for (i = 0; i < CORES; i++)
			if (next->mask & 1 << i)
				s->on_core[i] = job;
	}
}

static void finish(struct simulation *s, struct job *job)
{
	unsigned int i;

	for (i = 0; i < CORES; i++) {
		if (s->on_core[i] != job)
			continue;
		s->on_core[i] = NULL;
		s->used[job->load->flow] += job->ns;
		rknpu_dispatch_release(&s->d, i);
	}
	s->done[job->load->flow]++;
	rknpu_dispatch_account(&s->d, &job->sched, s->now - job->started);
	arrive(s, job);
}

static void add_loads(struct simulation *s, const struct load *load, unsigned int loads)
{
	unsigned int n, i;

	for (n = 0; n < loads; n++) {
		for (i = 0; i < DEPTH; i++) {
			struct job *job = &s->job[s->jobs++];

			job->load = &load[n];
			arrive(s, job);
		}
	}
	start(s);
}

static void init(struct simulation *s, const u8 *mmu, const u8 *pool)
{
	unsigned int i;

	memset(s, 0, sizeof(*s));
	rknpu_dispatch_init(&s->d, CORES, mmu, pool);
	for (i = 0; i < FLOWS; i++)
		rknpu_dispatch_flow_init(&s->flow[i], RKNPU_LEVEL_NORMAL);
}

/* The job on a core that ends first */
static struct job *first_to_end(struct simulation *s)
{
	struct job *first = NULL;
	unsigned int i;

	for (i = 0; i < CORES; i++) {
		struct job *job = s->on_core[i];

		if (job && (!first || job->started + job->ns < first->started + first->ns))
			first = job;
	}
	assert_non_null(first);
	return first;
}

static void run_until(struct simulation *s, u64 end)
{
	while (s->now < end) {
		struct job *job = first_to_end(s);

		s->now = job->started + job->ns;
		finish(s, job);
		start(s);
	}
}

static void assert_share(const struct simulation *s, unsigned int flow, u64 of, double share)
{
	double got = (double)s->used[flow] / (double)of;

	if (got < share * 0.95 || got > share * 1.05)
		fail_msg("flow %u got %.3f of the core time, not %.3f", flow, got, share);
}

/* Jobs of 10 us, 300 us and 7 ms on any core: a third of the time each */
static void share_by_time(const u8 *mmu)
{
	const struct load loads[] = {
		{ .flow = 0, .space = &space[0], .ns = 10 * US, .wanted = 7, .any = true },
		{ .flow = 1, .space = &space[1], .ns = 300 * US, .wanted = 7, .any = true },
		{ .flow = 2, .space = &space[2], .ns = 7 * MS, .wanted = 7, .any = true },
	};
	struct simulation s;
	unsigned int i;

	init(&s, mmu, mmu);
	add_loads(&s, loads, 3);
	run_until(&s, 5000 * MS);
	for (i = 0; i < 3; i++)
		assert_share(&s, i, s.used[0] + s.used[1] + s.used[2], 1.0 / 3);
}

static void test_share_by_time(void **state)
{
	(void)state;
	share_by_time(one_mmu);
	share_by_time(mmu_per_core);
}

/* Jobs whose time can't be foreseen, against steady ones: what was charged at the start is put right at the end. */
static void test_share_with_wrong_estimates(void **state)
{
	const struct load loads[] = {
		{ .flow = 0, .space = &space[0], .ns = 100 * US, .ns2 = 9 * MS, .wanted = 1 },
		{ .flow = 1, .space = &space[1], .ns = MS, .wanted = 1 },
	};
	struct simulation s;

	(void)state;
	init(&s, mmu_per_core, mmu_per_core);
	add_loads(&s, loads, 2);
	run_until(&s, 5000 * MS);
	assert_share(&s, 0, s.used[0] + s.used[1], 0.5);
}

/* All cores fall free at once: they are shared out, instead of going to the one that is a little behind. */
static void test_nobody_takes_all_cores(void **state)
{
	const struct load loads[] = {
		{ .flow = 0, .space = &space[0], .ns = 10 * MS, .wanted = 7, .any = true },
		{ .flow = 1, .space = &space[0], .ns = 10 * MS, .wanted = 7, .any = true },
	};
	struct simulation s;
	unsigned int round;

	(void)state;
	init(&s, one_mmu, one_mmu);
	add_loads(&s, loads, 2);
	run_until(&s, 100 * MS);
	for (round = 0; round < 100; round++) {
		run_until(&s, s.now + 10 * MS);
		assert_false(s.on_core[0]->load == s.on_core[1]->load && s.on_core[0]->load == s.on_core[2]->load);
	}
}

/* A gang of all cores against single jobs on any of them: half of the time each */
static void test_gang_shares(void **state)
{
	const struct load loads[] = {
		{ .flow = 0, .space = &space[0], .ns = MS, .wanted = 7 },
		{ .flow = 1, .space = &space[1], .ns = MS, .wanted = 7, .any = true },
	};
	struct simulation s;

	(void)state;
	init(&s, mmu_per_core, mmu_per_core);
	add_loads(&s, loads, 2);
	run_until(&s, 2000 * MS);
	assert_share(&s, 0, s.used[0] + s.used[1], 0.5);
}

/* Two processes with small jobs and one IOMMU: many jobs for each switch, and still half of the time each */
static void test_few_switches(void **state)
{
	const struct load loads[] = {
		{ .flow = 0, .space = &space[0], .ns = 20 * US, .wanted = 7, .any = true },
		{ .flow = 1, .space = &space[1], .ns = 20 * US, .wanted = 7, .any = true },
	};
	struct simulation s;

	(void)state;
	init(&s, one_mmu, one_mmu);
	add_loads(&s, loads, 2);
	run_until(&s, 1000 * MS);
	assert_share(&s, 0, s.used[0] + s.used[1], 0.5);
	assert_true(s.done[0] + s.done[1] > 100 * s.switches);
}

/* An IOMMU for each core, and a process for each: the cores stay with their processes. */
static void test_processes_keep_their_cores(void **state)
{
	const struct load loads[] = {
		{ .flow = 0, .space = &space[0], .ns = 100 * US, .wanted = 7, .any = true },
		{ .flow = 1, .space = &space[1], .ns = 100 * US, .wanted = 7, .any = true },
		{ .flow = 2, .space = &space[2], .ns = 100 * US, .wanted = 7, .any = true },
	};
	struct simulation s;

	(void)state;
	init(&s, mmu_per_core, mmu_per_core);
	add_loads(&s, loads, 3);
	run_until(&s, 1000 * MS);
	assert_true(s.starts > 29000);
	assert_true(s.switches < s.starts / 20);
}

/* Who comes late, or back after a pause, gets its share from then on, and nothing for the time before. */
static void test_nothing_saved_up(void **state)
{
	const struct load loads[] = {
		{ .flow = 0, .space = &space[0], .ns = MS, .wanted = 7, .any = true },
		{ .flow = 1, .space = &space[1], .ns = MS, .wanted = 7, .any = true },
	};
	struct simulation s;
	u64 before;

	(void)state;
	init(&s, mmu_per_core, mmu_per_core);
	add_loads(&s, &loads[0], 1);
	run_until(&s, 1000 * MS);
	before = s.used[0];
	add_loads(&s, &loads[1], 1);
	run_until(&s, 1200 * MS);
	s.used[0] -= before;
	assert_share(&s, 0, s.used[0] + s.used[1], 0.5);
}

/*
 * A gang between streams for single cores, one of them of its own process. The first job of a queue is overtaken by no
 * more than 1024 others of its level, plus what else has waited that long.
 */
static void test_gang_starts_in_time(void **state)
{
	const struct load singles[] = {
		{ .flow = 0, .space = &space[0], .ns = MS, .wanted = 4 },
		{ .flow = 1, .space = &space[0], .ns = 100 * US, .wanted = 1 },
		{ .flow = 2, .space = &space[0], .ns = 130 * US, .wanted = 2 },
		{ .flow = 3, .space = &space[0], .ns = 70 * US, .wanted = 3, .any = true },
	};
	const struct load gang = { .flow = 0, .space = &space[0], .ns = 10 * US, .wanted = 7 };
	struct job *job;
	struct simulation s;
	unsigned int round;

	(void)state;
	/* One address space for all: each core is a pool. */
	init(&s, one_mmu, mmu_per_core);
	add_loads(&s, singles, 4);
	run_until(&s, 100 * MS);

	job = &s.job[s.jobs++];
	job->load = &gang;
	for (round = 0; round < 20; round++) {
		arrive(&s, job);
		start(&s);
		while (job->waiting) {
			struct job *ended = first_to_end(&s);

			s.now = ended->started + ended->ns;
			finish(&s, ended);
			start(&s);
			assert_true(s.starts - job->starts_before <= 1024 + 4 * DEPTH);
		}
		/* It leaves, instead of coming back as the others do. */
		while (s.on_core[0] == job) {
			struct job *ended = first_to_end(&s);

			s.now = ended->started + ended->ns;
			finish(&s, ended);
			if (ended == job)
				rknpu_dispatch_remove(&s.d, &job->sched);
			start(&s);
		}
	}
}

/*
 * Processes that come, run one job and go begin where the others are, so that there is always one that has used less
 * than who has been there for longer: the wait ends all the same.
 */
static void test_newcomers_overtake_so_many(void **state)
{
	const struct load loads[] = {
		{ .flow = 0, .space = &space[0], .ns = 10 * MS, .wanted = 1 },
		{ .flow = 1, .space = &space[0], .ns = 100 * US, .wanted = 1 },
		{ .flow = 2, .space = &space[0], .ns = 100 * US, .wanted = 1 },
		{ .flow = 3, .space = &space[0], .ns = 100 * US, .wanted = 1 },
	};
	unsigned int rounds = 0, i;
	struct simulation s;

	(void)state;
	init(&s, one_mmu, mmu_per_core);
	for (i = 0; i < 4; i++) {
		s.job[i].load = &loads[i];
		arrive(&s, &s.job[i]);
		start(&s);
	}
	while (rounds < 3) {
		struct job *job = first_to_end(&s);

		s.now = job->started + job->ns;
		if (job->load->flow)
			rknpu_dispatch_flow_init(&s.flow[job->load->flow], RKNPU_LEVEL_NORMAL);
		else
			rounds++;
		finish(&s, job);
		if (!s.job[0].waiting)
			continue;
		start(&s);
		assert_true(s.starts - s.job[0].starts_before <= 1024 + 4);
	}
}

/* A job of a higher level waits for no more than what runs. */
static void test_high_level_is_next(void **state)
{
	const struct load loads[] = {
		{ .flow = 0, .space = &space[0], .ns = 20 * MS, .wanted = 1 },
		{ .flow = 1, .space = &space[1], .ns = 20 * MS, .wanted = 1 },
	};
	const struct load urgent = { .flow = 2, .space = &space[2], .ns = MS, .wanted = 1 };
	struct simulation s;
	struct job *job;
	u64 arrived;

	(void)state;
	init(&s, mmu_per_core, mmu_per_core);
	rknpu_dispatch_flow_init(&s.flow[2], RKNPU_LEVEL_HIGH);
	add_loads(&s, loads, 2);
	run_until(&s, 200 * MS);
	job = &s.job[s.jobs++];
	job->load = &urgent;
	arrived = s.now;
	arrive(&s, job);
	start(&s);
	run_until(&s, arrived + 20 * MS);
	assert_false(job->waiting);
	assert_true(job->started - arrived <= 20 * MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_share_by_time),
		cmocka_unit_test(test_share_with_wrong_estimates),
		cmocka_unit_test(test_nobody_takes_all_cores),
		cmocka_unit_test(test_gang_shares),
		cmocka_unit_test(test_few_switches),
		cmocka_unit_test(test_processes_keep_their_cores),
		cmocka_unit_test(test_nothing_saved_up),
		cmocka_unit_test(test_gang_starts_in_time),
		cmocka_unit_test(test_newcomers_overtake_so_many),
		cmocka_unit_test(test_high_level_is_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
