// SPDX-License-Identifier: GPL-2.0-only
/*
 * Everything at once: threads of several processes make, use, share and destroy buffers whose
 * handles and tokens they take from each other or guess, so that each call meets buffers that
 * appear and vanish under it. A call may only end as its description says; afterwards everything
 * is free, and the NPU computes.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_control.h"
#include "npu_matmul.h"
#include "npu_proc.h"
#include "npu_usage.h"

#define PAGE 4096U
#define THREADS 4
/* Handles are small numbers that are used again: guesses below this hit. */
#define HANDLES 24
#define SHARED 8

/* What racers take from each other. All of it may be out of date. */
struct pool {
	int fd[2];
	__u64 token[HANDLES];
	__u64 offset[HANDLES];
	long end_ms;
};

struct racer {
	struct pool *pool;
	/* File descriptors of dma-bufs, of the process; taken from here by who uses them */
	int *dmabuf;
	pthread_t thread;
	__u32 random;
	int fd;
	struct npu_matmul *mm;
	/* The first answer that must not be */
	const char *wrong_call;
	int wrong_ret;
	unsigned long calls;
	unsigned long good;
};

static __u32 next(struct racer *r)
{
	r->random ^= r->random << 13;
	r->random ^= r->random >> 17;
	r->random ^= r->random << 5;
	return r->random;
}

static __u64 load(const __u64 *from)
{
	return __atomic_load_n(from, __ATOMIC_RELAXED);
}

static void store(__u64 *to, __u64 value)
{
	__atomic_store_n(to, value, __ATOMIC_RELAXED);
}

/* Notes the answer of a call if it is neither 0 nor one of up to three errors. */
static void expect(struct racer *r, const char *call, int ret, int a, int b, int c)
{
	r->calls++;
	r->good += ret >= 0;
	if (ret >= 0 || ret == a || ret == b || ret == c || r->wrong_call)
		return;
	r->wrong_call = call;
	r->wrong_ret = ret;
}

static __u32 any_handle(struct racer *r)
{
	return 1 + next(r) % (HANDLES - 1);
}

static __u64 any_token(struct racer *r)
{
	return load(&r->pool->token[next(r) % HANDLES]);
}

static void note_buffer(struct racer *r, const struct rknpu_mem_create *arg)
{
	if (arg->handle < HANDLES)
		store(&r->pool->token[arg->handle], arg->obj_addr);
}

static void create(struct racer *r)
{
	static const __u32 kinds[] = {
		NPU_DATA, NPU_TASKS, RKNPU_MEM_WRITE_COMBINE, NPU_DATA | RKNPU_MEM_TRY_ALLOC_SRAM,
		NPU_DATA | RKNPU_MEM_TRY_ALLOC_NBUF,
	};
	struct rknpu_mem_create arg = {
		.size = 1 + next(r) % (6 * PAGE), .flags = kinds[next(r) % ARRAY_SIZE(kinds)],
		.iommu_domain_id = npu_has_iommu(r->fd) && next(r) % 3 == 0,
	};
	int ret;

	/* Not more than can be guessed. */
	if (next(r) % 2)
		return;
	ret = npu_create(r->fd, &arg);
	/* Another thread may have destroyed it at once: then it has no address any more. */
	expect(r, "MEM_CREATE", ret, -ENOENT, 0, 0);
	if (ret)
		return;
	if (arg.handle < HANDLES)
		note_buffer(r, &arg);
	else
		npu_destroy(r->fd, arg.handle);
}

static void query(struct racer *r)
{
	struct rknpu_mem_create arg = { .handle = any_handle(r) };
	int ret = npu_create(r->fd, &arg);

	/* A handle that has just gone counts as 0, and so does the size. */
	expect(r, "MEM_CREATE of a handle", ret, -EINVAL, -ENOENT, 0);
	if (!ret)
		note_buffer(r, &arg);
}

static void info(struct racer *r)
{
	struct rknpu_mem_info arg = { .handle = any_handle(r) };

	expect(r, "MEM_INFO", npu_ioctl(r->fd, DRM_IOCTL_RKNPU_MEM_INFO, &arg), -ENOENT, 0, 0);
}

static void destroy(struct racer *r)
{
	expect(r, "MEM_DESTROY", npu_destroy(r->fd, any_handle(r)), -EINVAL, 0, 0);
}

static void gem_close(struct racer *r)
{
	struct drm_gem_close arg = { .handle = any_handle(r) };

	expect(r, "GEM_CLOSE", npu_ioctl(r->fd, DRM_IOCTL_GEM_CLOSE, &arg), -EINVAL, 0, 0);
}

static void sync_range(struct racer *r)
{
	int ret = npu_sync(r->fd, any_token(r), next(r) % 4, next(r) % (4 * PAGE),
			   next(r) % (8 * PAGE));

	expect(r, "MEM_SYNC", ret, -EINVAL, 0, 0);
}

static void map_offset(struct racer *r)
{
	__u32 handle = any_handle(r);
	__u64 offset;
	int ret = npu_map_offset(r->fd, handle, &offset);

	expect(r, "MEM_MAP", ret, -ENOENT, -EINVAL, 0);
	if (!ret)
		store(&r->pool->offset[handle], offset);
}

/* The offset may be of a buffer that is gone, is another one now, or belongs to the other file. */
static void map(struct racer *r)
{
	size_t size = (1 + next(r) % 2) * PAGE;
	__u64 offset = load(&r->pool->offset[next(r) % HANDLES]);
	char *bytes;

	bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, offset);
	expect(r, "mmap", bytes == MAP_FAILED ? -errno : 0, -EINVAL, -EACCES, 0);
	if (bytes == MAP_FAILED)
		return;
	if (next(r) % 2)
		destroy(r);
	/* Whatever has become of the buffer, its memory is here. */
	__atomic_fetch_add(&bytes[size - 1], 1, __ATOMIC_RELAXED);
	munmap(bytes, size);
}

static void export(struct racer *r)
{
	int dmabuf = npu_export(r->fd, any_handle(r)), old;

	expect(r, "HANDLE_TO_FD", dmabuf, -ENOENT, 0, 0);
	if (dmabuf < 0)
		return;
	old = __atomic_exchange_n(&r->dmabuf[next(r) % SHARED], dmabuf, __ATOMIC_RELAXED);
	if (old >= 0)
		close(old);
}

static void import(struct racer *r)
{
	int dmabuf = __atomic_exchange_n(&r->dmabuf[next(r) % SHARED], -1, __ATOMIC_RELAXED);
	struct rknpu_mem_create arg = {};
	int ret;

	if (dmabuf < 0)
		return;
	ret = npu_import(r->fd, dmabuf, &arg.handle);
	expect(r, "FD_TO_HANDLE", ret, 0, 0, 0);
	close(dmabuf);
	if (ret)
		return;
	ret = npu_create(r->fd, &arg);
	expect(r, "MEM_CREATE, imported", ret, -EINVAL, -ENOENT, 0);
	if (!ret)
		note_buffer(r, &arg);
	if (arg.handle >= HANDLES)
		npu_destroy(r->fd, arg.handle);
}

/*
 * A job whose array of tasks is any buffer: nearly always it holds no task and is refused. If it is
 * that of a doomed job (below), its lists are gone or become something else any moment.
 */
static void submit_garbage(struct racer *r)
{
	struct rknpu_submit job;

	npu_matmul_job(r->mm, &job, RKNPU_CORE_AUTO_MASK, 0, 1);
	job.task_obj_addr = any_token(r);
	job.timeout = 100;
	expect(r, "SUBMIT of any buffer", npu_submit(r->fd, &job), -EINVAL, -EFAULT, -ETIMEDOUT);
}

/*
 * A job whose buffers are given up at once and may vanish, or become others, even before it is
 * submitted. How it ends nobody knows.
 */
static void submit_doomed(struct racer *r)
{
	struct rknpu_submit job;
	struct npu_matmul mm;

	/* Most of them cost a reset. Without an IOMMU it would be others' memory by then. */
	if (next(r) % 20 || !npu_has_iommu(r->fd))
		return;
	if (npu_matmul_create(&mm, r->fd, 2, 64, 32, next(r)))
		return;
	npu_matmul_job(&mm, &job, RKNPU_CORE_AUTO_MASK, 0, 2);
	job.flags |= RKNPU_JOB_NONBLOCK;
	job.timeout = 100;
	expect(r, "SUBMIT without waiting", npu_submit(r->fd, &job), -EINVAL, 0, 0);
	npu_matmul_destroy(&mm);
}

/* A good job, whose buffers nobody guesses: right, whatever comes and goes beside it. */
static void submit(struct racer *r)
{
	__u32 mask = next(r) % 4;
	int ret;

	if (next(r) % 4)
		return;
	ret = npu_matmul_run(r->mm, npu_mask_valid(mask) && mask < 3 ? mask : 0, 20000);
	expect(r, "SUBMIT", ret, 0, 0, 0);
}

static void *race(void *arg)
{
	static void (*const steps[])(struct racer *r) = {
		create, create, create, query, info, destroy, gem_close, sync_range, map_offset,
		map, export, import, submit_garbage, submit_doomed, submit,
	};
	struct racer *r = arg;

	while (!r->wrong_call && npu_now_ms() < r->pool->end_ms) {
		r->fd = r->pool->fd[next(r) % 2];
		steps[next(r) % ARRAY_SIZE(steps)](r);
	}
	return NULL;
}

static int open_pool(struct pool *pool, unsigned int files)
{
	memset(pool, 0, sizeof(*pool));
	pool->fd[0] = npu_open();
	pool->fd[1] = files == 2 ? npu_open() : pool->fd[0];
	return pool->fd[0] < 0 || pool->fd[1] < 0 ? -ENODEV : 0;
}

static void close_pool(struct pool *pool)
{
	close(pool->fd[0]);
	if (pool->fd[1] != pool->fd[0])
		close(pool->fd[1]);
}

/* The good jobs of each thread have a file of their own, so that nobody hits their handles. */
static int start(struct racer *r, struct pool *pool, int *dmabuf, unsigned int seed,
		 struct npu_matmul *mm)
{
	int fd = npu_open(), ret;

	if (fd < 0)
		return -ENODEV;
	ret = npu_matmul_create(mm, fd, 2, 64, 32, seed);
	if (ret)
		return ret;
	*r = (struct racer) {
		.pool = pool, .dmabuf = dmabuf, .random = seed * 2654435761U | 1, .mm = mm,
	};
	return -pthread_create(&r->thread, NULL, race, r);
}

static int finish(struct racer *r)
{
	int fd = r->mm->tasks.fd;

	pthread_join(r->thread, NULL);
	npu_matmul_destroy(r->mm);
	close(fd);
	if (!r->wrong_call)
		return 0;
	printf("# %s: unexpected %d\n", r->wrong_call, r->wrong_ret);
	return -EPROTO;
}

/* Races in the calling process. 0, or -errno when something was not as it must be. */
static int run_race(unsigned int files, unsigned int seed)
{
	const long ms = npu_kernel_is_slow() ? 12000 : 2000;
	struct npu_matmul mm[THREADS];
	struct racer racers[THREADS];
	unsigned long calls = 0, good = 0;
	int dmabuf[SHARED];
	struct pool pool;
	unsigned int i;
	int ret;

	ret = open_pool(&pool, files);
	if (ret)
		return ret;
	pool.end_ms = npu_now_ms() + ms;
	memset(dmabuf, -1, sizeof(dmabuf));
	for (i = 0; i < THREADS; i++) {
		ret = start(&racers[i], &pool, dmabuf, seed + i, &mm[i]);
		if (ret)
			return ret;
	}
	for (i = 0; i < THREADS; i++) {
		int one = finish(&racers[i]);

		ret = ret ? ret : one;
		calls += racers[i].calls;
		good += racers[i].good;
	}
	for (i = 0; i < SHARED; i++) {
		if (dmabuf[i] >= 0)
			close(dmabuf[i]);
	}
	close_pool(&pool);
	printf("# %lu calls, %lu of them successful\n", calls, good);
	/* If nearly nothing or nearly everything succeeds the guesses don't meet. */
	if (!ret && calls > 1000 && (good < calls / 10 || good > calls * 9 / 10))
		ret = -EDOM;
	return ret;
}

FIXTURE(race)
{
	int fd;
	struct npu_state before;
};

FIXTURE_SETUP(race)
{
	npu_fault_none();
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, npu_good_job(self->fd, RKNPU_CORE_AUTO_MASK));
	self->before = npu_state_at_rest(self->fd);
}

FIXTURE_TEARDOWN(race)
{
	/* The model's reports of misuse say nothing here: doomed jobs run any list. */
	EXPECT_TRUE(npu_state_returns(&self->before, self->fd));
	EXPECT_EQ(0, npu_good_job(self->fd, RKNPU_CORE_AUTO_MASK));
	close(self->fd);
}

TEST_F_TIMEOUT(race, one_file, 120)
{
	EXPECT_EQ(0, run_race(1, 1));
}

TEST_F_TIMEOUT(race, files_of_one_process, 120)
{
	EXPECT_EQ(0, run_race(2, 100));
}

static int race_of_a_process(void *arg)
{
	return -run_race(2, (unsigned long)arg);
}

TEST_F_TIMEOUT(race, processes, 120)
{
	pid_t pids[3];
	unsigned long i;

	for (i = 0; i < ARRAY_SIZE(pids); i++)
		pids[i] = npu_spawn(race_of_a_process, (void *)(1000 + 100 * i));
	for (i = 0; i < ARRAY_SIZE(pids); i++)
		EXPECT_EQ(0, npu_join(pids[i], 60000));
}

/* Processes that share a file and its handles, as after a fork, and die in the midst of it. */
static int race_until_killed(void *arg)
{
	struct pool *pool = arg;
	struct npu_matmul mm;
	int dmabuf[SHARED];
	struct racer r;

	memset(dmabuf, -1, sizeof(dmabuf));
	if (start(&r, pool, dmabuf, getpid(), &mm))
		return 1;
	return finish(&r) ? 2 : 0;
}

TEST_F_TIMEOUT(race, shared_file_and_sudden_death, 120)
{
	struct pool *pool = mmap(NULL, sizeof(*pool), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned int round, i;
	pid_t pids[THREADS];

	ASSERT_NE(MAP_FAILED, pool);
	for (round = 0; round < 6; round++) {
		ASSERT_EQ(0, open_pool(pool, 2));
		pool->end_ms = npu_now_ms() + 60000;
		for (i = 0; i < THREADS; i++)
			pids[i] = npu_spawn(race_until_killed, pool);
		npu_sleep_ms(300 + round * 100);
		for (i = 0; i < THREADS; i++) {
			kill(pids[i], SIGKILL);
			EXPECT_EQ(NPU_SIGNALLED(SIGKILL), npu_join(pids[i], 20000));
		}
		close_pool(pool);
	}
	munmap(pool, sizeof(*pool));
}

TEST_HARNESS_MAIN
