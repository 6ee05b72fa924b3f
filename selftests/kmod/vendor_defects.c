// SPDX-License-Identifier: GPL-2.0-only
/*
 * What breaks the vendor's driver and belongs to no other program of this folder; see
 * docs/vendor-defects.md for the whole list.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_control.h"
#include "npu_matmul.h"
#include "npu_proc.h"
#include "npu_sync.h"

#define MIB (1024 * 1024ULL)
#define MS 1000 /* in microseconds */

FIXTURE(defect)
{
	int fd;
};

FIXTURE_SETUP(defect)
{
	npu_fault_none();
	npu_ctl_clear(VNPU_CTL_CLEAR_RECORDS | VNPU_CTL_CLEAR_COUNTERS);
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(defect)
{
	char text[256];
	unsigned int core;

	npu_fault_none();
	for (core = 0; core < npu_cores(); core++)
		EXPECT_EQ(0, npu_good_job(self->fd, 1U << core));
	EXPECT_EQ(0, npu_ctl_misuse(text, sizeof(text))) {
		TH_LOG("%s", text);
	}
	close(self->fd);
}

static unsigned int count_bytes_not(const unsigned char *bytes, size_t size, unsigned char value)
{
	unsigned int count = 0;
	size_t i;

	for (i = 0; i < size; i++)
		count += bytes[i] != value;
	return count;
}

/*
 * Requests that claim a far larger structure than there is: the driver takes what it knows, and
 * writes back no more than that.
 */
TEST_F(defect, oversized_structures)
{
	static const struct {
		unsigned int nr;
		size_t known;
		int ret;
	} requests[] = {
		{ DRM_RKNPU_ACTION, sizeof(struct rknpu_action), -EINVAL },
		{ DRM_RKNPU_SUBMIT, sizeof(struct rknpu_submit), -EINVAL },
		{ DRM_RKNPU_MEM_CREATE, sizeof(struct rknpu_mem_create), -EINVAL },
		{ DRM_RKNPU_MEM_MAP, sizeof(struct rknpu_mem_map), -ENOENT },
		{ DRM_RKNPU_MEM_DESTROY, sizeof(struct rknpu_mem_destroy), -EINVAL },
		{ DRM_RKNPU_MEM_SYNC, sizeof(struct rknpu_mem_sync), -EINVAL },
		/* The driver's own say that they don't know the rest. */
		{ DRM_RKNPU_GET_PARAM, sizeof(struct rknpu_get_param), -E2BIG },
		{ DRM_RKNPU_MEM_INFO, sizeof(struct rknpu_mem_info), -E2BIG },
	};
	static unsigned char arg[0x3fff + 64];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(requests); i++) {
		unsigned long request = _IOC(_IOC_READ | _IOC_WRITE, DRM_IOCTL_BASE,
					     DRM_COMMAND_BASE + requests[i].nr, 0x3fff);

		memset(arg, 0xff, sizeof(arg));
		EXPECT_EQ(requests[i].ret, npu_ioctl(self->fd, request, arg)) {
			TH_LOG("number %#x", requests[i].nr);
		}
		/* Zeros or what was there; nothing of the kernel's. */
		EXPECT_EQ(0, count_bytes_not(arg + 0x3fff, 64, 0xff));
		EXPECT_EQ(0, count_bytes_not(arg + requests[i].known, 0x3fff - requests[i].known,
					     arg[requests[i].known]));
		EXPECT_TRUE(arg[requests[i].known] == 0 || arg[requests[i].known] == 0xff);
	}
}

/* "Contiguous" and larger than any run of free pages: in parts behind an IOMMU, or not at all. */
TEST_F_TIMEOUT(defect, contiguous_fallback, 120)
{
	static const __u64 sizes[] = { 8 * MIB, 80 * MIB };
	long before = npu_used_memory();
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct npu_bo bo;
		int ret = npu_bo_create(&bo, self->fd, sizes[i], RKNPU_MEM_CONTIGUOUS);

		if (ret) {
			EXPECT_FALSE(npu_has_iommu(self->fd));
			EXPECT_EQ(-ENOMEM, ret);
			continue;
		}
		((char *)bo.map)[0] = 1;
		((char *)bo.map)[sizes[i] - 1] = 2;
		EXPECT_EQ(1, ((char *)bo.map)[0]);
		EXPECT_EQ(2, ((char *)bo.map)[sizes[i] - 1]);
		npu_bo_destroy(&bo);
	}
	EXPECT_GT(before + 2048, npu_used_memory());
}

struct job {
	struct npu_matmul mm;
	struct rknpu_submit submit;
};

/* A slow job without a waiter; its fence is in submit.fence_fd. */
static int start_slow(struct job *job, int fd, unsigned int core, unsigned int rows)
{
	int ret = npu_matmul_create(&job->mm, fd, rows, 64, 32, core + 3);

	if (ret)
		return ret;
	npu_slow(core, 20 * MS);
	npu_matmul_job(&job->mm, &job->submit, 1U << core, 0, rows);
	job->submit.flags |= RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_OUT;
	job->submit.timeout = 60000;
	return npu_submit(fd, &job->submit);
}

static int ended(const struct job *job, int timeout_ms)
{
	struct pollfd fence = { .fd = job->submit.fence_fd, .events = POLLIN };

	return poll(&fence, 1, timeout_ms);
}

/* Buffers that begin on the chip, and the question how much of that memory is free. */
static const struct on_chip {
	__u32 flag, free;
} on_chip[] = {
	{ RKNPU_MEM_TRY_ALLOC_SRAM, RKNPU_PARAM_SRAM_FREE },
	{ RKNPU_MEM_TRY_ALLOC_NBUF, RKNPU_PARAM_NBUF_FREE },
};

static void given_up_during_a_job(struct __test_metadata *_metadata, int fd,
				  const struct on_chip *chip)
{
	struct rknpu_mem_create arg = { .size = 64 * 1024, .flags = NPU_DATA | chip->flag };
	struct rknpu_mem_info info = {};
	__u64 before, after;
	struct job job;
	unsigned int i;

	before = npu_param(fd, chip->free);
	ASSERT_EQ(0, npu_create(fd, &arg));
	info.handle = arg.handle;
	ASSERT_EQ(0, npu_ioctl(fd, DRM_IOCTL_RKNPU_MEM_INFO, &info));
	EXPECT_EQ(before && npu_has_iommu(fd) ? 64 * 1024 : 0, info.sram_size + info.nbuf_size);
	ASSERT_EQ(0, npu_matmul_create(&job.mm, fd, 20, 64, 32, 1));
	for (i = 0; i < 20; i++)
		npu_matmul_set(&job.mm, i, NPU_REG_DST_ADDR, arg.dma_addr + i * 128);
	npu_slow(0, 10 * MS);
	npu_matmul_job(&job.mm, &job.submit, RKNPU_CORE0_MASK, 0, 20);
	job.submit.flags |= RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_OUT;
	ASSERT_EQ(0, npu_submit(fd, &job.submit));
	ASSERT_EQ(0, npu_destroy(fd, arg.handle));

	after = npu_param(fd, chip->free);
	EXPECT_EQ(0, ended(&job, 0));
	EXPECT_EQ(before - info.sram_size - info.nbuf_size, after);
	EXPECT_EQ(1, ended(&job, 10000));
	for (i = 0; i < 100 && after != before; i++) {
		npu_sleep_ms(10);
		after = npu_param(fd, chip->free);
	}
	EXPECT_EQ(before, after);
	close(job.submit.fence_fd);
	npu_matmul_destroy(&job.mm);
	npu_fault_none();
}

/* Memory on the chip that a job writes to is nobody else's before the job has ended. */
TEST_F(defect, sram_given_up_during_a_job)
{
	given_up_during_a_job(_metadata, self->fd, &on_chip[0]);
}

TEST_F(defect, nbuf_given_up_during_a_job)
{
	given_up_during_a_job(_metadata, self->fd, &on_chip[1]);
}

#define SECRET 0xa5

struct on_chip_user {
	__u32 flag;
	int ready, go_on;
};

/* Fills a large buffer on the chip, and sees after a while whether anybody has touched it. */
static int keeps_a_secret(void *arg)
{
	const struct on_chip_user *user = arg;
	struct npu_bo bo;
	int fd = npu_open();
	char byte;

	if (fd < 0 || npu_bo_create(&bo, fd, 256 * 1024, NPU_DATA | user->flag))
		return 1;
	memset(bo.map, SECRET, bo.size);
	if (write(user->ready, "", 1) != 1 || read(user->go_on, &byte, 1) != 1)
		return 2;
	return count_bytes_not(bo.map, bo.size, SECRET) ? 3 : 0;
}

/*
 * Two processes that want memory on the chip never have the same, and nobody sees what another one
 * has left in it.
 */
TEST_F(defect, memory_on_the_chip_is_shared)
{
	unsigned int i, round, dirty;

	for (i = 0; i < ARRAY_SIZE(on_chip); i++) {
		__u64 before = npu_param(self->fd, on_chip[i].free), after = 0;
		int ready[2], go_on[2];
		struct on_chip_user user;
		struct npu_bo bo;
		pid_t pid;
		char byte;

		ASSERT_EQ(0, pipe(ready));
		ASSERT_EQ(0, pipe(go_on));
		user = (struct on_chip_user) { on_chip[i].flag, ready[1], go_on[0] };
		pid = npu_spawn(keeps_a_secret, &user);
		ASSERT_EQ(1, read(ready[0], &byte, 1));
		/* Beside the other one, and, when that is gone, in its place. */
		for (round = 0; round < 2; round++) {
			ASSERT_EQ(0, npu_bo_create(&bo, self->fd, 2 * MIB,
						   NPU_DATA | on_chip[i].flag));
			dirty = count_bytes_not(bo.map, bo.size, 0);
			EXPECT_EQ(0, dirty) {
				TH_LOG("flag %#x, round %u", on_chip[i].flag, round);
			}
			memset(bo.map, ~SECRET, bo.size);
			if (round == 0) {
				ASSERT_EQ(1, write(go_on[1], "", 1));
				EXPECT_EQ(0, npu_join(pid, 10000));
			}
			npu_bo_destroy(&bo);
		}
		for (round = 0; round < 200 && after != before; round++) {
			npu_sleep_ms(10);
			after = npu_param(self->fd, on_chip[i].free);
		}
		EXPECT_EQ(before, after);
		close(ready[0]);
		close(ready[1]);
		close(go_on[0]);
		close(go_on[1]);
	}
}

/* Another process queues jobs that return at once. */
static int queue_jobs(void *arg)
{
	__u32 core_mask = *(__u32 *)arg;
	struct rknpu_submit job;
	struct npu_matmul mm;
	int fd = npu_open();
	unsigned int i;

	if (fd < 0 || npu_matmul_create(&mm, fd, 1, 64, 32, 5))
		return 1;
	for (i = 0; i < 20; i++) {
		npu_matmul_job(&mm, &job, core_mask, 0, 1);
		if (core_mask == 7) {
			job.subcore_task[3].task_number = 1;
			job.subcore_task[4].task_number = 1;
		}
		job.flags |= RKNPU_JOB_NONBLOCK;
		if (npu_submit(fd, &job))
			return 2;
		npu_sleep_ms(5);
	}
	return 0;
}

/* Whoever has the core keeps it: blocking or not, on one core or as one of several. */
TEST_F_TIMEOUT(defect, nonblock_behind_a_long_job, 120)
{
	static const __u32 masks[] = { 1, 2, 4, 3, 7 };
	unsigned int i, core;

	for (i = 0; i < ARRAY_SIZE(masks); i++) {
		struct job jobs[NPU_MAX_CORES];
		__u32 mask = masks[i];

		if (!npu_mask_valid(mask))
			continue;
		for (core = 0; core < npu_cores(); core++)
			ASSERT_EQ(0, start_slow(&jobs[core], self->fd, core, 10));
		EXPECT_EQ(0, npu_join(npu_spawn(queue_jobs, &mask), 10000));
		for (core = 0; core < npu_cores(); core++) {
			EXPECT_EQ(1, ended(&jobs[core], 10000));
			EXPECT_EQ(0, npu_matmul_wrong(&jobs[core].mm, 0, 10)) {
				TH_LOG("core %u, mask %u", core, mask);
			}
			close(jobs[core].submit.fence_fd);
			npu_matmul_destroy(&jobs[core].mm);
		}
		npu_fault_none();
	}
}

struct waiter {
	__u32 core_mask;
	int ready;
};

static int waits_in_the_queue(void *arg)
{
	struct waiter *w = arg;
	struct rknpu_submit job;
	struct npu_matmul mm;
	int fd = npu_open();

	if (fd < 0 || npu_matmul_create(&mm, fd, 1, 64, 32, 5))
		return 1;
	npu_matmul_job(&mm, &job, w->core_mask, 0, 1);
	job.subcore_task[3].task_number = 1;
	job.subcore_task[4].task_number = 1;
	if (write(w->ready, "", 1) != 1)
		return 3;
	return npu_submit(fd, &job) ? 2 : 0;
}

/* Jobs that never started leave the queues of all their cores when their process is killed. */
TEST_F_TIMEOUT(defect, killed_in_the_queue, 120)
{
	static const __u32 masks[] = { 1, 2, 4, 3, 7 };
	/* The cores stay busy until all processes are there and have been killed. */
	unsigned int rows = npu_kernel_is_slow() ? 600 : 150;
	struct job jobs[NPU_MAX_CORES];
	unsigned int i, core;
	pid_t pids[ARRAY_SIZE(masks)];
	int ready[2];
	char byte;

	ASSERT_EQ(0, pipe(ready));
	for (core = 0; core < npu_cores(); core++)
		ASSERT_EQ(0, start_slow(&jobs[core], self->fd, core, rows));
	for (i = 0; i < ARRAY_SIZE(masks); i++) {
		struct waiter w = { masks[i], ready[1] };

		if (!npu_mask_valid(masks[i]))
			continue;
		pids[i] = npu_spawn(waits_in_the_queue, &w);
		ASSERT_EQ(1, read(ready[0], &byte, 1));
	}
	npu_sleep_ms(100);
	for (i = 0; i < ARRAY_SIZE(masks); i++) {
		if (!npu_mask_valid(masks[i]))
			continue;
		ASSERT_EQ(0, kill(pids[i], SIGKILL));
		EXPECT_EQ(NPU_SIGNALLED(SIGKILL), npu_join(pids[i], 1000)) {
			TH_LOG("mask %u", masks[i]);
		}
	}
	for (core = 0; core < npu_cores(); core++) {
		EXPECT_EQ(1, ended(&jobs[core], 60000));
		EXPECT_EQ(0, npu_matmul_wrong(&jobs[core].mm, 0, rows));
		EXPECT_EQ(1, npu_ctl_core(core, VNPU_CTL_STARTS));
		close(jobs[core].submit.fence_fd);
		npu_matmul_destroy(&jobs[core].mm);
	}
	close(ready[0]);
	close(ready[1]);
}

/* Without a free descriptor there is no fence, and no job either; nothing is kept. */
TEST_F(defect, no_descriptor_for_the_fence)
{
	struct rlimit limit, none;
	struct rknpu_submit job;
	struct npu_matmul mm;
	unsigned int i;
	int next;

	ASSERT_EQ(0, npu_matmul_create(&mm, self->fd, 2, 64, 32, 5));
	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &limit));
	next = dup(self->fd);
	ASSERT_LE(0, next);
	close(next);
	none = limit;
	none.rlim_cur = next;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
	for (i = 0; i < 100; i++) {
		npu_matmul_job(&mm, &job, RKNPU_CORE0_MASK, 0, 2);
		job.flags |= RKNPU_JOB_FENCE_OUT | (i % 2 ? RKNPU_JOB_NONBLOCK : 0);
		EXPECT_EQ(-EMFILE, npu_submit(self->fd, &job));
		EXPECT_EQ(-1, job.fence_fd);
	}
	EXPECT_EQ(0, npu_matmul_touched(&mm, 0, 2));
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
	EXPECT_EQ(next, dup(self->fd));
	close(next);
	npu_matmul_destroy(&mm);
}

/* A job whose file is closed under it writes to no memory that is somebody else's by then. */
TEST_F(defect, memory_reused_after_close)
{
	unsigned int round, i, dirty = 0;

	for (round = 0; round < 5; round++) {
		struct job job;
		struct npu_bo bo[32];
		int fd = npu_open();

		ASSERT_LE(0, fd);
		ASSERT_EQ(0, start_slow(&job, fd, 0, 20));
		npu_matmul_destroy(&job.mm);
		close(fd);
		for (i = 0; i < ARRAY_SIZE(bo); i++)
			ASSERT_EQ(0, npu_bo_create(&bo[i], self->fd, 64 * 1024, NPU_DATA));
		EXPECT_EQ(1, ended(&job, 10000));
		for (i = 0; i < ARRAY_SIZE(bo); i++) {
			npu_bo_from_device(&bo[i]);
			dirty += count_bytes_not(bo[i].map, 64 * 1024, 0);
			npu_bo_destroy(&bo[i]);
		}
		close(job.submit.fence_fd);
		npu_fault_none();
	}
	EXPECT_EQ(0, dirty);
}

struct racer {
	int fd;
	bool stop;
	__u32 handle;
	__u64 token;
	unsigned int rounds;
};

static void *close_handles(void *arg)
{
	struct racer *r = arg;

	while (!__atomic_load_n(&r->stop, __ATOMIC_RELAXED)) {
		struct drm_gem_close close_arg = {
			.handle = __atomic_load_n(&r->handle, __ATOMIC_RELAXED),
		};

		npu_ioctl(r->fd, DRM_IOCTL_GEM_CLOSE, &close_arg);
		/* Else it closes them all in the making. */
		usleep(50);
		r->rounds++;
	}
	return NULL;
}

static void *use_handles(void *arg)
{
	struct racer *r = arg;

	while (!__atomic_load_n(&r->stop, __ATOMIC_RELAXED)) {
		struct rknpu_mem_create query = {
			.handle = __atomic_load_n(&r->handle, __ATOMIC_RELAXED),
		};
		struct rknpu_submit job = {
			.flags = RKNPU_JOB_PC, .timeout = 10, .task_number = 1,
			.task_obj_addr = __atomic_load_n(&r->token, __ATOMIC_RELAXED),
			.core_mask = RKNPU_CORE0_MASK, .subcore_task = { { 0, 1 } },
		};

		/* Size 0: nothing is made when the handle is gone already. */
		npu_create(r->fd, &query);
		npu_sync(r->fd, job.task_obj_addr, RKNPU_MEM_SYNC_MASK, 0, 8192);
		npu_submit(r->fd, &job);
		r->rounds++;
	}
	return NULL;
}

/* Handles and tokens are used by one thread while another takes them away. */
TEST_F_TIMEOUT(defect, handles_closed_meanwhile, 60)
{
	struct racer closer = { .fd = self->fd }, user = { .fd = self->fd };
	long before = npu_used_memory(), end = npu_now_ms() + 1000;
	unsigned int made = 0;
	pthread_t threads[2];

	ASSERT_EQ(0, pthread_create(&threads[0], NULL, close_handles, &closer));
	ASSERT_EQ(0, pthread_create(&threads[1], NULL, use_handles, &user));
	while (npu_now_ms() < end) {
		struct rknpu_mem_create arg = { .size = 8192, .flags = NPU_TASKS };

		int ret = npu_create(self->fd, &arg);

		/* The last handle's number is the next one's: it may be closed in the making. */
		ASSERT_TRUE(ret == 0 || ret == -ENOENT) {
			TH_LOG("returned %d", ret);
		}
		made += !ret;
		__atomic_store_n(&user.handle, arg.handle, __ATOMIC_RELAXED);
		__atomic_store_n(&user.token, arg.obj_addr, __ATOMIC_RELAXED);
		__atomic_store_n(&closer.handle, arg.handle, __ATOMIC_RELAXED);
		sched_yield();
		npu_destroy(self->fd, arg.handle);
	}
	__atomic_store_n(&closer.stop, true, __ATOMIC_RELAXED);
	__atomic_store_n(&user.stop, true, __ATOMIC_RELAXED);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	/* Contiguous memory takes its time while both CPUs are busy. */
	EXPECT_LT(5, made);
	EXPECT_LT(5, closer.rounds);
	EXPECT_LT(5, user.rounds);
	EXPECT_GT(before + 2048, npu_used_memory());
}

/*
 * Root may say "off" as often as it likes, in the vendor's file and in runtime PM's: power stays
 * while a job runs.
 */
TEST_F(defect, power_off_during_a_job)
{
	static const char *const files[] = {
		"/sys/kernel/debug/rknpu/power", "/sys/kernel/debug/rknpu/load",
		"/proc/rknpu/power",
	};
	struct rknpu_submit job;
	struct npu_matmul mm;
	unsigned int i, file;
	int ret;

	ASSERT_EQ(0, npu_matmul_create(&mm, self->fd, 4, 64, 32, 1));
	npu_slow(0, 100 * MS);
	npu_matmul_job(&mm, &job, 1, 0, 4);
	job.flags |= RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_OUT;
	job.timeout = 5000;
	npu_matmul_poison(&mm);
	ASSERT_EQ(0, npu_submit(self->fd, &job));
	for (i = 0; i < 5; i++) {
		for (file = 0; file < ARRAY_SIZE(files); file++) {
			ret = npu_write_file(files[file], "off\n");
			EXPECT_TRUE(!ret || ret == -ENOENT);
		}
		EXPECT_EQ(0, npu_power_write("autosuspend_delay_ms", "0"));
		EXPECT_EQ(0, npu_power_write("control", i % 2 ? "on" : "auto"));
	}
	EXPECT_EQ(0, npu_power_write("control", "auto"));
	EXPECT_EQ(1, npu_fence_result(job.fence_fd, 5000));
	EXPECT_EQ(0, npu_matmul_wrong(&mm, 0, 4));
	EXPECT_EQ(0, npu_power_write("autosuspend_delay_ms", "3000"));
	close(job.fence_fd);
	npu_matmul_destroy(&mm);
}

TEST_HARNESS_MAIN
