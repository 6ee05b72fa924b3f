// SPDX-License-Identifier: GPL-2.0-only
/*
 * CANCEL: jobs that wait for a fence, for a core, that run, that have ended; of this file and of
 * others. What is taken back has touched nothing, and nobody else notices.
 */
#include <errno.h>
#include <unistd.h>

#include "fences_fixture.h"
#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_control.h"
#include "npu_matmul.h"
#include "npu_proc.h"
#include "npu_soc.h"
#include "npu_sync.h"

#define MS 1000 /* in microseconds */

/* Submits rows of the second product, which wait for the first one every other time. */
static int submit_behind(FIXTURE_DATA(fences) * self, int i)
{
	struct npu_async job;

	npu_async_init(&job, &self->other, 0, 0, 2);
	if (i % 2)
		npu_async_wait(&job, self->out, 0);
	npu_async_signal(&job, self->in, 0);
	return npu_async_submit(self->fd, &job);
}

TEST_F(fences, waiting_for_a_fence)
{
	ASSERT_EQ(0, npu_sw_to_syncobj(self->timeline, 1, self->fd, self->in));
	npu_async_wait(&self->job, self->in, 0);
	npu_async_signal(&self->job, self->out, 0);
	ASSERT_EQ(0, npu_async_submit(self->fd, &self->job));
	EXPECT_EQ(-ETIME, npu_syncobj_wait(self->fd, self->out, 0, 50));
	EXPECT_EQ(0, npu_async_cancel(self->fd, self->out, 0));
	EXPECT_EQ(0, npu_syncobj_wait(self->fd, self->out, 0, 0));
	EXPECT_EQ(-ECANCELED, npu_syncobj_status(self->fd, self->out));
	npu_sw_advance(self->timeline, 1);
	npu_sleep_ms(50);
	EXPECT_EQ(0, npu_matmul_touched(&self->mm, 0, 4));
}

TEST_F(fences, waiting_for_a_core)
{
	struct npu_async second;

	npu_slow(0, 100 * MS);
	npu_async_signal(&self->job, self->in, 0);
	ASSERT_EQ(0, npu_async_submit(self->fd, &self->job));
	npu_async_init(&second, &self->other, 1, 0, 2);
	npu_async_signal(&second, self->out, 0);
	ASSERT_EQ(0, npu_async_submit(self->fd, &second));
	EXPECT_EQ(0, npu_async_cancel(self->fd, self->out, 0));
	EXPECT_EQ(-ECANCELED, npu_syncobj_status(self->fd, self->out));
	EXPECT_EQ(0, npu_syncobj_status(self->fd, self->in));
	EXPECT_EQ(0, npu_syncobj_wait(self->fd, self->in, 0, 5000));
	EXPECT_EQ(1, npu_syncobj_status(self->fd, self->in));
	EXPECT_EQ(0, npu_matmul_wrong(&self->mm, 0, 4));
	EXPECT_EQ(0, npu_matmul_touched(&self->other, 0, 2));
}

/* It keeps its core for a quarter of a second, not for its own minute. */
TEST_F(fences, running)
{
	npu_slow(0, 10000 * MS);
	npu_async_signal(&self->job, self->out, 0);
	self->job.args.timeout_ms = RKNPU_MAX_TIMEOUT_MS;
	ASSERT_EQ(0, npu_async_submit(self->fd, &self->job));
	npu_sleep_ms(50);
	EXPECT_EQ(0, npu_async_cancel(self->fd, self->out, 0));
	EXPECT_EQ(0, npu_async_cancel(self->fd, self->out, 0));
	EXPECT_EQ(0, npu_syncobj_status(self->fd, self->out));
	EXPECT_EQ(0, npu_syncobj_wait(self->fd, self->out, 0, 5000));
	EXPECT_EQ(-ETIMEDOUT, npu_syncobj_status(self->fd, self->out));
}

TEST_F(fences, runs_to_its_end_if_that_is_near)
{
	npu_slow(0, 20 * MS);
	npu_async_signal(&self->job, self->out, 0);
	ASSERT_EQ(0, npu_async_submit(self->fd, &self->job));
	EXPECT_EQ(0, npu_async_cancel(self->fd, self->out, 0));
	EXPECT_EQ(0, npu_syncobj_wait(self->fd, self->out, 0, 5000));
	EXPECT_EQ(1, npu_syncobj_status(self->fd, self->out));
	EXPECT_EQ(0, npu_matmul_wrong(&self->mm, 0, 4));
}

TEST_F(fences, by_a_point)
{
	ASSERT_EQ(0, npu_sw_to_syncobj(self->timeline, 1, self->fd, self->in));
	npu_async_wait(&self->job, self->in, 0);
	npu_async_signal(&self->job, self->out, 3);
	ASSERT_EQ(0, npu_async_submit(self->fd, &self->job));
	EXPECT_EQ(-EINVAL, npu_async_cancel(self->fd, self->out, 4));
	EXPECT_EQ(-ETIME, npu_syncobj_wait_point(self->fd, self->out, 3, 0, 50));
	EXPECT_EQ(0, npu_async_cancel(self->fd, self->out, 3));
	EXPECT_EQ(0, npu_syncobj_wait_point(self->fd, self->out, 3, 0, 1000));
	EXPECT_EQ(0, npu_matmul_touched(&self->mm, 0, 4));
}

TEST_F(fences, ended)
{
	npu_async_signal(&self->job, self->out, 0);
	ASSERT_EQ(0, npu_async_submit(self->fd, &self->job));
	EXPECT_EQ(0, npu_syncobj_wait(self->fd, self->out, 0, 5000));
	EXPECT_EQ(0, npu_async_cancel(self->fd, self->out, 0));
	EXPECT_EQ(1, npu_syncobj_status(self->fd, self->out));
	EXPECT_EQ(0, npu_matmul_wrong(&self->mm, 0, 4));
}

/* Who waits for it ends with its error, and leaves a result that says so. */
TEST_F(fences, is_passed_on)
{
	struct npu_async second;
	__u32 last = npu_syncobj(self->fd, false);

	ASSERT_EQ(0, npu_sw_to_syncobj(self->timeline, 1, self->fd, self->in));
	npu_async_wait(&self->job, self->in, 0);
	npu_async_signal(&self->job, self->out, 0);
	ASSERT_EQ(0, npu_async_submit(self->fd, &self->job));
	npu_async_init(&second, &self->other, 1U << (npu_cores() - 1), 0, 2);
	npu_async_wait(&second, self->out, 0);
	npu_async_signal(&second, last, 0);
	ASSERT_EQ(0, npu_async_submit(self->fd, &second));
	EXPECT_EQ(0, npu_async_cancel(self->fd, self->out, 0));
	EXPECT_EQ(0, npu_syncobj_wait(self->fd, last, 0, 1000));
	EXPECT_EQ(-ECANCELED, npu_syncobj_status(self->fd, last));
	EXPECT_EQ(0, npu_matmul_touched(&self->other, 0, 2));
}

/* Who has the fence of another file's job can wait for it, not end it. */
TEST_F(fences, others_are_left_alone)
{
	int other = npu_open(), fence;
	__u32 theirs;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, npu_sw_to_syncobj(self->timeline, 1, self->fd, self->in));
	npu_async_wait(&self->job, self->in, 0);
	npu_async_signal(&self->job, self->out, 0);
	ASSERT_EQ(0, npu_async_submit(self->fd, &self->job));
	fence = npu_syncobj_export(self->fd, self->out);
	theirs = npu_syncobj(other, false);
	ASSERT_EQ(0, npu_syncobj_import(other, theirs, fence));
	EXPECT_EQ(0, npu_async_cancel(other, theirs, 0));
	EXPECT_EQ(0, npu_async_cancel(self->fd, self->in, 0)); /* no job at all */
	EXPECT_EQ(-ETIME, npu_syncobj_wait(self->fd, self->out, 0, 100));
	npu_sw_advance(self->timeline, 1);
	EXPECT_EQ(0, npu_syncobj_wait(self->fd, self->out, 0, 5000));
	EXPECT_EQ(1, npu_syncobj_status(self->fd, self->out));
	EXPECT_EQ(0, npu_matmul_wrong(&self->mm, 0, 4));
	close(fence);
	close(other);
}

TEST_F(fences, bad_requests)
{
	struct rknpu_cancel args = { .handle = self->out };

	EXPECT_EQ(-EINVAL, npu_async_cancel(self->fd, self->out, 0)); /* no fence yet */
	EXPECT_EQ(-ENOENT, npu_async_cancel(self->fd, 0, 0));
	EXPECT_EQ(-ENOENT, npu_async_cancel(self->fd, 12345, 0));
	npu_async_signal(&self->job, self->out, 0);
	ASSERT_EQ(0, npu_async_submit(self->fd, &self->job));
	args.pad = 1;
	EXPECT_EQ(-EINVAL, npu_ioctl(self->fd, DRM_IOCTL_RKNPU_CANCEL, &args));
	EXPECT_EQ(0, npu_syncobj_wait(self->fd, self->out, 0, 5000));
	EXPECT_EQ(1, npu_syncobj_status(self->fd, self->out));
}

/* Whenever it comes: before the job begins, while it runs, or when it has just ended. */
TEST_F(fences, at_any_time)
{
	int i, status, ended = 0, cancelled = 0;

	for (i = 0; i < 300; i++) {
		npu_async_init(&self->job, &self->mm, 0, 0, 4);
		npu_async_signal(&self->job, self->out, 0);
		ASSERT_EQ(0, npu_async_submit(self->fd, &self->job));
		if (i % 3)
			usleep(i % 50);
		ASSERT_EQ(0, submit_behind(self, i));
		ASSERT_EQ(0, npu_async_cancel(self->fd, self->in, 0));
		ASSERT_EQ(0, npu_syncobj_wait(self->fd, self->in, 0, 5000));
		status = npu_syncobj_status(self->fd, self->in);
		ASSERT_TRUE(status == 1 || status == -ECANCELED);
		ended += status == 1;
		cancelled += status == -ECANCELED;
		ASSERT_EQ(0, npu_syncobj_wait(self->fd, self->out, 0, 5000));
		ASSERT_EQ(1, npu_syncobj_status(self->fd, self->out));
	}
	TH_LOG("%d ended, %d were cancelled", ended, cancelled);
}

TEST_HARNESS_MAIN
