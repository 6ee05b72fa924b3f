// SPDX-License-Identifier: GPL-2.0-only
/*
 * The dispatcher against the rules that docs/architecture.md states for it. A small world keeps its own books of which
 * core runs what and checks every decision:
 *
 *  - a core never gets a second job, a job gets exactly the cores that it asked for, or one of them;
 *  - cores behind one IOMMU never work in different address spaces, and an address space changes only while all of
 *    them are quiet;
 *  - nothing starts on a core that the oldest waiting job asked for, except that job;
 *  - as long as something waits, something runs or is about to: no deadlock; and in the end everything has run.
 *
 * All orders of events are tried for every choice of up to three jobs; longer histories are drawn at random.
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

enum job_state { NEW, WAITING, SWITCHING, RUNNING, DONE };

struct job {
	struct rknpu_dispatch_job sched;
	enum job_state state;
	unsigned int space;
	u8 left; /* cores that have not finished */
};

struct world {
	struct rknpu_dispatch d;
	const u8 *mmu;
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

static void world_init(struct world *w, const u8 *mmu)
{
	memset(w, 0, sizeof(*w));
	w->mmu = mmu;
	rknpu_dispatch_init(&w->d, CORES, mmu);
}

static void world_plan(struct world *w, unsigned int choice)
{
	struct job *job = &w->job[w->jobs++];

	job->space = choice % 2;
	job->sched.wanted = kinds[choice / 2].wanted;
	job->sched.any = kinds[choice / 2].any;
	job->sched.space = &spaces[job->space];
}

static struct job *oldest_waiting(struct world *w)
{
	unsigned int i;

	for (i = 0; i < w->arrived; i++)
		if (w->job[i].state == WAITING)
			return &w->job[i];
	return NULL;
}

static bool anything_at_work(const struct world *w)
{
	return w->on_core[0] || w->on_core[1] || w->on_core[2];
}

static void check_start(struct world *w, struct job *job, const struct job *oldest, bool needs_switch)
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
	if (job != oldest)
		assert_int_equal(mask & oldest->sched.wanted, 0);

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
	const struct job *oldest;
	bool needs_switch;
	unsigned int i;

	while (oldest = oldest_waiting(w), next = rknpu_dispatch_next(&w->d, &needs_switch)) {
		struct job *job = list_entry(next, struct job, sched);

		check_start(w, job, oldest, needs_switch);
		for (i = 0; i < CORES; i++)
			if (next->mask & 1 << i)
				w->on_core[i] = job;
		job->state = needs_switch ? SWITCHING : RUNNING;
		job->left = next->mask;
	}
	if (oldest_waiting(w))
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

/* Replays a history of choices, then goes on with the first possible event each time. Returns the length. */
static unsigned int replay(const u8 *mmu, const unsigned int *choice, unsigned int jobs, unsigned int *history,
			   unsigned int *width)
{
	struct world w;
	unsigned int step = 0, i;

	world_init(&w, mmu);
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
static unsigned long all_orders(const u8 *mmu, const unsigned int *choice, unsigned int jobs)
{
	unsigned int history[MAX_EVENTS] = { 0 }, width[MAX_EVENTS], length;
	unsigned long orders = 0;

	for (;;) {
		length = replay(mmu, choice, jobs, history, width);
		orders++;
		while (length && history[length - 1] + 1 == width[length - 1])
			history[--length] = 0;
		if (!length)
			return orders;
		history[length - 1]++;
	}
}

static void exhaustive(const u8 *mmu)
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
			orders += all_orders(mmu, choice, jobs);
		}
	}
	print_message("%lu orders of events\n", orders);
}

static void test_exhaustive_one_mmu(void **state)
{
	(void)state;
	exhaustive(one_mmu);
}

static void test_exhaustive_mmu_per_core(void **state)
{
	(void)state;
	exhaustive(mmu_per_core);
}

static void random_histories(const u8 *mmu, unsigned int seed)
{
	unsigned int round, i, events;
	struct world w;

	print_message("seed %u\n", seed);
	srand(seed);
	for (round = 0; round < 5000; round++) {
		world_init(&w, mmu);
		for (i = 0; i < MAX_JOBS; i++)
			world_plan(&w, rand() % CHOICES);
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
	world_init(&w, one_mmu);
	world_plan(&w, 2 * 2);     /* core 0, space 0 */
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
	world_init(&w, mmu_per_core);
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
	world_init(&w, mmu_per_core);
	world_plan(&w, 3 * 2); /* core 1 */
	world_plan(&w, 6 * 2); /* all three */
	world_plan(&w, 0);     /* any */
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

static void test_removed_job_never_starts(void **state)
{
	struct world w;
	bool needs_switch;

	(void)state;
	world_init(&w, one_mmu);
	world_plan(&w, 0);
	w.d.held = 7;
	rknpu_dispatch_add(&w.d, &w.job[0].sched);
	rknpu_dispatch_remove(&w.job[0].sched);
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
		cmocka_unit_test(test_removed_job_never_starts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
