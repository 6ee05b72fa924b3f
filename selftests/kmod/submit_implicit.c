// SPDX-License-Identifier: GPL-2.0-only
/*
 * SUBMIT_ASYNC with buffers: implicit fences, with vgem, with other rknpu files and processes, and
 * with sync files put on a dma-buf and taken from it.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_control.h"
#include "npu_matmul.h"
#include "npu_proc.h"
#include "npu_sync.h"

#define MS 1000 /* in microseconds */
#define READ RKNPU_BUFFER_READ
#define WRITE RKNPU_BUFFER_WRITE

FIXTURE(implicit)
{
	int fd;
	struct npu_vgem vgem;
	struct npu_bo import;
	struct npu_matmul mm;
	struct npu_async job;
	__u32 out;
};

FIXTURE_SETUP(implicit)
{
	npu_fault_none();
	npu_ctl_clear(VNPU_CTL_CLEAR_RECORDS);
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, npu_vgem_create(&self->vgem, 4096));
	ASSERT_EQ(0, npu_bo_import(&self->import, self->fd, self->vgem.dmabuf));
	ASSERT_EQ(0, npu_matmul_create(&self->mm, self->fd, 4, 64, 32, 1));
	npu_matmul_poison(&self->mm);
	self->out = npu_syncobj(self->fd, false);
	ASSERT_NE(0, self->out);
	npu_async_init(&self->job, &self->mm, 1, 0, 4);
	npu_async_signal(&self->job, self->out, 0);
}

FIXTURE_TEARDOWN(implicit)
{
	char text[128];

	npu_fault_none();
	EXPECT_EQ(0, npu_good_job(self->fd, 1));
	npu_matmul_destroy(&self->mm);
	npu_bo_destroy(&self->import);
	npu_vgem_destroy(&self->vgem);
	close(self->fd);
	EXPECT_EQ(0, npu_ctl_misuse(text, sizeof(text))) {
		TH_LOG("%s", text);
	}
}

/* Whether nobody uses a dma-buf: no writers, or nobody at all */
static int idle(int dmabuf, bool all)
{
	struct pollfd poll_fd = { .fd = dmabuf, .events = all ? POLLOUT : POLLIN };

	return poll(&poll_fd, 1, 0);
}

/* Submits a job that uses the foreign buffer. */
static int submit(FIXTURE_DATA(implicit) * self, __u32 flags)
{
	npu_async_buffer(&self->job, self->import.handle, flags);
	return npu_async_submit(self->fd, &self->job);
}

static void expect_done(struct __test_metadata *_metadata, FIXTURE_DATA(implicit) * self)
{
	EXPECT_EQ(0, npu_syncobj_wait(self->fd, self->out, 0, 5000));
	EXPECT_EQ(1, npu_syncobj_status(self->fd, self->out));
	EXPECT_EQ(0, npu_matmul_wrong(&self->mm, 0, 4));
}

static void expect_waits(struct __test_metadata *_metadata, FIXTURE_DATA(implicit) * self,
			 int fence)
{
	ASSERT_LT(0, fence);
	EXPECT_EQ(-ETIME, npu_syncobj_wait(self->fd, self->out, 0, 100));
	EXPECT_EQ(0, npu_matmul_touched(&self->mm, 0, 4));
	/* Other jobs go on, on the same core. */
	EXPECT_EQ(0, npu_good_job(self->fd, 1));
	EXPECT_EQ(0, npu_vgem_signal(&self->vgem, fence));
	expect_done(_metadata, self);
}

TEST_F(implicit, reader_waits_for_writer)
{
	int fence = npu_vgem_fence(&self->vgem, true);

	ASSERT_EQ(0, submit(self, READ));
	expect_waits(_metadata, self, fence);
}

TEST_F(implicit, writer_waits_for_writer)
{
	int fence = npu_vgem_fence(&self->vgem, true);

	ASSERT_EQ(0, submit(self, WRITE));
	expect_waits(_metadata, self, fence);
}

TEST_F(implicit, writer_waits_for_reader)
{
	int fence = npu_vgem_fence(&self->vgem, false);

	ASSERT_EQ(0, submit(self, WRITE));
	expect_waits(_metadata, self, fence);
}

TEST_F(implicit, reader_does_not_wait_for_reader)
{
	int fence = npu_vgem_fence(&self->vgem, false);

	ASSERT_LT(0, fence);
	ASSERT_EQ(0, submit(self, READ));
	expect_done(_metadata, self);
	EXPECT_EQ(0, npu_vgem_signal(&self->vgem, fence));
}

/* Named twice, it counts as read and written. */
TEST_F(implicit, accesses_add_up)
{
	int fence = npu_vgem_fence(&self->vgem, false);

	npu_async_buffer(&self->job, self->import.handle, WRITE);
	npu_async_buffer(&self->job, self->mm.c.handle, READ | WRITE);
	npu_async_buffer(&self->job, self->import.handle, READ);
	ASSERT_EQ(0, submit(self, READ));
	EXPECT_EQ(0, idle(self->vgem.dmabuf, false));
	expect_waits(_metadata, self, fence);
	EXPECT_EQ(1, idle(self->vgem.dmabuf, true));
}

TEST_F(implicit, not_named_not_waited_for)
{
	int fence = npu_vgem_fence(&self->vgem, true);

	ASSERT_EQ(0, npu_async_submit(self->fd, &self->job));
	expect_done(_metadata, self);
	EXPECT_EQ(0, npu_vgem_signal(&self->vgem, fence));
}

/* Others find our fence: poll(), vgem, and whoever takes it out as a sync file. */
TEST_F(implicit, others_see_a_reader)
{
	npu_slow(0, 50 * MS);
	ASSERT_EQ(0, submit(self, READ));
	EXPECT_EQ(1, idle(self->vgem.dmabuf, false));
	EXPECT_EQ(0, idle(self->vgem.dmabuf, true));
	EXPECT_EQ(-EBUSY, npu_vgem_fence(&self->vgem, true));
	expect_done(_metadata, self);
	EXPECT_EQ(1, idle(self->vgem.dmabuf, true));
}

TEST_F(implicit, others_see_a_writer)
{
	char driver[32] = "";
	int fence;

	npu_slow(0, 50 * MS);
	ASSERT_EQ(0, submit(self, WRITE));
	EXPECT_EQ(0, idle(self->vgem.dmabuf, false));
	EXPECT_EQ(-EBUSY, npu_vgem_fence(&self->vgem, false));
	fence = npu_dmabuf_export_fence(self->vgem.dmabuf, false);
	ASSERT_LE(0, fence);
	EXPECT_EQ(0, npu_fence_status(fence, driver));
	EXPECT_STREQ("rknpu", driver);
	expect_done(_metadata, self);
	EXPECT_EQ(1, npu_fence_status(fence, NULL));
	EXPECT_EQ(1, idle(self->vgem.dmabuf, true));
	close(fence);
}

/* A writer that fails spoils its own job, not those that come after it. */
TEST_F(implicit, errors_of_others_are_theirs)
{
	int timeline = npu_sw_open(), fence = npu_sw_fence(timeline, 1);

	ASSERT_EQ(0, npu_dmabuf_import_fence(self->vgem.dmabuf, fence, true));
	ASSERT_EQ(0, submit(self, READ));
	EXPECT_EQ(-ETIME, npu_syncobj_wait(self->fd, self->out, 0, 100));
	close(timeline);
	EXPECT_EQ(-ENOENT, npu_fence_status(fence, NULL));
	expect_done(_metadata, self);
	close(fence);
}

/* The same fence as a wait counts, whatever the buffer says. */
TEST_F(implicit, explicit_errors_count)
{
	int timeline = npu_sw_open(), fence = npu_sw_fence(timeline, 1);
	__u32 in = npu_syncobj(self->fd, false);

	ASSERT_EQ(0, npu_dmabuf_import_fence(self->vgem.dmabuf, fence, true));
	ASSERT_EQ(0, npu_syncobj_import(self->fd, in, fence));
	npu_async_wait(&self->job, in, 0);
	ASSERT_EQ(0, submit(self, READ));
	close(timeline);
	EXPECT_EQ(0, npu_syncobj_wait(self->fd, self->out, 0, 5000));
	EXPECT_EQ(-ENOENT, npu_syncobj_status(self->fd, self->out));
	EXPECT_EQ(0, npu_matmul_touched(&self->mm, 0, 4));
	close(fence);
}

/* Sync files put on a buffer of our own, one of them merged */
TEST_F(implicit, sync_files_on_an_own_buffer)
{
	int timeline = npu_sw_open(), first = npu_sw_fence(timeline, 1);
	int second = npu_sw_fence(timeline, 2), both = npu_fence_merge(first, second);
	int dmabuf = npu_export(self->fd, self->mm.a.handle);

	ASSERT_LE(0, dmabuf);
	ASSERT_EQ(0, npu_dmabuf_import_fence(dmabuf, both, true));
	npu_async_buffer(&self->job, self->mm.a.handle, READ);
	ASSERT_EQ(0, npu_async_submit(self->fd, &self->job));
	npu_sw_advance(timeline, 1);
	EXPECT_EQ(-ETIME, npu_syncobj_wait(self->fd, self->out, 0, 100));
	npu_sw_advance(timeline, 1);
	expect_done(_metadata, self);
	close(dmabuf);
	close(both);
	close(second);
	close(first);
	close(timeline);
}

/* Two processes that share a buffer of one of them */
struct peer {
	int dmabuf, submitted;
};

/* Writes the shared buffer, slowly, on another core, and leaves without waiting for the end. */
static int write_shared(void *arg)
{
	struct peer *peer = arg;
	int fd = npu_open();
	struct npu_async job;
	struct npu_matmul mm;
	struct npu_bo shared;

	if (fd < 0 || npu_matmul_create(&mm, fd, 4, 64, 32, 5) ||
	    npu_bo_import(&shared, fd, peer->dmabuf))
		return 1;
	npu_async_init(&job, &mm, npu_core(1), 0, 4);
	npu_async_buffer(&job, shared.handle, WRITE);
	if (npu_async_submit(fd, &job))
		return 2;
	if (write(peer->submitted, "", 1) != 1)
		return 3;
	/* Long enough for the parent to see the job; closing then leaves it 250 ms more. */
	npu_sleep_ms(1000);
	return 0;
}

TEST_F(implicit, waits_for_another_process)
{
	int submitted[2], dmabuf = npu_export(self->fd, self->mm.a.handle);
	struct peer peer;
	char byte;
	long before;
	pid_t pid;

	ASSERT_LE(0, dmabuf);
	ASSERT_EQ(0, pipe(submitted));
	npu_slow(__builtin_ctz(npu_core(1)), 100 * MS);
	peer = (struct peer) { dmabuf, submitted[1] };
	pid = npu_spawn(write_shared, &peer);
	ASSERT_EQ(1, read(submitted[0], &byte, 1));
	EXPECT_EQ(0, idle(dmabuf, false));
	before = npu_now_ms();
	npu_async_buffer(&self->job, self->mm.a.handle, READ);
	ASSERT_EQ(0, npu_async_submit(self->fd, &self->job));
	EXPECT_EQ(-ETIME, npu_syncobj_wait(self->fd, self->out, 0, 50));
	EXPECT_EQ(0, npu_matmul_touched(&self->mm, 0, 4));
	expect_done(_metadata, self);
	EXPECT_LE(200, npu_now_ms() - before);
	EXPECT_EQ(1, idle(dmabuf, false));
	EXPECT_EQ(0, npu_join(pid, 5000));
	close(dmabuf);
	close(submitted[0]);
	close(submitted[1]);
}

/* Closing a file ends its waiting jobs; their fences on buffers do not keep others waiting. */
TEST_F(implicit, close_with_waiting_jobs)
{
	int fence = npu_vgem_fence(&self->vgem, true), fd = npu_open();
	struct npu_async job;
	struct npu_matmul mm;
	struct npu_bo import;

	ASSERT_LT(0, fence);
	ASSERT_EQ(0, npu_matmul_create(&mm, fd, 2, 64, 32, 3));
	ASSERT_EQ(0, npu_bo_import(&import, fd, self->vgem.dmabuf));
	npu_async_init(&job, &mm, 1, 0, 2);
	npu_async_buffer(&job, import.handle, WRITE);
	ASSERT_EQ(0, npu_async_submit(fd, &job));
	npu_matmul_destroy(&mm);
	close(fd);
	EXPECT_EQ(0, npu_vgem_signal(&self->vgem, fence));
	EXPECT_EQ(1, idle(self->vgem.dmabuf, true));
	ASSERT_EQ(0, submit(self, READ));
	expect_done(_metadata, self);
}

/* All that a job names or uses may be given up right after it was submitted. */
TEST_F(implicit, buffers_live_until_the_end)
{
	int fence = npu_vgem_fence(&self->vgem, true), c = npu_export(self->fd, self->mm.c.handle);
	struct npu_matmul *mm = &self->mm;
	struct npu_bo copy;

	ASSERT_LT(0, fence);
	ASSERT_LE(0, c);
	npu_async_buffer(&self->job, mm->a.handle, READ);
	npu_async_buffer(&self->job, mm->b.handle, READ);
	npu_async_buffer(&self->job, mm->c.handle, WRITE);
	ASSERT_EQ(0, submit(self, READ));
	EXPECT_EQ(0, npu_destroy(self->fd, mm->regcmd.handle));
	EXPECT_EQ(0, npu_destroy(self->fd, mm->tasks.handle));
	EXPECT_EQ(0, npu_destroy(self->fd, mm->a.handle));
	EXPECT_EQ(0, npu_destroy(self->fd, mm->b.handle));
	EXPECT_EQ(0, npu_destroy(self->fd, mm->c.handle));
	npu_bo_destroy(&self->import);
	close(self->vgem.dmabuf);
	self->vgem.dmabuf = -1;
	EXPECT_EQ(0, npu_vgem_signal(&self->vgem, fence));
	EXPECT_EQ(0, npu_syncobj_wait(self->fd, self->out, 0, 5000));
	EXPECT_EQ(1, npu_syncobj_status(self->fd, self->out));

	/* The result is in the memory, which the mapping still shows. */
	ASSERT_EQ(0, npu_bo_import(&copy, self->fd, c));
	EXPECT_EQ(0, npu_sync(self->fd, copy.token, RKNPU_MEM_SYNC_FROM_DEVICE, 0, copy.size));
	mm->c.flags &= ~RKNPU_MEM_CACHEABLE;
	EXPECT_EQ(0, npu_matmul_wrong(mm, 0, 4));
	npu_bo_destroy(&copy);
	close(c);
}

/* Threads that name the same buffers in opposite order, and wait for each other's jobs. */
struct racer {
	int fd;
	const struct npu_matmul *mm;
	__u32 buffer[4];
	__u32 core_mask;
	bool backwards;
	int ret;
};

static void *race(void *arg)
{
	struct racer *racer = arg;
	__u32 out = npu_syncobj(racer->fd, false);
	struct npu_async job;
	unsigned int i, k;

	for (i = 0; i < 200 && !racer->ret; i++) {
		npu_async_init(&job, racer->mm, racer->core_mask, 0, 1);
		for (k = 0; k < 4; k++) {
			unsigned int n = racer->backwards ? 3 - k : k;

			npu_async_buffer(&job, racer->buffer[n], (n + i) % 2 ? READ : WRITE);
		}
		npu_async_signal(&job, out, 0);
		racer->ret = npu_async_submit(racer->fd, &job);
	}
	if (!racer->ret)
		racer->ret = npu_syncobj_wait(racer->fd, out, 0, 30000);
	if (!racer->ret)
		racer->ret = npu_syncobj_status(racer->fd, out) == 1 ? 0 : -EIO;
	return NULL;
}

TEST_F_TIMEOUT(implicit, opposite_orders_do_not_lock_up, 60)
{
	struct racer racer[4];
	struct npu_bo bo[4];
	pthread_t thread[4];
	unsigned int i, k;

	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, npu_bo_create(&bo[i], self->fd, 4096, NPU_DATA));
	for (i = 0; i < 4; i++) {
		racer[i] = (struct racer) {
			.fd = self->fd, .mm = &self->mm, .backwards = i % 2,
		};
		/* Any core, two of them, and all at once. */
		if (i)
			racer[i].core_mask = i == 3 ? npu_all_cores() : npu_core(i - 1);
		for (k = 0; k < 4; k++)
			racer[i].buffer[k] = bo[k].handle;
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, race, &racer[i]));
	}
	for (i = 0; i < 4; i++) {
		pthread_join(thread[i], NULL);
		EXPECT_EQ(0, racer[i].ret);
	}
	for (i = 0; i < 4; i++)
		npu_bo_destroy(&bo[i]);
}

TEST_HARNESS_MAIN
