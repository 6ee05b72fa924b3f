// SPDX-License-Identifier: GPL-2.0-only
/*
 * The dispatcher against the rules that docs/architecture.md states for it. A small world keeps its own books of which
 * core runs what and checks every decision:
 *
 *  - a core never gets a second job, a job gets exactly the cores that it asked for, or one of them;
 *  - cores behind one IOMMU never work in different address spaces, and an address space changes only while all of
 *    them are quiet;
 *  - nothing starts on a core that a waiting job of a higher level asked for;
 *  - of jobs of one flow, nothing starts on a core that the oldest waiting one asked for, except that job;
 *  - as long as something waits, something runs or is about to: no deadlock; and in the end everything has run.
 *
 * All orders of events are tried for every choice of up to three jobs of two flows; longer histories of many flows are
 * drawn at random.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* after the others */
#include <cmocka.h>

#include "rknpu_dispatch.h"

#define CORES 3
#define MAX_JOBS 64
#define FLOWS 6

enum job_state {
	NEW,
	WAITING,
	SWITCHING,
	RUNNING,
	DONE
};

struct job {
	struct rknpu_dispatch_job sched;
	enum job_state state;
	unsigned int space;
	u8 left; /* cores that have not finished */
};

struct world {
	struct rknpu_dispatch d;
	const u8 *mmu;
	struct rknpu_dispatch_flow flow[FLOWS];
	struct job job[MAX_JOBS];
	unsigned int jobs, arrived, done;
	struct job *on_core[CORES];
	const void *shown[CORES]; /* by IOMMU */
};

static const u8 one_mmu[CORES] = { 0, 0, 0 };
static const u8 mmu_per_core[CORES] = { 0, 1, 2 };
static const char spaces[2];

/* Every way to ask for cores: any of all, any of two, one, two, three */
static const struct {
	u8 wanted;
	bool any;
} kinds[] = { { 7, true }, { 5, true }, { 1, false }, { 2, false }, { 4, false }, { 3, false }, { 7, false } };

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))
#define CHOICES (2 * KINDS)

/* @levels: of the flows; those that are left are normal */
static void world_init(struct world *w, const u8 *mmu, const enum rknpu_dispatch_level *levels, unsigned int num_levels)
{
	unsigned int i;

	memset(w, 0, sizeof(*w));
	w->mmu = mmu;
	rknpu_dispatch_init(&w->d, CORES, mmu, mmu);
	for (i = 0; i < FLOWS; i++)
		rknpu_dispatch_flow_init(&w->flow[i], i < num_levels ? levels[i] : RKNPU_LEVEL_NORMAL);
}

/* Adds a job of a flow; @choice: kind and address space */
static void world_plan_flow(struct world *w, unsigned int choice, unsigned int flow)
{
	struct job *job = &w->job[w->jobs++];

	job->space = choice % 2;
	job->sched.flow = &w->flow[flow];
	job->sched.wanted = kinds[choice / 2].wanted;
	job->sched.any = kinds[choice / 2].any;
	job->sched.space = &spaces[job->space];
}

/* Adds a job of the flow that belongs to its address space. */
static void world_plan(struct world *w, unsigned int choice)
{
	world_plan_flow(w, choice, choice % 2);
}

static bool is_gang(const struct job *job)
{
	return !job->sched.any && __builtin_popcount(job->sched.wanted) > 1;
}

static struct job *oldest_waiting(struct world *w, const struct rknpu_dispatch_flow *flow)
{
	unsigned int i;

	for (i = 0; i < w->arrived; i++)
		if (w->job[i].state == WAITING && (!flow || w->job[i].sched.flow == flow))
			return &w->job[i];
	return NULL;
}

static unsigned int waiting_gangs(const struct world *w)
{
	unsigned int i, gangs = 0;

	for (i = 0; i < w->arrived; i++)
		if (w->job[i].state == WAITING && is_gang(&w->job[i]))
			gangs++;
	return gangs;
}

static bool anything_at_work(const struct world *w)
{
	return w->on_core[0] || w->on_core[1] || w->on_core[2];
}

/* Of several gangs only the first may hold its cores free. */
static void check_order(struct world *w, const struct job *job)
{
	const struct job *oldest = oldest_waiting(w, job->sched.flow);
	bool gangs = waiting_gangs(w) > 1;
	u8 mask = job->sched.mask;
	unsigned int i;

	if (job != oldest)
		assert_int_equal(mask & oldest->sched.wanted, 0);

	for (i = 0; i < w->arrived; i++) {
		const struct job *other = &w->job[i];

		if (other == oldest_waiting(w, other->sched.flow) &&
		    other->sched.flow->level < job->sched.flow->level && !(gangs && is_gang(other)))
			assert_int_equal(mask & other->sched.wanted, 0);
	}
}

static void check_start(struct world *w, struct job *job, bool needs_switch)
{
	u8 mask = job->sched.mask;
	unsigned int i, other;
	bool shown = true;

	assert_int_equal(job->state, WAITING);
	if (job->sched.any)
		assert_int_equal(__builtin_popcount(mask), 1);
	else
		assert_int_equal(mask, job->sched.wanted);
	assert_int_equal(mask & ~job->sched.wanted, 0);
	check_order(w, job);

	for (i = 0; i < CORES; i++) {
		if (!(mask & 1 << i))
			continue;
		assert_null(w->on_core[i]);
		if (w->shown[w->mmu[i]] != job->sched.space)
			shown = false;
	}
	assert_int_equal(needs_switch, !shown);
	if (needs_switch)
		for (i = 0; i < CORES; i++)
			for (other = 0; other < CORES; other++)
				if (mask & 1 << i && w->mmu[i] == w->mmu[other])
					assert_null(w->on_core[other]);
}

static void run(struct world *w)
{
	struct rknpu_dispatch_job *next;
	bool needs_switch;
	unsigned int i;

	while ((next = rknpu_dispatch_next(&w->d, &needs_switch))) {
		struct job *job = list_entry(next, struct job, sched);

		check_start(w, job, needs_switch);
		for (i = 0; i < CORES; i++)
			if (next->mask & 1 << i)
				w->on_core[i] = job;
		job->state = needs_switch ? SWITCHING : RUNNING;
		job->left = next->mask;
	}
	if (oldest_waiting(w, NULL))
		assert_true(anything_at_work(w));
}

static void arrive(struct world *w)
{
	struct job *job = &w->job[w->arrived++];

	job->state = WAITING;
	rknpu_dispatch_add(&w->d, &job->sched);
	run(w);
}

static void finish_switch(struct world *w, struct job *job)
{
	unsigned int i;

	for (i = 0; i < CORES; i++)
		if (job->left & 1 << i)
			w->shown[w->mmu[i]] = job->sched.space;
	job->state = RUNNING;
	rknpu_dispatch_switched(&w->d, job->sched.mask);
	run(w);
}

static void finish_core(struct world *w, unsigned int core)
{
	struct job *job = w->on_core[core];

	assert_ptr_equal(w->shown[w->mmu[core]], job->sched.space);
	w->on_core[core] = NULL;
	job->left &= ~(1 << core);
	if (!job->left) {
		job->state = DONE;
		w->done++;
		/* Any time will do: the rules hold for all. */
		rknpu_dispatch_account(&w->d, &job->sched, (u64)(job - w->job) * 1000000);
	}
	rknpu_dispatch_release(&w->d, core);
	run(w);
}

/*
 * Events that can happen now are numbered: an arrival, then for each core the end of a switch (counted once a job) or
 * of its part of a job. Makes event number @which happen.
 *
 * Return: the number of events that were possible.
 */
static unsigned int happen(struct world *w, unsigned int which)
{
	unsigned int possible = 0, i;

	if (w->arrived < w->jobs && possible++ == which) {
		arrive(w);
		return possible;
	}
	for (i = 0; i < CORES; i++) {
		struct job *job = w->on_core[i];

		if (!job || (job->state == SWITCHING && i != (unsigned int)__builtin_ctz(job->left)))
			continue;
		if (possible++ != which)
			continue;
		if (job->state == SWITCHING)
			finish_switch(w, job);
		else
			finish_core(w, i);
		return possible;
	}
	return possible;
}

static unsigned int count_events(const struct world *w)
{
	struct world copy = *w;

	return happen(&copy, UINT32_MAX);
}

#define MAX_EVENTS 64

/* What does not change during a history: the IOMMUs, and the levels of the two flows */
struct setting {
	const u8 *mmu;
	enum rknpu_dispatch_level level[2];
};

/* Replays a history of choices, then goes on with the first possible event each time. Returns the length. */
static unsigned int replay(const struct setting *setting, const unsigned int *choice, unsigned int jobs,
			   unsigned int *history, unsigned int *width)
{
	struct world w;
	unsigned int step = 0, i;

	world_init(&w, setting->mmu, setting->level, 2);
	for (i = 0; i < jobs; i++)
		world_plan(&w, choice[i]);
	while ((width[step] = count_events(&w))) {
		happen(&w, history[step]);
		step++;
		assert_true(step < MAX_EVENTS);
	}
	assert_int_equal(w.done, jobs);
	return step;
}

/* All orders of events for one choice of jobs, by counting the history like a number with varying base */
static unsigned long all_orders(const struct setting *setting, const unsigned int *choice, unsigned int jobs)
{
	unsigned int history[MAX_EVENTS] = { 0 }, width[MAX_EVENTS], length;
	unsigned long orders = 0;

	for (;;) {
		length = replay(setting, choice, jobs, history, width);
		orders++;
		while (length && history[length - 1] + 1 == width[length - 1])
			history[--length] = 0;
		if (!length)
			return orders;
		history[length - 1]++;
	}
}

static void exhaustive(const struct setting *setting)
{
	unsigned int choice[3], jobs, n, i;
	unsigned long orders = 0;

	for (jobs = 1; jobs <= 3; jobs++) {
		unsigned int total = 1;

		for (i = 0; i < jobs; i++)
			total *= CHOICES;
		for (n = 0; n < total; n++) {
			unsigned int rest = n;

			for (i = 0; i < jobs; i++, rest /= CHOICES)
				choice[i] = rest % CHOICES;
			orders += all_orders(setting, choice, jobs);
		}
	}
	print_message("%lu orders of events\n", orders);
}

static void test_exhaustive_one_mmu(void **state)
{
	const struct setting equals = { one_mmu, { RKNPU_LEVEL_NORMAL, RKNPU_LEVEL_NORMAL } };
	const struct setting levels = { one_mmu, { RKNPU_LEVEL_NORMAL, RKNPU_LEVEL_HIGH } };

	(void)state;
	exhaustive(&equals);
	exhaustive(&levels);
}

static void test_exhaustive_mmu_per_core(void **state)
{
	const struct setting equals = { mmu_per_core, { RKNPU_LEVEL_LOW, RKNPU_LEVEL_LOW } };
	const struct setting levels = { mmu_per_core, { RKNPU_LEVEL_LOWEST, RKNPU_LEVEL_LOW } };

	(void)state;
	exhaustive(&equals);
	exhaustive(&levels);
}

static void random_histories(const u8 *mmu, unsigned int seed)
{
	unsigned int round, i, events;
	struct world w;

	const enum rknpu_dispatch_level levels[FLOWS] = { RKNPU_LEVEL_HIGH,   RKNPU_LEVEL_NORMAL, RKNPU_LEVEL_LOWEST,
							  RKNPU_LEVEL_NORMAL, RKNPU_LEVEL_NORMAL, RKNPU_LEVEL_LOW };

	print_message("seed %u\n", seed);
	srand(seed);
	for (round = 0; round < 5000; round++) {
		world_init(&w, mmu, levels, FLOWS);
		for (i = 0; i < MAX_JOBS; i++)
			world_plan_flow(&w, rand() % CHOICES, rand() % FLOWS);
		while ((events = count_events(&w)))
			happen(&w, rand() % events);
		assert_int_equal(w.done, MAX_JOBS);
	}
}

static void test_random_one_mmu(void **state)
{
	(void)state;
	random_histories(one_mmu, 1);
}

static void test_random_mmu_per_core(void **state)
{
	(void)state;
	random_histories(mmu_per_core, 2);
}

/* A stopped core counts as at work until it is given back: its address space stays. */
static void test_stopped_core_keeps_its_space(void **state)
{
	struct world w;
	bool needs_switch;

	(void)state;
	world_init(&w, one_mmu, NULL, 0);
	world_plan(&w, 2 * 2); /* core 0, space 0 */
	world_plan(&w, 3 * 2 + 1); /* core 1, space 1 */
	arrive(&w);
	finish_switch(&w, &w.job[0]);
	rknpu_dispatch_stop(&w.d, 0);
	arrive(&w);
	assert_null(rknpu_dispatch_next(&w.d, &needs_switch));

	rknpu_dispatch_release(&w.d, 0);
	assert_ptr_equal(rknpu_dispatch_next(&w.d, &needs_switch), &w.job[1].sched);
	assert_true(needs_switch);
}

static void test_held_cores_get_nothing(void **state)
{
	struct world w;
	bool needs_switch;

	(void)state;
	world_init(&w, mmu_per_core, NULL, 0);
	world_plan(&w, 0);
	w.d.held = 7;
	w.job[0].state = WAITING;
	rknpu_dispatch_add(&w.d, &w.job[0].sched);
	assert_null(rknpu_dispatch_next(&w.d, &needs_switch));
	w.d.held = 3;
	assert_ptr_equal(rknpu_dispatch_next(&w.d, &needs_switch), &w.job[0].sched);
	assert_int_equal(w.job[0].sched.mask, 4);
}

static void test_retired_core(void **state)
{
	struct world w;
	bool needs_switch;

	(void)state;
	world_init(&w, mmu_per_core, NULL, 0);
	world_plan(&w, 3 * 2); /* core 1 */
	world_plan(&w, 6 * 2); /* all three */
	world_plan(&w, 0); /* any */
	rknpu_dispatch_retire(&w.d, 1);
	rknpu_dispatch_release(&w.d, 1);
	assert_int_equal(rknpu_dispatch_usable(&w.d), 5);
	rknpu_dispatch_add(&w.d, &w.job[0].sched);
	rknpu_dispatch_add(&w.d, &w.job[1].sched);
	rknpu_dispatch_add(&w.d, &w.job[2].sched);

	assert_ptr_equal(rknpu_dispatch_impossible(&w.d), &w.job[0].sched);
	assert_ptr_equal(rknpu_dispatch_impossible(&w.d), &w.job[1].sched);
	assert_null(rknpu_dispatch_impossible(&w.d));
	assert_ptr_equal(rknpu_dispatch_next(&w.d, &needs_switch), &w.job[2].sched);
}

/* A job for any core goes where its address space is in place already. */
static void test_any_core_avoids_a_switch(void **state)
{
	struct world w;
	bool needs_switch;

	(void)state;
	world_init(&w, mmu_per_core, NULL, 0);
	world_plan(&w, 3 * 2); /* core 1 */
	world_plan(&w, 0); /* any, of the same address space */
	arrive(&w);
	finish_switch(&w, &w.job[0]);
	finish_core(&w, 1);
	rknpu_dispatch_add(&w.d, &w.job[1].sched);
	assert_ptr_equal(rknpu_dispatch_next(&w.d, &needs_switch), &w.job[1].sched);
	assert_int_equal(w.job[1].sched.mask, 2);
	assert_false(needs_switch);
}

static void test_removed_job_never_starts(void **state)
{
	struct world w;
	bool needs_switch;

	(void)state;
	world_init(&w, one_mmu, NULL, 0);
	world_plan(&w, 0);
	w.d.held = 7;
	rknpu_dispatch_add(&w.d, &w.job[0].sched);
	assert_ptr_equal(rknpu_dispatch_waiting(&w.d), &w.job[0].sched);
	rknpu_dispatch_remove(&w.d, &w.job[0].sched);
	assert_null(rknpu_dispatch_waiting(&w.d));
	w.d.held = 0;
	assert_null(rknpu_dispatch_next(&w.d, &needs_switch));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exhaustive_one_mmu),
		cmocka_unit_test(test_exhaustive_mmu_per_core),
		cmocka_unit_test(test_random_one_mmu),
		cmocka_unit_test(test_random_mmu_per_core),
		cmocka_unit_test(test_stopped_core_keeps_its_space),
		cmocka_unit_test(test_held_cores_get_nothing),
		cmocka_unit_test(test_retired_core),
		cmocka_unit_test(test_any_core_avoids_a_switch),
		cmocka_unit_test(test_removed_job_never_starts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
