// SPDX-License-Identifier: GPL-2.0-only
/*
 * SUBMIT_ASYNC with syncobjs: what a job waits for and what it signals, binary and on timelines,
 * with DRM's own ioctls at the other end; what its fences and its result tell.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "fences_fixture.h"
#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_control.h"
#include "npu_matmul.h"
#include "npu_proc.h"
#include "npu_sync.h"

#define MS 1000 /* in microseconds */
#define FOR_SUBMIT DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT
#define AVAILABLE DRM_SYNCOBJ_WAIT_FLAGS_WAIT_AVAILABLE

/* Submits rows of the second product, on the same core. */
static int submit_other(FIXTURE_DATA(fences) * self, __u32 wait, __u64 point, __u32 signal,
			__u64 signal_point)
{
	struct npu_async job;

	npu_async_init(&job, &self->other, 1, 0, 2);
	if (wait)
		npu_async_wait(&job, wait, point);
	if (signal)
		npu_async_signal(&job, signal, signal_point);
	return npu_async_submit(self->fd, &job);
}

TEST_F(fences, signals_a_binary_syncobj)
{
	npu_async_signal(&self->job, self->out, 0);
	ASSERT_EQ(0, npu_async_submit(self->fd, &self->job));
	EXPECT_EQ(0, npu_syncobj_wait(self->fd, self->out, 0, 5000));
	EXPECT_EQ(0, npu_matmul_wrong(&self->mm, 0, 4));
	EXPECT_EQ(1, npu_syncobj_status(self->fd, self->out));
}

TEST_F(fences, runs_on_the_cores_of_the_mask)
{
	static const __u32 masks[] = { 0, 1, 2, 4, 3, 7 };
	unsigned int i, core;

	for (i = 0; i < ARRAY_SIZE(masks); i++) {
		__u32 mask = masks[i];

		if (mask && !npu_mask_valid(mask))
			continue;
		npu_matmul_poison(&self->mm);
		npu_async_init(&self->job, &self->mm, mask, 0, 4);
		if (mask == 3 || mask == 7) {
			/* One row each; on two cores the last rows belong to core 2 in vain. */
			for (core = 0; core < npu_cores(); core++) {
				self->job.args.range[core].task_start = core;
				self->job.args.range[core].task_number = 1;
			}
		}
		npu_async_signal(&self->job, self->out, 0);
		ASSERT_EQ(0, npu_async_submit(self->fd, &self->job));
		EXPECT_EQ(0, npu_syncobj_wait(self->fd, self->out, 0, 5000));
		EXPECT_EQ(1, npu_syncobj_status(self->fd, self->out));
		if (mask == 3) {
			EXPECT_EQ(0, npu_matmul_wrong(&self->mm, 0, 2));
			EXPECT_EQ(0, npu_matmul_touched(&self->mm, 2, 2));
		} else if (mask == 7) {
			EXPECT_EQ(0, npu_matmul_wrong(&self->mm, 0, 3));
			EXPECT_EQ(0, npu_matmul_touched(&self->mm, 3, 1));
		} else {
			EXPECT_EQ(0, npu_matmul_wrong(&self->mm, 0, 4));
		}
	}
}

TEST_F(fences, returns_before_the_end)
{
	long before;

	npu_slow(0, 100 * MS);
	npu_async_signal(&self->job, self->out, 0);
	before = npu_now_ms();
	ASSERT_EQ(0, npu_async_submit(self->fd, &self->job));
	EXPECT_GT(300, npu_now_ms() - before);
	EXPECT_EQ(-ETIME, npu_syncobj_wait(self->fd, self->out, 0, 0));
	EXPECT_EQ(0, npu_syncobj_status(self->fd, self->out));
	EXPECT_EQ(0, npu_syncobj_wait(self->fd, self->out, 0, 5000));
	EXPECT_LE(400, npu_now_ms() - before);
	EXPECT_EQ(0, npu_matmul_wrong(&self->mm, 0, 4));
}

TEST_F(fences, signals_a_point)
{
	npu_async_signal(&self->job, self->out, 7);
	ASSERT_EQ(0, npu_async_submit(self->fd, &self->job));
	EXPECT_EQ(0, npu_syncobj_wait_point(self->fd, self->out, 7, 0, 5000));
	EXPECT_EQ(7, npu_syncobj_point(self->fd, self->out));
	EXPECT_EQ(0, npu_syncobj_wait_point(self->fd, self->out, 3, 0, 0));
	EXPECT_EQ(-EINVAL, npu_syncobj_wait_point(self->fd, self->out, 8, 0, 0));
	EXPECT_EQ(0, npu_matmul_wrong(&self->mm, 0, 4));
}

/* DRM's waits that begin before there is a job */
struct early {
	int fd;
	__u32 syncobj;
	__u64 point;
	__u32 flags;
	int ret;
};

static void *wait_early(void *arg)
{
	struct early *early = arg;

	if (early->point)
		early->ret = npu_syncobj_wait_point(early->fd, early->syncobj, early->point,
						    early->flags, 10000);
	else
		early->ret = npu_syncobj_wait(early->fd, early->syncobj, early->flags, 10000);
	return NULL;
}

TEST_F(fences, wakes_who_waited_for_the_submission)
{
	struct early early[] = {
		{ self->fd, self->out, 0, FOR_SUBMIT, 1 },
		{ self->fd, self->in, 5, FOR_SUBMIT, 1 },
		{ self->fd, self->in, 5, AVAILABLE, 1 },
	};
	pthread_t thread[ARRAY_SIZE(early)];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(early); i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, wait_early, &early[i]));
	npu_sleep_ms(100);
	for (i = 0; i < ARRAY_SIZE(early); i++)
		EXPECT_EQ(1, early[i].ret);
	npu_async_signal(&self->job, self->out, 0);
	npu_async_signal(&self->job, self->in, 5);
	ASSERT_EQ(0, npu_async_submit(self->fd, &self->job));
	for (i = 0; i < ARRAY_SIZE(early); i++) {
		pthread_join(thread[i], NULL);
		EXPECT_EQ(0, early[i].ret);
	}
}

TEST_F(fences, waits_for_a_job_on_another_core)
{
	struct npu_async second;

	npu_slow(0, 50 * MS);
	npu_async_signal(&self->job, self->in, 0);
	npu_async_init(&second, &self->other, npu_core(1), 0, 2);
	npu_async_wait(&second, self->in, 0);
	npu_async_signal(&second, self->out, 0);
	ASSERT_EQ(0, npu_async_submit(self->fd, &self->job));
	ASSERT_EQ(0, npu_async_submit(self->fd, &second));
	npu_sleep_ms(50);
	EXPECT_EQ(0, npu_matmul_touched(&self->other, 0, 2));
	EXPECT_EQ(0, npu_syncobj_wait(self->fd, self->out, 0, 5000));
	/* The first one has ended before. */
	EXPECT_EQ(1, npu_syncobj_status(self->fd, self->in));
	EXPECT_EQ(0, npu_matmul_wrong(&self->mm, 0, 4));
	EXPECT_EQ(0, npu_matmul_wrong(&self->other, 0, 2));
}

TEST_F(fences, waits_for_all_and_signals_all)
{
	__u32 more_in = npu_syncobj(self->fd, false), more_out = npu_syncobj(self->fd, false);

	ASSERT_EQ(0, npu_sw_to_syncobj(self->timeline, 1, self->fd, self->in));
	ASSERT_EQ(0, npu_sw_to_syncobj(self->timeline, 2, self->fd, more_in));
	npu_async_wait(&self->job, self->in, 0);
	npu_async_wait(&self->job, more_in, 0);
	npu_async_wait(&self->job, self->in, 0);
	npu_async_signal(&self->job, self->out, 0);
	npu_async_signal(&self->job, more_out, 1);
	npu_async_signal(&self->job, more_out, 2);
	ASSERT_EQ(0, npu_async_submit(self->fd, &self->job));
	npu_sw_advance(self->timeline, 1);
	EXPECT_EQ(-ETIME, npu_syncobj_wait(self->fd, self->out, 0, 100));
	EXPECT_EQ(0, npu_matmul_touched(&self->mm, 0, 4));
	npu_sw_advance(self->timeline, 1);
	EXPECT_EQ(0, npu_syncobj_wait(self->fd, self->out, 0, 5000));
	EXPECT_EQ(0, npu_syncobj_wait_point(self->fd, more_out, 2, 0, 5000));
	EXPECT_EQ(0, npu_matmul_wrong(&self->mm, 0, 4));
}

/* One that waits for what will never signal keeps nobody else from the core. */
TEST_F(fences, unsignalled_blocks_nobody)
{
	long before = npu_now_ms();

	ASSERT_EQ(0, npu_sw_to_syncobj(self->timeline, 1, self->fd, self->in));
	npu_async_wait(&self->job, self->in, 0);
	npu_async_signal(&self->job, self->out, 0);
	ASSERT_EQ(0, npu_async_submit(self->fd, &self->job));
	EXPECT_GT(1000, npu_now_ms() - before);
	ASSERT_EQ(0, submit_other(self, 0, 0, self->in, 0));
	EXPECT_EQ(0, npu_syncobj_wait(self->fd, self->in, 0, 5000));
	EXPECT_EQ(0, npu_matmul_wrong(&self->other, 0, 2));
	EXPECT_EQ(-ETIME, npu_syncobj_wait(self->fd, self->out, 0, 0));
	EXPECT_EQ(0, npu_matmul_touched(&self->mm, 0, 4));
	npu_sw_advance(self->timeline, 1);
	EXPECT_EQ(0, npu_syncobj_wait(self->fd, self->out, 0, 5000));
	EXPECT_EQ(0, npu_matmul_wrong(&self->mm, 0, 4));
}

/* The time of a job does not run while it waits. */
TEST_F(fences, waiting_costs_no_time)
{
	ASSERT_EQ(0, npu_sw_to_syncobj(self->timeline, 1, self->fd, self->in));
	npu_async_wait(&self->job, self->in, 0);
	npu_async_signal(&self->job, self->out, 0);
	self->job.args.timeout_ms = 200;
	ASSERT_EQ(0, npu_async_submit(self->fd, &self->job));
	npu_sleep_ms(500);
	npu_sw_advance(self->timeline, 1);
	EXPECT_EQ(0, npu_syncobj_wait(self->fd, self->out, 0, 5000));
	EXPECT_EQ(1, npu_syncobj_status(self->fd, self->out));
}

TEST_F(fences, signalled_already)
{
	__u32 done = npu_syncobj(self->fd, true);

	ASSERT_EQ(0, npu_syncobj_signal_point(self->fd, self->in, 4));
	npu_async_wait(&self->job, done, 0);
	npu_async_wait(&self->job, self->in, 2);
	npu_async_wait(&self->job, self->in, 4);
	npu_async_signal(&self->job, self->out, 0);
	ASSERT_EQ(0, npu_async_submit(self->fd, &self->job));
	EXPECT_EQ(0, npu_syncobj_wait(self->fd, self->out, 0, 5000));
	EXPECT_EQ(0, npu_matmul_wrong(&self->mm, 0, 4));
}

/* What has not been promised can't be waited for, and nobody is kept until it is. */
TEST_F(fences, nothing_to_wait_for)
{
	long before = npu_now_ms();

	npu_async_wait(&self->job, self->in, 0);
	EXPECT_EQ(-EINVAL, npu_async_submit(self->fd, &self->job));
	self->job.wait[0].point = 1;
	EXPECT_EQ(-EINVAL, npu_async_submit(self->fd, &self->job));
	ASSERT_EQ(0, npu_syncobj_signal_point(self->fd, self->in, 4));
	self->job.wait[0].point = 5;
	EXPECT_EQ(-EINVAL, npu_async_submit(self->fd, &self->job));
	EXPECT_GT(1000, npu_now_ms() - before);
	EXPECT_EQ(0, npu_matmul_touched(&self->mm, 0, 4));
}

/* A syncobj that is waited for and signalled by the same job, and a ring of two jobs */
TEST_F(fences, rings_do_not_lock_up)
{
	unsigned int i;

	ASSERT_EQ(0, npu_sw_to_syncobj(self->timeline, 1, self->fd, self->in));
	for (i = 0; i < 20; i++) {
		npu_async_init(&self->job, &self->mm, 1, 0, 4);
		npu_async_wait(&self->job, self->in, 0);
		npu_async_signal(&self->job, self->in, 0);
		npu_async_signal(&self->job, self->out, 0);
		ASSERT_EQ(0, npu_async_submit(self->fd, &self->job));
		ASSERT_EQ(0, submit_other(self, self->out, 0, self->in, 0));
	}
	EXPECT_EQ(-ETIME, npu_syncobj_wait(self->fd, self->in, 0, 50));
	npu_sw_advance(self->timeline, 1);
	EXPECT_EQ(0, npu_syncobj_wait(self->fd, self->in, 0, 10000));
	EXPECT_EQ(1, npu_syncobj_status(self->fd, self->in));
	EXPECT_EQ(0, npu_matmul_wrong(&self->mm, 0, 4));
	EXPECT_EQ(0, npu_matmul_wrong(&self->other, 0, 2));
}

TEST_F_TIMEOUT(fences, long_timeline, 60)
{
	unsigned int i;

	ASSERT_EQ(0, npu_sw_to_syncobj(self->timeline, 1, self->fd, self->in));
	ASSERT_EQ(0, npu_syncobj_transfer(self->fd, self->out, 1, self->in, 0));
	for (i = 1; i < 1000; i++)
		ASSERT_EQ(0, submit_other(self, self->out, i, self->out, i + 1));
	EXPECT_EQ(0, npu_syncobj_point(self->fd, self->out));
	EXPECT_EQ(-ETIME, npu_syncobj_wait_point(self->fd, self->out, 1, 0, 50));
	npu_sw_advance(self->timeline, 1);
	EXPECT_EQ(0, npu_syncobj_wait_point(self->fd, self->out, 1000, 0, 30000));
	EXPECT_EQ(1000, npu_syncobj_point(self->fd, self->out));
	EXPECT_EQ(0, npu_matmul_wrong(&self->other, 0, 2));
}

/* A point that ends before an earlier one of its timeline counts when that has ended, too. */
TEST_F(fences, points_end_out_of_order)
{
	ASSERT_EQ(0, npu_sw_to_syncobj(self->timeline, 1, self->fd, self->in));
	npu_async_wait(&self->job, self->in, 0);
	npu_async_signal(&self->job, self->out, 1);
	ASSERT_EQ(0, npu_async_submit(self->fd, &self->job));
	ASSERT_EQ(0, submit_other(self, 0, 0, self->out, 2));
	EXPECT_EQ(-ETIME, npu_syncobj_wait_point(self->fd, self->out, 2, 0, 200));
	EXPECT_EQ(0, npu_matmul_wrong(&self->other, 0, 2));

	/* So says a job that waits for it as well. */
	npu_matmul_poison(&self->other);
	ASSERT_EQ(0, submit_other(self, self->out, 2, self->out, 3));
	npu_sleep_ms(100);
	EXPECT_EQ(0, npu_matmul_touched(&self->other, 0, 2));
	npu_sw_advance(self->timeline, 1);
	EXPECT_EQ(0, npu_syncobj_wait_point(self->fd, self->out, 3, 0, 5000));
	EXPECT_EQ(0, npu_matmul_wrong(&self->other, 0, 2));
	EXPECT_EQ(0, npu_matmul_wrong(&self->mm, 0, 4));
}

/* Points that are added in a falling order are DRM's to explain; nothing may get stuck or lost. */
TEST_F(fences, points_added_out_of_order)
{
	ASSERT_EQ(0, submit_other(self, 0, 0, self->out, 5));
	npu_async_signal(&self->job, self->out, 3);
	ASSERT_EQ(0, npu_async_submit(self->fd, &self->job));
	EXPECT_EQ(0, npu_syncobj_wait_point(self->fd, self->out, 3, 0, 5000));
	EXPECT_EQ(0, npu_syncobj_wait_point(self->fd, self->out, 5, 0, 5000));
	EXPECT_EQ(0, npu_matmul_wrong(&self->mm, 0, 4));
	EXPECT_EQ(0, npu_matmul_wrong(&self->other, 0, 2));
	npu_matmul_poison(&self->other);
	ASSERT_EQ(0, submit_other(self, self->out, 3, self->in, 0));
	EXPECT_EQ(0, npu_syncobj_wait(self->fd, self->in, 0, 5000));
	EXPECT_EQ(0, npu_matmul_wrong(&self->other, 0, 2));
}

TEST_F(fences, sync_files_out_and_in)
{
	char driver[32] = "";
	int fence;

	npu_slow(0, 30 * MS);
	npu_async_signal(&self->job, self->out, 0);
	ASSERT_EQ(0, npu_async_submit(self->fd, &self->job));
	fence = npu_syncobj_export(self->fd, self->out);
	ASSERT_LE(0, fence);
	EXPECT_EQ(0, npu_fence_status(fence, driver));
	EXPECT_STREQ("rknpu", driver);
	ASSERT_EQ(0, npu_syncobj_import(self->fd, self->in, fence));
	ASSERT_EQ(0, submit_other(self, self->in, 0, self->out, 0));
	EXPECT_EQ(0, npu_syncobj_wait(self->fd, self->out, 0, 5000));
	EXPECT_EQ(1, npu_fence_status(fence, NULL));
	EXPECT_EQ(0, npu_matmul_wrong(&self->mm, 0, 4));
	EXPECT_EQ(0, npu_matmul_wrong(&self->other, 0, 2));
	close(fence);
}

/* The job fails with the error, whatever stands between the failed fence and it. */
static void expect_failed(struct __test_metadata *_metadata, FIXTURE_DATA(fences) * self, int error)
{
	EXPECT_EQ(0, npu_syncobj_wait(self->fd, self->out, 0, 5000));
	EXPECT_EQ(error, npu_syncobj_status(self->fd, self->out));
	EXPECT_EQ(0, npu_matmul_touched(&self->other, 0, 2));
}

TEST_F(fences, timeout_is_passed_on)
{
	npu_fault(0, VNPU_FAULT_HANG, 0);
	npu_async_signal(&self->job, self->in, 0);
	self->job.args.timeout_ms = 100;
	ASSERT_EQ(0, npu_async_submit(self->fd, &self->job));
	ASSERT_EQ(0, submit_other(self, self->in, 0, self->out, 0));
	expect_failed(_metadata, self, -ETIMEDOUT);
	EXPECT_EQ(-ETIMEDOUT, npu_syncobj_status(self->fd, self->in));
	/* Afterwards, too */
	ASSERT_EQ(0, submit_other(self, self->in, 0, self->out, 0));
	expect_failed(_metadata, self, -ETIMEDOUT);
}

TEST_F(fences, error_is_passed_on_along_a_timeline)
{
	npu_fault(0, VNPU_FAULT_WRONG_BITS, 0x1000);
	npu_async_signal(&self->job, self->in, 9);
	ASSERT_EQ(0, npu_async_submit(self->fd, &self->job));
	ASSERT_EQ(0, submit_other(self, self->in, 9, self->out, 0));
	expect_failed(_metadata, self, -EIO);
	ASSERT_EQ(0, submit_other(self, self->in, 9, self->out, 0));
	expect_failed(_metadata, self, -EIO);
}

/* The same with links before it that have not signalled when the job is submitted */
TEST_F(fences, error_is_passed_on_from_the_end_of_a_timeline)
{
	__u32 first = npu_syncobj(self->fd, false);

	ASSERT_EQ(0, npu_sw_to_syncobj(self->timeline, 1, self->fd, first));
	ASSERT_EQ(0, npu_syncobj_transfer(self->fd, self->in, 1, first, 0));
	npu_fault(0, VNPU_FAULT_WRONG_BITS, 0x1000);
	npu_async_signal(&self->job, self->in, 2);
	ASSERT_EQ(0, npu_async_submit(self->fd, &self->job));
	ASSERT_EQ(0, submit_other(self, self->in, 2, self->out, 0));
	EXPECT_EQ(-ETIME, npu_syncobj_wait(self->fd, self->out, 0, 200));
	npu_sw_advance(self->timeline, 1);
	expect_failed(_metadata, self, -EIO);
}

/* What stands before the awaited point gives the order, not the result. */
TEST_F(fences, earlier_points_may_fail)
{
	int timeline = npu_sw_open(), fence = npu_sw_fence(timeline, 1);
	__u32 first = npu_syncobj(self->fd, false);

	ASSERT_EQ(0, npu_syncobj_import(self->fd, first, fence));
	close(fence);
	ASSERT_EQ(0, npu_syncobj_transfer(self->fd, self->in, 1, first, 0));
	npu_async_signal(&self->job, self->in, 2);
	ASSERT_EQ(0, npu_async_submit(self->fd, &self->job));
	ASSERT_EQ(0, submit_other(self, self->in, 2, self->out, 0));
	EXPECT_EQ(-ETIME, npu_syncobj_wait(self->fd, self->out, 0, 100));
	close(timeline);
	EXPECT_EQ(0, npu_syncobj_wait(self->fd, self->out, 0, 5000));
	EXPECT_EQ(-ENOENT, npu_syncobj_status(self->fd, first));
	EXPECT_EQ(1, npu_syncobj_status(self->fd, self->out));
	EXPECT_EQ(0, npu_matmul_wrong(&self->other, 0, 2));
}

/* sw_sync fails what is pending when its timeline is closed. */
TEST_F(fences, foreign_error_is_passed_on)
{
	int timeline = npu_sw_open(), fence = npu_sw_fence(timeline, 1);

	ASSERT_EQ(0, npu_syncobj_import(self->fd, self->in, fence));
	close(fence);
	ASSERT_EQ(0, submit_other(self, self->in, 0, self->out, 0));
	EXPECT_EQ(-ETIME, npu_syncobj_wait(self->fd, self->out, 0, 50));
	close(timeline);
	expect_failed(_metadata, self, -ENOENT);
}

/* A merged sync file in a link of a timeline: all that a fence can be wrapped in */
TEST_F(fences, merged_fences_on_a_timeline)
{
	int timeline = npu_sw_open(), bad = npu_sw_fence(timeline, 1);
	int good = npu_sw_fence(self->timeline, 1), both = npu_fence_merge(bad, good);
	__u32 merged = npu_syncobj(self->fd, false);

	ASSERT_LE(0, both);
	ASSERT_EQ(0, npu_syncobj_import(self->fd, merged, both));
	ASSERT_EQ(0, npu_syncobj_transfer(self->fd, self->in, 3, merged, 0));
	ASSERT_EQ(0, submit_other(self, self->in, 3, self->out, 0));
	close(timeline);
	EXPECT_EQ(-ETIME, npu_syncobj_wait(self->fd, self->out, 0, 100));
	npu_sw_advance(self->timeline, 1);
	expect_failed(_metadata, self, -ENOENT);
	close(bad);
	close(good);
	close(both);
}

/* The result of a job, in a buffer of its own */
static int ask_result(FIXTURE_DATA(fences) * self, struct npu_bo *bo)
{
	int ret = npu_bo_create(bo, self->fd, 8192, NPU_DATA);

	if (ret)
		return ret;
	memset(bo->map, 0xee, 8192);
	self->job.args.result_handle = bo->handle;
	self->job.args.result_offset = 4096 - 16;
	npu_async_signal(&self->job, self->out, 0);
	return 0;
}

/* Nothing around the result has changed. */
static bool only_result(const struct npu_bo *bo, size_t at)
{
	const unsigned char *bytes = bo->map;
	size_t i;

	for (i = 0; i < 8192; i++)
		if ((i < at || i >= at + sizeof(struct rknpu_job_result)) && bytes[i] != 0xee)
			return false;
	return true;
}

TEST_F(fences, result_of_a_good_job)
{
	struct rknpu_job_result *result;
	const unsigned int core = npu_cores() - 1;
	long long before = npu_now_ns();
	struct npu_bo bo;

	ASSERT_EQ(0, ask_result(self, &bo));
	result = bo.map + 4096 - 16;
	npu_slow(core, 10 * MS);
	self->job.args.core_mask = 1U << core;
	ASSERT_EQ(0, npu_async_submit(self->fd, &self->job));
	EXPECT_EQ(0, npu_syncobj_wait(self->fd, self->out, 0, 5000));
	EXPECT_EQ(0, result->error);
	EXPECT_EQ(1U << core, result->core_mask);
	EXPECT_EQ(4, result->task_counter);
	/* One pair of bits: of one register group or the other */
	EXPECT_NE(0, result->int_status & NPU_INT_DPU);
	EXPECT_LE(before, result->started_ns);
	EXPECT_LE(40 * 1000000, result->ended_ns - result->started_ns);
	EXPECT_GE(npu_now_ns(), result->ended_ns);
	EXPECT_TRUE(only_result(&bo, 4096 - 16));
	npu_bo_destroy(&bo);
}

TEST_F(fences, result_of_a_job_that_hangs)
{
	struct rknpu_job_result *result;
	struct npu_bo bo;

	ASSERT_EQ(0, ask_result(self, &bo));
	result = bo.map + 4096 - 16;
	npu_fault(0, VNPU_FAULT_HANG, 0);
	self->job.args.timeout_ms = 100;
	ASSERT_EQ(0, npu_async_submit(self->fd, &self->job));
	EXPECT_EQ(0, npu_syncobj_wait(self->fd, self->out, 0, 5000));
	EXPECT_EQ(-ETIMEDOUT, npu_syncobj_status(self->fd, self->out));
	EXPECT_EQ(-ETIMEDOUT, result->error);
	EXPECT_EQ(1, result->core_mask);
	EXPECT_EQ(0, result->task_counter);
	EXPECT_LE(100 * 1000000, result->ended_ns - result->started_ns);
	EXPECT_TRUE(only_result(&bo, 4096 - 16));
	npu_bo_destroy(&bo);
}

/* Of a job that never ran, into a buffer that user space has given up */
TEST_F(fences, result_of_a_job_that_never_ran)
{
	struct rknpu_job_result *result;
	int timeline = npu_sw_open(), fence = npu_sw_fence(timeline, 1);
	struct npu_bo bo;

	ASSERT_EQ(0, npu_syncobj_import(self->fd, self->in, fence));
	close(fence);
	ASSERT_EQ(0, ask_result(self, &bo));
	result = bo.map + 4096 - 16;
	npu_async_wait(&self->job, self->in, 0);
	ASSERT_EQ(0, npu_async_submit(self->fd, &self->job));
	ASSERT_EQ(0, npu_destroy(self->fd, bo.handle));
	bo.handle = 0;
	close(timeline);
	EXPECT_EQ(0, npu_syncobj_wait(self->fd, self->out, 0, 5000));
	EXPECT_EQ(-ENOENT, result->error);
	EXPECT_EQ(0, result->core_mask);
	EXPECT_EQ(0, result->task_counter);
	EXPECT_EQ(0, result->started_ns);
	EXPECT_EQ(0, result->ended_ns);
	EXPECT_TRUE(only_result(&bo, 4096 - 16));
	npu_bo_destroy(&bo);
}

/* Both ioctls in one queue: a sync file of one is waited for by the other. */
TEST_F(fences, mixes_with_submit)
{
	struct rknpu_submit submit;
	int fence;

	npu_slow(0, 30 * MS);
	npu_async_signal(&self->job, self->out, 0);
	ASSERT_EQ(0, npu_async_submit(self->fd, &self->job));
	fence = npu_syncobj_export(self->fd, self->out);
	npu_matmul_job(&self->other, &submit, npu_core(1), 0, 2);
	submit.flags |= RKNPU_JOB_FENCE_IN;
	submit.fence_fd = fence;
	EXPECT_EQ(0, npu_submit(self->fd, &submit));
	EXPECT_EQ(1, npu_fence_status(fence, NULL));
	EXPECT_EQ(0, npu_matmul_wrong(&self->other, 0, 2));
	EXPECT_EQ(0, npu_matmul_wrong(&self->mm, 0, 4));
	close(fence);
}

/* Closing the file ends a waiting job at once; everybody hears of it. */
TEST_F(fences, close_with_waiting_jobs)
{
	int fd = npu_open(), fence = npu_sw_fence(self->timeline, 1), out;
	__u32 in = npu_syncobj(fd, false), signal = npu_syncobj(fd, false);
	struct npu_async job;
	struct npu_matmul mm;

	ASSERT_EQ(0, npu_matmul_create(&mm, fd, 2, 64, 32, 3));
	npu_async_init(&job, &mm, 1, 0, 2);
	ASSERT_EQ(0, npu_syncobj_import(fd, in, fence));
	npu_async_wait(&job, in, 0);
	npu_async_signal(&job, signal, 0);
	ASSERT_EQ(0, npu_async_submit(fd, &job));
	out = npu_syncobj_export(fd, signal);
	ASSERT_LE(0, out);
	npu_matmul_destroy(&mm);
	close(fd);
	EXPECT_EQ(1, npu_fence_signalled(out, 1000));
	EXPECT_EQ(-ECANCELED, npu_fence_status(out, NULL));
	npu_sw_advance(self->timeline, 1);
	close(out);
	close(fence);
}

/* The process that submits, holding what its parent waits for */
struct victim {
	int in, ready;
};

static int submit_and_sleep(void *arg)
{
	struct victim *victim = arg;
	int fd = npu_open(), i;
	struct npu_async job;
	struct npu_matmul mm;
	__u32 in, out;

	if (fd < 0 || npu_matmul_create(&mm, fd, 2, 64, 32, 3))
		return 1;
	in = npu_syncobj(fd, false);
	out = npu_syncobj(fd, false);
	if (npu_syncobj_import(fd, in, victim->in))
		return 2;
	for (i = 0; i < 100; i++) {
		npu_async_init(&job, &mm, 1, 0, 2);
		npu_async_wait(&job, in, 0);
		npu_async_signal(&job, out, i + 1);
		if (npu_async_submit(fd, &job))
			return 3;
	}
	if (write(victim->ready, "", 1) != 1)
		return 4;
	npu_sleep_ms(60000);
	return 0;
}

TEST_F(fences, kill_with_waiting_jobs)
{
	int fence = npu_sw_fence(self->timeline, 1), ready[2];
	struct victim victim;
	char byte;
	pid_t pid;

	ASSERT_EQ(0, pipe(ready));
	victim = (struct victim) { fence, ready[1] };
	pid = npu_spawn(submit_and_sleep, &victim);
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	kill(pid, SIGKILL);
	EXPECT_EQ(NPU_SIGNALLED(SIGKILL), npu_join(pid, 1000));
	npu_sw_advance(self->timeline, 1);
	close(fence);
	close(ready[0]);
	close(ready[1]);
}

TEST_HARNESS_MAIN
