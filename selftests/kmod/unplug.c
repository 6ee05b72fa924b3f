// SPDX-License-Identifier: GPL-2.0-only
/* The driver is taken from its device while files, mappings and jobs exist, and put back. */
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_control.h"
#include "npu_matmul.h"
#include "npu_proc.h"
#include "npu_sync.h"

#define MS 1000 /* in microseconds */
#define VENDOR_DRIVER "/sys/bus/platform/drivers/RKNPU"

/* The device that a node belongs to, and the folder of its driver. */
struct binding {
	char device[NAME_MAX];
	char driver[PATH_MAX];
};

static int find_binding(int fd, struct binding *b)
{
	char path[PATH_MAX], real[PATH_MAX];
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	snprintf(path, sizeof(path), "/sys/dev/char/%u:%u/device", major(st.st_rdev),
		 minor(st.st_rdev));
	if (!realpath(path, real))
		return -errno;
	snprintf(b->device, sizeof(b->device), "%.200s", strrchr(real, '/') + 1);
	snprintf(path, sizeof(path), "%.4000s/driver", real);
	return realpath(path, b->driver) ? 0 : -errno;
}

static int rebind(const struct binding *b, const char *what)
{
	char path[PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/%s", b->driver, what);
	return npu_write_file(path, b->device);
}

static int unbind(const struct binding *b)
{
	return rebind(b, "unbind");
}

static int bind_again(const struct binding *b)
{
	return rebind(b, "bind");
}

FIXTURE(unplug)
{
	struct binding binding;
	int fd;
};

FIXTURE_SETUP(unplug)
{
	npu_fault_none();
	npu_ctl_clear(VNPU_CTL_CLEAR_COUNTERS);
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, find_binding(self->fd, &self->binding));
}

/* The tests behind this one need the device, whatever became of it here. */
FIXTURE_TEARDOWN(unplug)
{
	int fd;

	npu_fault_none();
	close(self->fd);
	fd = npu_open();
	if (fd < 0) {
		bind_again(&self->binding);
		fd = npu_open();
	}
	EXPECT_LE(0, fd);
	EXPECT_EQ(0, npu_good_job(fd, RKNPU_CORE_AUTO_MASK));
	close(fd);
}

/* All that can be asked of a file whose device is gone. */
static void expect_gone(struct __test_metadata *_metadata, int fd, const struct npu_bo *bo)
{
	struct rknpu_mem_create create = { .size = 4096, .flags = NPU_DATA };
	struct rknpu_submit job = { .flags = RKNPU_JOB_PC, .task_number = 1,
				    .task_obj_addr = bo->token };
	__u32 value = 0;
	__u64 offset;

	EXPECT_EQ(-ENODEV, npu_action(fd, RKNPU_GET_DRV_VERSION, &value));
	EXPECT_EQ(-ENODEV, npu_create(fd, &create));
	EXPECT_EQ(-ENODEV, npu_map_offset(fd, bo->handle, &offset));
	EXPECT_EQ(-ENODEV, npu_sync(fd, bo->token, RKNPU_MEM_SYNC_MASK, 0, 4096));
	EXPECT_EQ(-ENODEV, npu_submit(fd, &job));
}

static sigjmp_buf touched;

static void on_bus_error(int sig)
{
	(void)sig;
	siglongjmp(touched, 1);
}

/* Writes to a mapping that may be dead: a signal is an answer too. */
static void touch(void *map)
{
	struct sigaction action = { .sa_handler = on_bus_error }, old;

	sigaction(SIGBUS, &action, &old);
	if (!sigsetjmp(touched, 1))
		memset(map, 1, 4096);
	sigaction(SIGBUS, &old, NULL);
}

TEST_F(unplug, driver_has_the_vendors_name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", VENDOR_DRIVER, npu_device_name());
	EXPECT_EQ(0, access(path, F_OK));
}

/* The devices of the device tree: one for all cores, or one for each. */
TEST_F_TIMEOUT(unplug, devices_of_the_tree, 60)
{
	glob_t devices = {};
	unsigned int core;
	size_t i;

	ASSERT_EQ(0, glob(VENDOR_DRIVER "/*.npu", 0, NULL, &devices));
	for (i = 0; i < devices.gl_pathc; i++) {
		struct binding b = { .driver = VENDOR_DRIVER };
		int fd;

		snprintf(b.device, sizeof(b.device), "%.200s",
			 strrchr(devices.gl_pathv[i], '/') + 1);
		ASSERT_EQ(0, unbind(&b));
		/* What is left may work or not. */
		npu_good_job(self->fd, RKNPU_CORE_AUTO_MASK);
		ASSERT_EQ(0, bind_again(&b));
		fd = npu_open();
		ASSERT_LE(0, fd) {
			TH_LOG("after %s", b.device);
		}
		for (core = 0; core < npu_cores(); core++) {
			EXPECT_EQ(0, npu_good_job(fd, 1U << core)) {
				TH_LOG("core %u after %s", core, b.device);
			}
		}
		close(fd);
	}
	globfree(&devices);
}

TEST_F(unplug, open_file)
{
	struct npu_bo bo;
	int fd;

	ASSERT_EQ(0, npu_bo_create(&bo, self->fd, 8192, NPU_DATA));
	EXPECT_EQ(0, npu_good_job(self->fd, RKNPU_CORE0_MASK));
	ASSERT_EQ(0, unbind(&self->binding));
	EXPECT_EQ(-ENODEV, npu_open());
	expect_gone(_metadata, self->fd, &bo);
	touch(bo.map);

	ASSERT_EQ(0, bind_again(&self->binding));
	fd = npu_open();
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, npu_good_job(fd, RKNPU_CORE0_MASK));
	expect_gone(_metadata, self->fd, &bo);
	munmap(bo.map, bo.map_size);
	close(fd);
}

TEST_F(unplug, exported_buffer)
{
	struct npu_bo bo, import;
	int dmabuf, fd;
	char *map;

	ASSERT_EQ(0, npu_bo_create(&bo, self->fd, 8192, NPU_DATA));
	memset(bo.map, 9, 8192);
	dmabuf = npu_export(self->fd, bo.handle);
	ASSERT_LE(0, dmabuf);
	ASSERT_EQ(0, unbind(&self->binding));
	ASSERT_EQ(0, bind_again(&self->binding));
	fd = npu_open();
	ASSERT_LE(0, fd);
	/* The old device's buffer may be refused by the new one; it may not break it. */
	if (!npu_bo_import(&import, fd, dmabuf))
		npu_bo_destroy(&import);
	map = mmap(NULL, 8192, PROT_READ, MAP_SHARED, dmabuf, 0);
	if (map != MAP_FAILED)
		munmap(map, 8192);
	close(dmabuf);
	EXPECT_EQ(0, npu_good_job(fd, RKNPU_CORE0_MASK));
	close(fd);
}

struct runner {
	struct npu_matmul mm;
	__u32 core_mask;
	int ret;
};

static void *run_in_thread(void *arg)
{
	struct runner *r = arg;
	struct rknpu_submit job;

	npu_matmul_job(&r->mm, &job, r->core_mask, 0, r->mm.m);
	job.timeout = 60000;
	r->ret = npu_submit(r->mm.tasks.fd, &job);
	return NULL;
}

static void unbind_under_jobs(struct __test_metadata *_metadata, FIXTURE_DATA(unplug) * self)
{
	struct runner runners[NPU_MAX_CORES + 1];
	pthread_t threads[NPU_MAX_CORES + 1];
	unsigned int i;
	long before;

	/* One job for each core, and one that queues. */
	for (i = 0; i <= npu_cores(); i++) {
		ASSERT_EQ(0, npu_matmul_create(&runners[i].mm, self->fd, 200, 64, 32, i));
		runners[i].core_mask = 1U << i % npu_cores();
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, run_in_thread, &runners[i]));
	}
	for (i = 0; i < npu_cores(); i++) {
		while (!npu_ctl_core(i, VNPU_CTL_STARTS))
			npu_sleep_ms(1);
	}
	before = npu_now_ms();
	EXPECT_EQ(0, unbind(&self->binding));
	for (i = 0; i <= npu_cores(); i++) {
		ASSERT_EQ(0, pthread_join(threads[i], NULL));
		EXPECT_EQ(-ENODEV, runners[i].ret) {
			TH_LOG("job %u", i);
		}
	}
	EXPECT_GT(5000, npu_now_ms() - before);
	npu_fault_none();
	EXPECT_EQ(0, bind_again(&self->binding));
}

TEST_F(unplug, running_jobs)
{
	unsigned int core;

	for (core = 0; core < npu_cores(); core++)
		npu_slow(core, 100 * MS);
	unbind_under_jobs(_metadata, self);
}

TEST_F(unplug, hanging_jobs)
{
	unsigned int core;

	for (core = 0; core < npu_cores(); core++)
		npu_fault(core, VNPU_FAULT_HANG, 0);
	unbind_under_jobs(_metadata, self);
}

/* A core that can't be reset is out of service until the device is bound anew; the others go on. */
#define WAITS 400

/*
 * Submits without end jobs that wait for many fences, none of which will ever signal. They are on a
 * buffer, as that takes the least time to find them: most of it goes into their callbacks.
 */
struct submitter {
	int fd, ret;
	struct npu_async job;
};

static void *submit_waiting(void *arg)
{
	struct submitter *s = arg;

	do {
		s->ret = npu_async_submit(s->fd, &s->job);
	} while (!s->ret);
	return NULL;
}

TEST_F_TIMEOUT(unplug, waiting_jobs, 120)
{
	const int rounds = npu_kernel_is_slow() ? 8 : 20;
	int timelines[WAITS], fence, dmabuf, last, round;
	struct submitter s;
	struct npu_matmul mm;
	pthread_t thread;
	__u32 out, i;

	for (round = 0; round < rounds; round++) {
		s.fd = npu_open();
		ASSERT_LE(0, s.fd);
		ASSERT_EQ(0, npu_matmul_create(&mm, s.fd, 2, 64, 32, 1));
		npu_matmul_poison(&mm);
		dmabuf = npu_export(s.fd, mm.a.handle);
		ASSERT_LE(0, dmabuf);
		for (i = 0; i < WAITS; i++) {
			/* Fences of one timeline would replace each other. */
			int own = npu_sw_open();

			fence = npu_sw_fence(own, 1);
			ASSERT_EQ(0, npu_dmabuf_import_fence(dmabuf, fence, true));
			close(fence);
			timelines[i] = own;
		}
		out = npu_syncobj(s.fd, false);
		npu_async_init(&s.job, &mm, 1, 0, 2);
		npu_async_buffer(&s.job, mm.a.handle, RKNPU_BUFFER_READ);
		npu_async_signal(&s.job, out, 0);
		ASSERT_EQ(0, pthread_create(&thread, NULL, submit_waiting, &s));
		npu_sleep_ms(5);
		last = npu_syncobj_export(s.fd, out);
		ASSERT_EQ(0, unbind(&self->binding));
		pthread_join(thread, NULL);
		EXPECT_EQ(-ENODEV, s.ret);
		/* All their fences have told. */
		if (last >= 0) {
			EXPECT_EQ(-ENODEV, npu_fence_status(last, NULL));
			close(last);
		}
		EXPECT_EQ(0, npu_matmul_touched(&mm, 0, 2));
		npu_matmul_destroy(&mm);
		close(dmabuf);
		close(s.fd);
		for (i = 0; i < WAITS; i++)
			close(timelines[i]);
		ASSERT_EQ(0, bind_again(&self->binding));
	}
}

TEST_F_TIMEOUT(unplug, dead_resets, 60)
{
	struct npu_matmul mm;
	__u64 usable = npu_all_cores();
	unsigned int core, other;
	int fd;

	ASSERT_EQ(0, npu_matmul_create(&mm, self->fd, 2, 64, 32, 1));
	for (core = 0; core < npu_cores(); core++) {
		EXPECT_EQ(usable, npu_usable_cores(self->fd));
		npu_fault(core, VNPU_FAULT_HANG | VNPU_FAULT_DEAD_RESET, 0);
		EXPECT_EQ(-ETIMEDOUT, npu_matmul_run(&mm, 1U << core, 200));
		usable &= ~(1U << core);
		EXPECT_EQ(usable, npu_usable_cores(self->fd));
		for (other = 0; other < npu_cores(); other++) {
			EXPECT_EQ(other > core ? 0 : -ENODEV,
				  npu_matmul_run(&mm, 1U << other, 1000)) {
				TH_LOG("core %u after core %u", other, core);
			}
		}
		EXPECT_EQ(usable ? 0 : -ENODEV, npu_matmul_run(&mm, RKNPU_CORE_AUTO_MASK, 1000));
	}
	npu_matmul_destroy(&mm);
	npu_fault_none();
	ASSERT_EQ(0, unbind(&self->binding));
	ASSERT_EQ(0, bind_again(&self->binding));
	fd = npu_open();
	ASSERT_LE(0, fd);
	EXPECT_EQ(npu_all_cores(), npu_usable_cores(fd));
	for (core = 0; core < npu_cores(); core++)
		EXPECT_EQ(0, npu_good_job(fd, 1U << core));
	close(fd);
}

/* Opens as soon as there is something to open, and uses it. */
static int opens_in_a_loop(void *arg)
{
	unsigned int *opened = arg;
	int fd, ret;

	for (;;) {
		fd = npu_open();
		if (fd < 0)
			continue;
		ret = npu_good_job(fd, RKNPU_CORE_AUTO_MASK);
		close(fd);
		/* It works, or it is gone again; nothing in between. */
		if (ret && ret != -ENODEV)
			return -ret;
		if (!ret)
			__atomic_fetch_add(opened, 1, __ATOMIC_RELAXED);
	}
}

/* A node that can be opened is ready, also for the first to come. */
TEST_F_TIMEOUT(unplug, opened_at_once, 120)
{
	unsigned int *opened = mmap(NULL, sizeof(*opened), PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0), i, before;
	long end;
	pid_t pid;

	ASSERT_NE(MAP_FAILED, opened);
	close(self->fd);
	pid = npu_spawn(opens_in_a_loop, opened);
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, unbind(&self->binding));
		before = __atomic_load_n(opened, __ATOMIC_RELAXED);
		ASSERT_EQ(0, bind_again(&self->binding));
		end = npu_now_ms() + 5000;
		while (__atomic_load_n(opened, __ATOMIC_RELAXED) == before && npu_now_ms() < end)
			npu_sleep_ms(1);
		EXPECT_LT(before, *opened);
	}
	EXPECT_EQ(0, kill(pid, SIGKILL));
	EXPECT_EQ(NPU_SIGNALLED(SIGKILL), npu_join(pid, 2000));
	munmap(opened, sizeof(*opened));
	self->fd = npu_open();
}

TEST_F_TIMEOUT(unplug, many_times, 120)
{
	long before = 0;
	unsigned int i;

	close(self->fd);
	for (i = 0; i < 20; i++) {
		struct npu_bo bo;
		int fd = npu_open();

		ASSERT_LE(0, fd);
		ASSERT_EQ(0, npu_bo_create(&bo, fd, 1024 * 1024, NPU_DATA));
		EXPECT_EQ(0, npu_good_job(fd, i % 4 ? npu_core(i % 4 - 1) : 0));
		/* With the file open, and with it closed. */
		if (i % 2)
			npu_bo_destroy(&bo);
		ASSERT_EQ(0, unbind(&self->binding));
		if (i % 2 == 0)
			munmap(bo.map, bo.map_size);
		close(fd);
		ASSERT_EQ(0, bind_again(&self->binding));
		if (i == 4)
			before = npu_used_memory();
	}
	/*
	 * What remembers where memory came from keeps some 200 KiB for each of the fifteen rounds.
	 * But it has kmemleak, and the ordinary kernel the close bound.
	 */
	EXPECT_GT(before + (npu_kernel_is_slow() ? 15 * 400 : 2048), npu_used_memory());
	self->fd = npu_open();
}

TEST_HARNESS_MAIN
