// SPDX-License-Identifier: GPL-2.0-only
/*
 * SUBMIT_ASYNC that is refused: the errno of every bad field, and that nothing has happened: no job
 * ran, no syncobj has changed, no buffer has a fence, no file descriptor is used.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_control.h"
#include "npu_matmul.h"
#include "npu_proc.h"
#include "npu_sync.h"

FIXTURE(bad)
{
	int fd, dmabuf, free_fd;
	struct npu_matmul mm;
	struct npu_bo data;
	struct npu_async job;
	__u32 in, binary, timeline;
};

/* A good request that uses everything; the tests spoil one field of it. */
FIXTURE_SETUP(bad)
{
	struct npu_async *job = &self->job;

	npu_fault_none();
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, npu_matmul_create(&self->mm, self->fd, 4, 64, 32, 1));
	npu_matmul_poison(&self->mm);
	ASSERT_EQ(0, npu_bo_create(&self->data, self->fd, 4096, NPU_DATA));
	self->dmabuf = npu_export(self->fd, self->data.handle);
	ASSERT_LE(0, self->dmabuf);
	self->in = npu_syncobj(self->fd, true);
	self->binary = npu_syncobj(self->fd, false);
	self->timeline = npu_syncobj(self->fd, false);
	ASSERT_EQ(0, npu_syncobj_signal_point(self->fd, self->timeline, 1));

	npu_async_init(job, &self->mm, 1, 0, 4);
	npu_async_wait(job, self->in, 0);
	npu_async_wait(job, self->timeline, 1);
	npu_async_signal(job, self->binary, 0);
	npu_async_signal(job, self->timeline, 2);
	npu_async_buffer(job, self->data.handle, RKNPU_BUFFER_READ);
	npu_async_buffer(job, self->mm.c.handle, RKNPU_BUFFER_WRITE);
	job->args.result_handle = self->data.handle;
	job->args.result_offset = 64;
	self->free_fd = dup(0);
	close(self->free_fd);
}

/* The request is good in itself. */
FIXTURE_TEARDOWN(bad)
{
	EXPECT_EQ(0, npu_async_submit(self->fd, &self->job));
	EXPECT_EQ(0, npu_syncobj_wait_point(self->fd, self->timeline, 2, 0, 5000));
	EXPECT_EQ(1, npu_syncobj_status(self->fd, self->binary));
	EXPECT_EQ(0, npu_matmul_wrong(&self->mm, 0, 4));
	npu_matmul_destroy(&self->mm);
	npu_bo_destroy(&self->data);
	close(self->dmabuf);
	close(self->fd);
}

static void expect_nothing_happened(struct __test_metadata *_metadata, FIXTURE_DATA(bad) * self)
{
	struct pollfd poll_fd = { .fd = self->dmabuf, .events = POLLOUT };
	int next;

	EXPECT_EQ(-EINVAL, npu_syncobj_status(self->fd, self->binary));
	EXPECT_EQ(1, npu_syncobj_point(self->fd, self->timeline));
	EXPECT_EQ(-EINVAL, npu_syncobj_wait_point(self->fd, self->timeline, 2, 0, 0));
	EXPECT_EQ(1, poll(&poll_fd, 1, 0));
	EXPECT_EQ(0, npu_matmul_touched(&self->mm, 0, 4));
	EXPECT_EQ(0, ((struct rknpu_job_result *)(self->data.map + 64))->started_ns);
	next = dup(0);
	EXPECT_EQ(self->free_fd, next);
	close(next);
}

/* Tries the request with another value in a field. */
static void refused(struct __test_metadata *_metadata, FIXTURE_DATA(bad) * self, int error,
		    __u32 *field, __u32 value)
{
	__u32 good = *field;

	*field = value;
	EXPECT_EQ(-error, npu_async_submit(self->fd, &self->job)) {
		TH_LOG("field at %zu = %#x", (char *)field - (char *)&self->job, value);
	}
	*field = good;
	expect_nothing_happened(_metadata, self);
}

static void refused64(struct __test_metadata *_metadata, FIXTURE_DATA(bad) * self, int error,
		      __u64 *field, __u64 value)
{
	__u64 good = *field;

	*field = value;
	EXPECT_EQ(-error, npu_async_submit(self->fd, &self->job)) {
		TH_LOG("field at %zu = %#llx", (char *)field - (char *)&self->job, value);
	}
	*field = good;
	expect_nothing_happened(_metadata, self);
}

TEST_F(bad, fields)
{
	struct rknpu_submit_async *args = &self->job.args;

	refused(_metadata, self, EINVAL, &args->flags, 2);
	refused(_metadata, self, EINVAL, &args->flags, 0x80000000);
	refused(_metadata, self, EINVAL, &args->core_mask, 5);
	refused(_metadata, self, EINVAL, &args->core_mask, 8);
	refused(_metadata, self, EINVAL, &args->core_mask, 0x101);
	refused(_metadata, self, ENOENT, &args->task_handle, 0);
	refused(_metadata, self, ENOENT, &args->task_handle, 12345);
	refused(_metadata, self, EINVAL, &args->iommu_domain_id, 16);
	refused(_metadata, self, EINVAL, &args->iommu_domain_id, 0xffffffff);
	refused(_metadata, self, EINVAL, &args->timeout_ms, 0);
	refused(_metadata, self, EINVAL, &args->timeout_ms, RKNPU_MAX_TIMEOUT_MS + 1);
	refused(_metadata, self, EINVAL, &args->timeout_ms, 0xffffffff);
	refused(_metadata, self, EINVAL, &args->pad, 1);
	refused(_metadata, self, EINVAL, &args->range[0].task_number, 0);
	refused(_metadata, self, EINVAL, &args->range[0].task_number, 1000000);
	refused(_metadata, self, EINVAL, &args->range[0].task_start, 0xffffffff);
}

TEST_F(bad, result)
{
	struct rknpu_submit_async *args = &self->job.args;

	refused(_metadata, self, ENOENT, &args->result_handle, 12345);
	/* An offset without a buffer */
	refused(_metadata, self, EINVAL, &args->result_handle, 0);
	refused64(_metadata, self, EINVAL, &args->result_offset, 4);
	refused64(_metadata, self, EINVAL, &args->result_offset, 4096 - 24);
	refused64(_metadata, self, EINVAL, &args->result_offset, 4096);
	refused64(_metadata, self, EINVAL, &args->result_offset, 0xfffffffffffffff8);
}

TEST_F(bad, imported_memory)
{
	struct rknpu_submit_async *args = &self->job.args;
	struct npu_vgem vgem;
	struct npu_bo import;

	ASSERT_EQ(0, npu_vgem_create(&vgem, 4096));
	ASSERT_EQ(0, npu_bo_import(&import, self->fd, vgem.dmabuf));
	self->free_fd = dup(0);
	close(self->free_fd);
	refused(_metadata, self, EINVAL, &args->result_handle, import.handle);
	refused(_metadata, self, EINVAL, &args->task_handle, import.handle);
	npu_bo_destroy(&import);
	npu_vgem_destroy(&vgem);
}

TEST_F(bad, waits)
{
	struct rknpu_submit_async *args = &self->job.args;

	refused(_metadata, self, ENOENT, &self->job.wait[1].handle, 0);
	refused(_metadata, self, ENOENT, &self->job.wait[1].handle, 12345);
	refused(_metadata, self, EINVAL, &self->job.wait[1].handle, self->binary);
	refused64(_metadata, self, EINVAL, &self->job.wait[1].point, 2);
	refused(_metadata, self, EINVAL, &self->job.wait[1].flags, 1);
	refused(_metadata, self, EINVAL, &self->job.wait[1].flags, 0x80000000);
	refused(_metadata, self, EINVAL, &args->num_waits, RKNPU_MAX_SYNCOBJS + 1);
	refused(_metadata, self, EINVAL, &args->num_waits, 0xffffffff);
	refused64(_metadata, self, EFAULT, &args->waits, 0);
	refused64(_metadata, self, EFAULT, &args->waits, 0xffff000000000000);
}

TEST_F(bad, signals)
{
	struct rknpu_submit_async *args = &self->job.args;

	refused(_metadata, self, ENOENT, &self->job.signal[1].handle, 0);
	refused(_metadata, self, ENOENT, &self->job.signal[1].handle, 12345);
	refused(_metadata, self, EINVAL, &self->job.signal[1].flags, 1);
	refused(_metadata, self, EINVAL, &args->num_signals, RKNPU_MAX_SYNCOBJS + 1);
	refused(_metadata, self, EINVAL, &args->num_signals, 0xffffffff);
	refused64(_metadata, self, EFAULT, &args->signals, 0);
	refused64(_metadata, self, EFAULT, &args->signals, 0xffff000000000000);
}

TEST_F(bad, buffers)
{
	struct rknpu_submit_async *args = &self->job.args;

	refused(_metadata, self, ENOENT, &self->job.buffer[1].handle, 0);
	refused(_metadata, self, ENOENT, &self->job.buffer[1].handle, 12345);
	refused(_metadata, self, EINVAL, &self->job.buffer[1].flags, 0);
	refused(_metadata, self, EINVAL, &self->job.buffer[1].flags, 4);
	refused(_metadata, self, EINVAL, &self->job.buffer[1].flags, 0x80000001);
	refused(_metadata, self, EINVAL, &args->num_buffers, RKNPU_MAX_BUFFERS + 1);
	refused(_metadata, self, EINVAL, &args->num_buffers, 0xffffffff);
	refused64(_metadata, self, EFAULT, &args->buffers, 0);
	refused64(_metadata, self, EFAULT, &args->buffers, 0xffff000000000000);
}

/* Handles of one file are nothing in another. */
TEST_F(bad, handles_of_another_file)
{
	int other = npu_open();
	__u32 i, syncobj = 0;

	ASSERT_LE(0, other);
	/* Beyond all numbers that this file has */
	for (i = 0; i < 50; i++)
		syncobj = npu_syncobj(other, true);
	self->free_fd = dup(0);
	close(self->free_fd);
	refused(_metadata, self, ENOENT, &self->job.wait[0].handle, syncobj);
	refused(_metadata, self, ENOENT, &self->job.signal[0].handle, syncobj);
	close(other);
}

/* Pointers without a count mean nothing. */
TEST_F(bad, pointers_without_entries)
{
	struct npu_async job = self->job;

	job.args.waits = 1;
	job.args.buffers = 1;
	job.args.signals = 1;
	job.args.num_waits = 0;
	job.args.num_buffers = 0;
	job.args.num_signals = 0;
	EXPECT_EQ(0, npu_async_submit(self->fd, &job));
	/* On the same core: has ended before the next one */
	EXPECT_EQ(0, npu_good_job(self->fd, 1));
	EXPECT_EQ(0, npu_matmul_wrong(&self->mm, 0, 4));
}

TEST_F(bad, as_many_as_are_allowed)
{
	struct rknpu_syncobj *syncobjs = calloc(RKNPU_MAX_SYNCOBJS, sizeof(*syncobjs));
	struct rknpu_buffer *buffers = calloc(RKNPU_MAX_BUFFERS, sizeof(*buffers));
	struct npu_async job = self->job;
	unsigned int i;

	for (i = 0; i < RKNPU_MAX_SYNCOBJS; i++)
		syncobjs[i].handle = self->in;
	for (i = 0; i < RKNPU_MAX_BUFFERS; i++)
		buffers[i] = (struct rknpu_buffer) {
			i % 2 ? self->data.handle : self->mm.c.handle, RKNPU_BUFFER_WRITE,
		};
	job.args.waits = (__u64)(unsigned long)syncobjs;
	job.args.signals = (__u64)(unsigned long)syncobjs;
	job.args.buffers = (__u64)(unsigned long)buffers;
	job.args.num_waits = RKNPU_MAX_SYNCOBJS;
	job.args.num_signals = RKNPU_MAX_SYNCOBJS;
	job.args.num_buffers = RKNPU_MAX_BUFFERS;
	EXPECT_EQ(0, npu_async_submit(self->fd, &job));
	EXPECT_EQ(0, npu_syncobj_wait(self->fd, self->in, 0, 5000));
	EXPECT_EQ(1, npu_syncobj_status(self->fd, self->in));
	EXPECT_EQ(0, npu_matmul_wrong(&self->mm, 0, 4));
	free(syncobjs);
	free(buffers);
}

/* Structures of newer and older programs */
TEST_F(bad, sizes)
{
	struct {
		struct rknpu_submit_async args;
		__u64 more;
	} longer = { .args = self->job.args, .more = 1 };
	unsigned int nr = DRM_COMMAND_BASE + DRM_RKNPU_SUBMIT_ASYNC;

	EXPECT_EQ(-E2BIG, npu_ioctl(self->fd, DRM_IOWR(nr, longer), &longer));
	expect_nothing_happened(_metadata, self);
	EXPECT_EQ(-EINVAL, npu_ioctl(self->fd, DRM_IOWR(nr, char[96]), &longer));
	expect_nothing_happened(_metadata, self);
	longer.more = 0;
	longer.args.num_signals = 0;
	EXPECT_EQ(0, npu_ioctl(self->fd, DRM_IOWR(nr, longer), &longer));
	EXPECT_EQ(-EFAULT, npu_ioctl(self->fd, DRM_IOCTL_RKNPU_SUBMIT_ASYNC, NULL));
}

TEST_HARNESS_MAIN
