// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files of the driver across fork() and exec(). A file is what its opener made of it, whoever uses
 * it: buffers, tokens and NPU addresses are those of the process that opened it. Mappings are not
 * inherited; a child makes its own. A program that opens the device after exec() shares nothing
 * with what the process was before.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_matmul.h"
#include "npu_proc.h"

#define MIB (1024 * 1024ULL)
#define VICTIM "NPU_TEST_VICTIM"
#define HEIR "NPU_TEST_HEIR"

FIXTURE(family)
{
	int fd;
	struct npu_matmul mm;
};

FIXTURE_SETUP(family)
{
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, npu_matmul_create(&self->mm, self->fd, 4, 64, 32, 1));
}

FIXTURE_TEARDOWN(family)
{
	EXPECT_EQ(0, npu_matmul_run(&self->mm, RKNPU_CORE0_MASK, 6000));
	npu_matmul_destroy(&self->mm);
	close(self->fd);
}

/* The parent's buffers, used by the child through the file of both. */
static int runs_parents_job(void *arg)
{
	struct npu_matmul *mm = arg;
	struct rknpu_submit job;
	int fd = mm->tasks.fd;

	if (npu_sync(fd, mm->c.token, RKNPU_MEM_SYNC_MASK, 0, mm->c.size))
		return 1;
	npu_matmul_job(mm, &job, npu_core(1), 0, mm->m);
	return npu_submit(fd, &job) ? 2 : 0;
}

TEST_F(family, child_runs_a_job_of_its_parent)
{
	npu_matmul_poison(&self->mm);
	EXPECT_EQ(0, npu_join(npu_spawn(runs_parents_job, &self->mm), 10000));
	EXPECT_EQ(0, npu_matmul_wrong(&self->mm, 0, self->mm.m));
}

static int maps_parents_buffer(void *arg)
{
	struct npu_matmul *mm = arg;
	__u32 *map;
	__u64 offset;

	if (npu_map_offset(mm->c.fd, mm->c.handle, &offset))
		return 1;
	map = mmap(NULL, mm->c.size, PROT_READ | PROT_WRITE, MAP_SHARED, mm->c.fd, offset);
	if (map == MAP_FAILED)
		return 2;
	if (map[5] != 0x12345678)
		return 3;
	map[6] = 0x87654321;
	return 0;
}

TEST_F(family, child_maps_for_itself)
{
	__u32 *c = self->mm.c.map;

	c[5] = 0x12345678;
	EXPECT_EQ(0, npu_join(npu_spawn(maps_parents_buffer, &self->mm), 5000));
	EXPECT_EQ(0x87654321, c[6]);
}

static int is_unmapped(void *arg)
{
	unsigned char present;

	return mincore(arg, 4096, &present) == 0;
}

/* Nor does it help to ask for inheritance. */
TEST_F(family, mapping_is_never_inherited)
{
	EXPECT_EQ(-1, madvise(self->mm.c.map, 4096, MADV_DOFORK));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(0, npu_join(npu_spawn(is_unmapped, self->mm.c.map), 5000));
}

/* One list of NPU addresses: a buffer of the child doesn't cover one of the parent. */
static int makes_a_buffer_apart(void *arg)
{
	struct npu_matmul *mm = arg;
	const struct npu_bo *parents[] = { &mm->regcmd, &mm->tasks, &mm->a, &mm->b, &mm->c };
	struct npu_bo bo;
	unsigned int i;

	if (npu_bo_create(&bo, mm->c.fd, MIB, NPU_DATA))
		return 1;
	for (i = 0; i < ARRAY_SIZE(parents); i++) {
		if (bo.dma < parents[i]->dma + parents[i]->size &&
		    parents[i]->dma < bo.dma + bo.size)
			return 2;
	}
	npu_bo_destroy(&bo);
	return 0;
}

TEST_F(family, child_allocates_beside_its_parent)
{
	EXPECT_EQ(0, npu_join(npu_spawn(makes_a_buffer_apart, &self->mm), 5000));
}

/* A file that the child opens is the child's alone: tokens and addresses of the parent fail. */
struct stranger {
	__u64 token;
	__u32 addr;
};

static int is_a_stranger(void *arg)
{
	struct stranger *theirs = arg;
	struct rknpu_submit job;
	struct npu_matmul mm;
	int fd = npu_open();

	if (fd < 0 || npu_sync(fd, theirs->token, RKNPU_MEM_SYNC_MASK, 0, 1) != -EINVAL)
		return 1;
	if (!(npu_param(fd, RKNPU_PARAM_FEATURES) & RKNPU_FEATURE_ISOLATION))
		return 0;
	if (npu_matmul_create(&mm, fd, 1, 64, 32, 2))
		return 2;
	npu_matmul_set(&mm, 0, NPU_REG_DST_ADDR, theirs->addr);
	npu_matmul_job(&mm, &job, RKNPU_CORE0_MASK, 0, 1);
	return npu_submit(fd, &job) == -EFAULT ? 0 : 3;
}

TEST_F(family, child_that_opens_is_a_stranger)
{
	struct stranger ours;
	struct npu_bo pad, bo;

	/* The child's own buffers lie where the pad is. */
	ASSERT_EQ(0, npu_bo_create(&pad, self->fd, 16 * MIB, NPU_DATA));
	ASSERT_EQ(0, npu_bo_create(&bo, self->fd, 4096, NPU_DATA));
	ours = (struct stranger) { bo.token, bo.dma };
	EXPECT_EQ(0, npu_join(npu_spawn(is_a_stranger, &ours), 10000));
	npu_bo_from_device(&bo);
	EXPECT_EQ(0, *(__u32 *)bo.map);
	npu_bo_destroy(&bo);
	npu_bo_destroy(&pad);
}

/* Sends its answer when the process that opened the file is gone. */
static int orphan(void *arg)
{
	int *fds = arg, answer;
	char byte;

	/* The end of the opener closes the other side. */
	if (read(fds[2], &byte, 1) != 0)
		return 1;
	answer = npu_good_job(fds[0], npu_core(2));
	return write(fds[1], &answer, sizeof(answer)) != sizeof(answer);
}

static int opens_and_leaves(void *arg)
{
	int *answer = arg, alive[2], fds[3];
	pid_t pid;

	fds[0] = npu_open();
	if (fds[0] < 0 || pipe(alive))
		return 1;
	fds[1] = answer[1];
	fds[2] = alive[0];
	/* Not npu_spawn(), whose children die with their parent. */
	pid = fork();
	if (!pid) {
		close(alive[1]);
		_exit(orphan(fds));
	}
	return pid < 0;
}

TEST(file_outlives_its_opener)
{
	int answer[2], ret = -1;

	ASSERT_EQ(0, pipe(answer));
	EXPECT_EQ(0, npu_join(npu_spawn(opens_and_leaves, answer), 5000));
	close(answer[1]);
	EXPECT_EQ(sizeof(ret), read(answer[0], &ret, sizeof(ret)));
	EXPECT_EQ(0, ret);
	close(answer[0]);
}

/* What goes over exec() with a file: numbers in the environment. */
struct estate {
	int fd;
	__u32 handle;
	__u64 token;
};

static int exec_with(const char *role, const char *value)
{
	char *const argv[] = { "/proc/self/exe", NULL };

	setenv(role, value, 1);
	return execv(argv[0], argv);
}

static int bequeaths(void *arg)
{
	struct npu_matmul *mm = arg;
	struct estate estate;
	char text[64];

	estate = (struct estate) { dup(mm->c.fd), mm->c.handle, mm->c.token };
	((__u32 *)mm->c.map)[0] = 4711;
	snprintf(text, sizeof(text), "%d %u %llu", estate.fd, estate.handle,
		 (unsigned long long)estate.token);
	return exec_with(HEIR, text);
}

static int makes_buffers_and_leaves_them(void *arg)
{
	struct npu_matmul mm;
	int fd = npu_open();

	(void)arg;
	if (fd < 0 || npu_matmul_create(&mm, fd, 1, 64, 32, 1))
		return 1;
	return bequeaths(&mm);
}

/* The program after exec(): the file and its buffers are there, mappings aren't. */
static int inherit(const char *text)
{
	unsigned long long token;
	struct estate estate;
	__u64 offset;
	__u32 *map;

	if (sscanf(text, "%d %u %llu", &estate.fd, &estate.handle, &token) != 3)
		return 10;
	if (npu_sync(estate.fd, token, RKNPU_MEM_SYNC_MASK, 0, 4096))
		return 11;
	if (npu_map_offset(estate.fd, estate.handle, &offset))
		return 12;
	map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, estate.fd, offset);
	if (map == MAP_FAILED || *map != 4711)
		return 13;
	return npu_good_job(estate.fd, RKNPU_CORE0_MASK) ? 14 : 0;
}

TEST(file_survives_exec)
{
	EXPECT_EQ(0, npu_join(npu_spawn(makes_buffers_and_leaves_them, NULL), 10000));
}

/*
 * A process with a child executes another program, which may have more rights than it had. The
 * child has a file that was opened before, and must not reach the buffers of that program.
 */
struct ambush {
	int fd;
	int socket;
};

static int lies_in_ambush(void *arg)
{
	struct ambush *a = arg;
	struct rknpu_submit job;
	struct npu_matmul mm;
	__u32 addr;
	int ret;

	if (recv(a->socket, &addr, sizeof(addr), MSG_WAITALL) != sizeof(addr) ||
	    npu_matmul_create(&mm, a->fd, 1, 64, 32, 1))
		return 1;
	npu_matmul_set(&mm, 0, NPU_REG_DST_ADDR, addr);
	npu_matmul_job(&mm, &job, RKNPU_CORE0_MASK, 0, 1);
	ret = npu_submit(a->fd, &job);
	send(a->socket, &ret, sizeof(ret), 0);
	return 0;
}

static int becomes_a_victim(void *arg)
{
	int *sockets = arg;
	struct ambush a = { npu_open(), sockets[0] };
	char text[16];

	if (a.fd < 0 || npu_spawn(lies_in_ambush, &a) < 0)
		return 1;
	snprintf(text, sizeof(text), "%d", sockets[1]);
	return exec_with(VICTIM, text);
}

static int be_a_victim(const char *text)
{
	int socket = atoi(text), fd = npu_open(), ret = 0;
	struct npu_bo pad, bo;
	unsigned int i, moved = 0;
	__u32 addr;

	/* The attacker's own buffers lie where the pad is. */
	if (fd < 0 || npu_bo_create(&pad, fd, 16 * MIB, NPU_DATA) ||
	    npu_bo_create(&bo, fd, 4096, NPU_DATA))
		return 20;
	addr = bo.dma;
	if (send(socket, &addr, sizeof(addr), 0) != sizeof(addr) ||
	    recv(socket, &ret, sizeof(ret), MSG_WAITALL) != sizeof(ret))
		return 21;
	npu_bo_from_device(&bo);
	for (i = 0; i < 4096; i++)
		moved += ((char *)bo.map)[i] != 0;
	if (moved)
		return 22;
	return ret == -EFAULT ? 0 : 23;
}

TEST(exec_starts_afresh)
{
	int sockets[2], fd = npu_open();
	bool isolates;

	ASSERT_LE(0, fd);
	isolates = npu_param(fd, RKNPU_PARAM_FEATURES) & RKNPU_FEATURE_ISOLATION;
	close(fd);
	if (!isolates)
		return;
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	EXPECT_EQ(0, npu_join(npu_spawn(becomes_a_victim, sockets), 10000));
	close(sockets[0]);
	close(sockets[1]);
}

/* The other lives of this program. */
static void __attribute__((constructor)) after_exec(void)
{
	const char *heir = getenv(HEIR), *victim = getenv(VICTIM);

	if (heir)
		_exit(inherit(heir));
	if (victim)
		_exit(be_a_victim(victim));
}

TEST_HARNESS_MAIN
