// SPDX-License-Identifier: GPL-2.0-only
/*
 * Failures of the kernel's allocations and of the IOMMU's page tables, injected at every place of
 * every call in turn: the call says so by its errno, nothing is left, and the next one works.
 * Needs a kernel with fault injection; the debug kernel of the virtual machine is one.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_control.h"
#include "npu_dmabuf.h"
#include "npu_inject.h"
#include "npu_matmul.h"
#include "npu_proc.h"
#include "npu_sync.h"
#include "npu_usage.h"

#define PAGE 4096U
#define DEBUGFS "/sys/kernel/debug/"
#define MAX_PLACES 2000

/* All kinds of allocations may fail, and none of them tells the log about it. */
static int prepare_kernel(void)
{
	static const char *const settings[][2] = {
		{ DEBUGFS "failslab/ignore-gfp-wait", "N" },
		{ DEBUGFS "failslab/verbose", "0" },
		{ DEBUGFS "fail_page_alloc/ignore-gfp-wait", "N" },
		{ DEBUGFS "fail_page_alloc/ignore-gfp-highmem", "N" },
		{ DEBUGFS "fail_page_alloc/min-order", "0" },
		{ DEBUGFS "fail_page_alloc/verbose", "0" },
	};
	unsigned int i;
	int ret = 0;

	for (i = 0; i < ARRAY_SIZE(settings) && !ret; i++)
		ret = npu_write_file(settings[i][0], settings[i][1]);
	/* Those of the driver are places where fail-nth may strike, too. */
	return ret ?: npu_inject_quietly(NPU_FAIL_IOMMU_MAP) ?:
		      npu_inject_quietly(NPU_FAIL_POWER_ON);
}

/* What the calls work on. */
struct things {
	int nth;		/* file fail-nth of this thread */
	int fd, other;		/* the NPU, twice */
	char path[64];		/* of its node */
	struct npu_bo bo;
	struct npu_dmabuf foreign;	/* memory of somebody else */
	__u32 flags;		/* of the buffer to create */
	__s32 domain;
	struct npu_matmul mm;
	__u32 job_flags;
	__u32 syncobj, timeline;
	__u64 point;		/* last one of the timeline */
};

/* From here on, the nth chance to fail is taken; 0: none. */
static void arm(struct things *t, unsigned int nth)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", nth);

	if (pwrite(t->nth, text, len, 0) != len)
		perror("fail-nth");
}

/* Ends that. Returns whether the chance had come. */
static bool disarm(struct things *t)
{
	char text[16] = "";
	bool taken;

	if (pread(t->nth, text, sizeof(text) - 1, 0) <= 0)
		perror("fail-nth");
	taken = atoi(text) == 0;
	arm(t, 0);
	return taken;
}

/* What to do with the result of a call. */
enum result { NOTHING, HANDLE, FILE_DESCRIPTOR };

/* Whether a call takes memory, and so can fail for want of it. */
enum need { NO_MEMORY, MEMORY, MAYBE_MEMORY };

/* One call under test: run() returns -errno or something to give back. */
struct call {
	const char *name;
	int (*run)(struct things *t);
	enum result result;
	enum need need;
};

static void give_back(struct things *t, enum result kind, int result)
{
	if (kind == HANDLE)
		npu_destroy(t->fd, result);
	else if (kind == FILE_DESCRIPTOR)
		close(result);
}

static int create(struct things *t)
{
	struct rknpu_mem_create arg = {
		.size = 5 * PAGE, .flags = t->flags, .iommu_domain_id = t->domain,
	};
	int ret = npu_create(t->fd, &arg);

	/* No handle comes with a failure. */
	if (ret && arg.handle)
		return -EBADE;
	return ret ? ret : (int)arg.handle;
}

static int open_node(struct things *t)
{
	int fd = open(t->path, O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* A whole life: also the address spaces of the process are new if there is no other file. */
static int open_and_create(struct things *t)
{
	struct rknpu_mem_create arg = { .size = PAGE, .flags = NPU_DATA };
	int fd = open_node(t), ret;

	if (fd < 0)
		return fd;
	ret = npu_create(fd, &arg);
	close(fd);
	return ret;
}

static int map(struct things *t)
{
	__u64 offset;
	void *map;
	int ret = npu_map_offset(t->fd, t->bo.handle, &offset);

	if (ret)
		return ret;
	map = mmap(NULL, t->bo.size, PROT_READ | PROT_WRITE, MAP_SHARED, t->fd, offset);
	if (map == MAP_FAILED)
		return -errno;
	munmap(map, t->bo.size);
	return 0;
}

/* The fault handler has no errno: the kernel repeats what failed for want of memory. */
static int touch(struct things *t)
{
	__u64 offset;
	char *map;
	int ret;

	ret = npu_map_offset(t->fd, t->bo.handle, &offset);
	if (ret)
		return ret;
	map = mmap(NULL, t->bo.size, PROT_READ | PROT_WRITE, MAP_SHARED, t->fd, offset);
	if (map == MAP_FAILED)
		return -errno;
	map[t->bo.size - 1] = 1;
	munmap(map, t->bo.size);
	return 0;
}

/* Of a new buffer: the second export of a buffer is the first one again. */
static int create_and_export(struct things *t)
{
	int handle = create(t), dmabuf;

	if (handle < 0)
		return handle;
	dmabuf = npu_export(t->fd, handle);
	npu_destroy(t->fd, handle);
	return dmabuf;
}

static int import_foreign(struct things *t)
{
	__u32 handle;
	int ret = npu_import(t->fd, t->foreign.fd, &handle);

	return ret ? ret : (int)handle;
}

/* MEM_CREATE with the handle of an import makes its addresses. */
static int import_and_query(struct things *t)
{
	struct rknpu_mem_create arg = { .iommu_domain_id = t->domain };
	int ret = npu_import(t->fd, t->foreign.fd, &arg.handle);
	__u32 handle = arg.handle;

	if (ret)
		return ret;
	ret = npu_create(t->fd, &arg);
	if (!ret)
		return handle;
	npu_destroy(t->fd, handle);
	return ret;
}

/* A buffer of our own from one file to another. */
static int share(struct things *t)
{
	struct npu_bo import;
	int dmabuf = create_and_export(t), ret;

	if (dmabuf < 0)
		return dmabuf;
	ret = npu_bo_import(&import, t->other, dmabuf);
	if (!ret)
		npu_bo_destroy(&import);
	close(dmabuf);
	return ret;
}

static int sync_all(struct things *t)
{
	return npu_sync(t->fd, t->bo.token, RKNPU_MEM_SYNC_MASK, 0, t->bo.size);
}

static int ask(struct things *t)
{
	struct rknpu_get_param param = { .param = RKNPU_PARAM_FEATURES };
	struct rknpu_mem_info info = { .handle = t->bo.handle };
	__u32 value = 0;
	int ret;

	ret = npu_ioctl(t->fd, DRM_IOCTL_RKNPU_GET_PARAM, &param);
	if (!ret)
		ret = npu_ioctl(t->fd, DRM_IOCTL_RKNPU_MEM_INFO, &info);
	if (!ret)
		ret = npu_action(t->fd, RKNPU_GET_DRV_VERSION, &value);
	return ret;
}

static int submit(struct things *t)
{
	struct rknpu_submit job;
	int ret;

	npu_matmul_job(&t->mm, &job, RKNPU_CORE0_MASK, 0, t->mm.m);
	job.flags |= t->job_flags;
	job.fence_fd = -1;
	ret = npu_submit(t->fd, &job);
	if (ret)
		return ret;
	return t->job_flags & RKNPU_JOB_FENCE_OUT ? job.fence_fd : 0;
}

/* Two jobs, the second of which waits for the first. */
static int submit_after(struct things *t)
{
	struct rknpu_submit job;
	int ret, fence;

	npu_matmul_job(&t->mm, &job, RKNPU_CORE0_MASK, 0, t->mm.m);
	job.flags |= RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_OUT;
	ret = npu_submit(t->fd, &job);
	if (ret)
		return ret;
	fence = job.fence_fd;
	npu_matmul_job(&t->mm, &job, npu_core(1), 0, t->mm.m);
	job.flags |= RKNPU_JOB_FENCE_IN;
	job.fence_fd = fence;
	ret = npu_submit(t->fd, &job);
	close(fence);
	return ret;
}

/* Two jobs; the second waits for the first by syncobj and by buffer, and both promise points. */
static int submit_async(struct things *t)
{
	struct npu_async job;
	int ret;

	npu_async_init(&job, &t->mm, RKNPU_CORE0_MASK, 0, 1);
	npu_async_signal(&job, t->syncobj, 0);
	npu_async_signal(&job, t->timeline, t->point + 1);
	npu_async_buffer(&job, t->mm.c.handle, RKNPU_BUFFER_WRITE);
	ret = npu_async_submit(t->fd, &job);
	if (ret)
		return ret;
	t->point++;

	npu_async_init(&job, &t->mm, npu_core(1), 1, 1);
	npu_async_wait(&job, t->syncobj, 0);
	npu_async_wait(&job, t->timeline, t->point);
	npu_async_signal(&job, t->timeline, t->point + 1);
	npu_async_buffer(&job, t->mm.c.handle, RKNPU_BUFFER_WRITE);
	npu_async_buffer(&job, t->mm.a.handle, RKNPU_BUFFER_READ);
	ret = npu_async_submit(t->fd, &job);
	t->point += !ret;
	return ret;
}

/* Fails the call at its first place, its second, and so on, until it passes without a failure. */
static void sweep(struct __test_metadata *_metadata, struct things *t, const struct call *call)
{
	unsigned int nth, failed = 0, passed = 0;
	struct npu_state before;
	bool taken = true;
	int ret;

	/* What is made once and stays does not count. */
	ret = call->run(t);
	ASSERT_LE(0, ret) {
		TH_LOG("%s: %d without any failure", call->name, ret);
	}
	give_back(t, call->result, ret);
	npu_sleep_ms(20);
	before = npu_state_at_rest(t->fd);

	for (nth = 1; taken && nth < MAX_PLACES; nth++) {
		arm(t, nth);
		ret = call->run(t);
		taken = disarm(t);
		if (ret < 0) {
			failed++;
			EXPECT_EQ(-ENOMEM, ret) {
				TH_LOG("%s, place %u", call->name, nth);
			}
			EXPECT_TRUE(taken);
			EXPECT_NE(NO_MEMORY, call->need) {
				TH_LOG("%s failed at place %u", call->name, nth);
			}
		} else {
			passed += taken;
			give_back(t, call->result, ret);
		}
		ASSERT_TRUE(npu_state_returns(&before, t->fd)) {
			TH_LOG("%s left something behind, place %u", call->name, nth);
		}
	}
	EXPECT_FALSE(taken);
	printf("# %s: failed at %u places, got over %u others\n", call->name, failed, passed);
	/* A call that takes memory must have failed, or nothing was tested. */
	EXPECT_TRUE(call->need != MEMORY || failed);
	EXPECT_EQ(0, npu_good_job(t->fd, RKNPU_CORE_AUTO_MASK));
}

FIXTURE(inject)
{
	struct things t;
};

FIXTURE_SETUP(inject)
{
	struct things *t = &self->t;
	bool iommu;

	if (!npu_kernel_injects())
		SKIP(return, "the kernel injects no failures");
	ASSERT_EQ(0, prepare_kernel());
	t->nth = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, t->nth);
	t->fd = npu_open();
	ASSERT_LE(0, t->fd);
	ASSERT_EQ(0, npu_node_path(t->fd, t->path, sizeof(t->path)));
	t->other = npu_open();
	ASSERT_LE(0, t->other);
	ASSERT_EQ(0, npu_bo_create(&t->bo, t->fd, 9 * PAGE, NPU_DATA));
	ASSERT_EQ(0, npu_matmul_create(&t->mm, t->fd, 2, 64, 32, 1));
	/* Without an IOMMU only what lies in one piece can be imported. */
	iommu = npu_has_iommu(t->fd);
	ASSERT_EQ(0, npu_dmabuf_create(&t->foreign, iommu ? NPU_SYSTEM_HEAP : NPU_CMA_HEAP,
				       8 * PAGE));
}

FIXTURE_TEARDOWN(inject)
{
	struct things *t = &self->t;

	if (!t->nth)
		return;
	npu_matmul_destroy(&t->mm);
	npu_bo_destroy(&t->bo);
	npu_dmabuf_destroy(&t->foreign);
	close(t->other);
	close(t->fd);
	close(t->nth);
}

TEST_F_TIMEOUT(inject, create_of_every_kind, 300)
{
	static const __u32 kinds[] = {
		NPU_DATA,
		NPU_TASKS,
		RKNPU_MEM_CONTIGUOUS | RKNPU_MEM_WRITE_COMBINE,
		NPU_DATA | RKNPU_MEM_DMA32,
		NPU_DATA | RKNPU_MEM_TRY_ALLOC_SRAM,
		NPU_DATA | RKNPU_MEM_TRY_ALLOC_NBUF,
	};
	static const struct call call = { "MEM_CREATE", create, HANDLE, MEMORY };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		self->t.flags = kinds[i];
		self->t.domain = npu_has_iommu(self->t.fd) ? i % 2 : 0;
		sweep(_metadata, &self->t, &call);
	}
}

TEST_F_TIMEOUT(inject, open_and_close, 300)
{
	static const struct call calls[] = {
		{ "open", open_node, FILE_DESCRIPTOR, MEMORY },
		{ "open, MEM_CREATE and close", open_and_create, NOTHING, MEMORY },
	};

	sweep(_metadata, &self->t, &calls[0]);
	sweep(_metadata, &self->t, &calls[1]);
}

TEST_F_TIMEOUT(inject, mapping, 300)
{
	static const struct call calls[] = {
		{ "MEM_MAP and mmap", map, NOTHING, MEMORY },
		{ "first access", touch, NOTHING, MEMORY },
	};

	sweep(_metadata, &self->t, &calls[0]);
	sweep(_metadata, &self->t, &calls[1]);
}

TEST_F_TIMEOUT(inject, sharing, 300)
{
	static const struct call calls[] = {
		{ "MEM_CREATE and export", create_and_export, FILE_DESCRIPTOR, MEMORY },
		{ "import", import_foreign, HANDLE, MEMORY },
		{ "import and MEM_CREATE", import_and_query, HANDLE, MEMORY },
		{ "MEM_CREATE, export and import", share, NOTHING, MEMORY },
	};
	unsigned int i;

	self->t.flags = NPU_DATA;
	for (i = 0; i < ARRAY_SIZE(calls); i++)
		sweep(_metadata, &self->t, &calls[i]);
}

TEST_F_TIMEOUT(inject, jobs, 300)
{
	/* Jobs that have ended may be used again. */
	static const struct call calls[] = {
		{ "SUBMIT", submit, NOTHING, MAYBE_MEMORY },
		{ "SUBMIT without waiting", submit, NOTHING, MAYBE_MEMORY },
		{ "SUBMIT with a fence", submit, FILE_DESCRIPTOR, MEMORY },
		{ "SUBMIT after SUBMIT", submit_after, NOTHING, MEMORY },
		{ "SUBMIT_ASYNC after SUBMIT_ASYNC", submit_async, NOTHING, MEMORY },
	};

	sweep(_metadata, &self->t, &calls[0]);
	self->t.job_flags = RKNPU_JOB_NONBLOCK;
	sweep(_metadata, &self->t, &calls[1]);
	self->t.job_flags = RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_OUT;
	sweep(_metadata, &self->t, &calls[2]);
	sweep(_metadata, &self->t, &calls[3]);

	self->t.syncobj = npu_syncobj(self->t.fd, false);
	self->t.timeline = npu_syncobj(self->t.fd, false);
	sweep(_metadata, &self->t, &calls[4]);
	/* What was promised has come, and no more: a job that was refused promised nothing. */
	EXPECT_EQ(0, npu_syncobj_wait_point(self->t.fd, self->t.timeline, self->t.point, 0, 5000));
	EXPECT_EQ(self->t.point, npu_syncobj_point(self->t.fd, self->t.timeline));
	npu_syncobj_destroy(self->t.fd, self->t.syncobj);
	npu_syncobj_destroy(self->t.fd, self->t.timeline);
}

/* These take no memory, so they can't fail for want of it. */
TEST_F_TIMEOUT(inject, questions_and_sync, 300)
{
	static const struct call calls[] = {
		{ "GET_PARAM, MEM_INFO and ACTION", ask, NOTHING, NO_MEMORY },
		{ "MEM_SYNC", sync_all, NOTHING, NO_MEMORY },
	};

	sweep(_metadata, &self->t, &calls[0]);
	sweep(_metadata, &self->t, &calls[1]);
}

/* Giving back must not fail, whatever else does: here the very first allocation. */
TEST_F(inject, destroy)
{
	struct npu_state before = npu_state_at_rest(self->t.fd);
	struct rknpu_submit job;
	int handle;

	self->t.flags = NPU_DATA;
	handle = create(&self->t);
	ASSERT_LT(0, handle);
	arm(&self->t, 1);
	EXPECT_EQ(0, npu_destroy(self->t.fd, handle));
	disarm(&self->t);
	EXPECT_TRUE(npu_state_returns(&before, self->t.fd));

	/* The same while a job may use it. */
	handle = create(&self->t);
	ASSERT_LT(0, handle);
	npu_slow(0, 200000);
	npu_matmul_job(&self->t.mm, &job, RKNPU_CORE0_MASK, 0, 1);
	job.flags |= RKNPU_JOB_NONBLOCK;
	ASSERT_EQ(0, npu_submit(self->t.fd, &job));
	arm(&self->t, 1);
	EXPECT_EQ(0, npu_destroy(self->t.fd, handle));
	disarm(&self->t);
	npu_fault_none();
	EXPECT_TRUE(npu_state_returns(&before, self->t.fd));
}

/* In a process without any other file of the NPU, the address spaces are made anew each time. */
TEST(first_use_by_a_process)
{
	struct things t = {};
	unsigned int nth, failed = 0;
	bool taken = true;
	int fd, ret;

	if (!npu_kernel_injects())
		SKIP(return, "the kernel injects no failures");
	ASSERT_EQ(0, prepare_kernel());
	fd = npu_open();
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, npu_node_path(fd, t.path, sizeof(t.path)));
	close(fd);
	t.nth = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, t.nth);

	for (nth = 1; taken && nth < MAX_PLACES; nth++) {
		struct npu_usage none = {};

		arm(&t, nth);
		ret = open_and_create(&t);
		taken = disarm(&t);
		if (ret < 0) {
			failed++;
			EXPECT_EQ(-ENOMEM, ret);
			EXPECT_TRUE(taken);
		}
		ASSERT_TRUE(npu_usage_equal(none, npu_usage_of(getpid())));
		ASSERT_EQ(0, open_and_create(&t));
	}
	EXPECT_FALSE(taken);
	EXPECT_LT(5, failed);
	close(t.nth);
}

/* One failure in a buffer of several runs of memory: what was mapped before it is taken back. */
TEST_F(inject, iommu_map)
{
	/* Runs of 1 MiB, of 64 KiB, and single pages */
	static const unsigned int places[] = { 0, 256, 256 + 16, 256 + 16 + 3 };
	struct rknpu_mem_create arg, retry;
	struct npu_state before = npu_state_at_rest(self->t.fd);
	__u32 handle;
	unsigned int i;

	if (!npu_has_iommu(self->t.fd))
		SKIP(return, "no IOMMU: nothing is mapped");
	for (i = 0; i < ARRAY_SIZE(places); i++) {
		arg = (struct rknpu_mem_create) {
			.size = (256 + 16 + 5) * PAGE, .flags = NPU_DATA,
		};
		retry = arg;
		/* A mapping passes while its size is less than what is left. */
		ASSERT_EQ(0, npu_inject(NPU_FAIL_IOMMU_MAP, places[i] * PAGE + 1, 1));
		EXPECT_EQ(-ENOMEM, npu_create(self->t.fd, &arg));
		ASSERT_EQ(0, npu_inject_end(NPU_FAIL_IOMMU_MAP));
		EXPECT_TRUE(npu_state_returns(&before, self->t.fd));
		ASSERT_EQ(0, npu_create(self->t.fd, &retry));
		EXPECT_EQ(0, npu_destroy(self->t.fd, retry.handle));
	}

	ASSERT_EQ(0, npu_import(self->t.fd, self->t.foreign.fd, &handle));
	ASSERT_EQ(0, npu_inject(NPU_FAIL_IOMMU_MAP, 0, 1));
	arg = (struct rknpu_mem_create) { .handle = handle };
	EXPECT_EQ(-ENOMEM, npu_create(self->t.fd, &arg));
	ASSERT_EQ(0, npu_inject_end(NPU_FAIL_IOMMU_MAP));
	/* The import is still good, and gets its address now. */
	arg = (struct rknpu_mem_create) { .handle = handle };
	EXPECT_EQ(0, npu_create(self->t.fd, &arg));
	EXPECT_NE(0, arg.dma_addr);
	EXPECT_EQ(0, npu_destroy(self->t.fd, handle));
	EXPECT_TRUE(npu_state_returns(&before, self->t.fd));
	EXPECT_EQ(0, npu_good_job(self->t.fd, RKNPU_CORE_AUTO_MASK));
}

TEST_HARNESS_MAIN
