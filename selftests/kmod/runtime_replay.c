// SPDX-License-Identifier: GPL-2.0-only
/*
 * The calls of the vendor's closed runtimes in their recorded order, with every argument and with
 * the answers that they rely on: version 2.3.0, and version 1.5.2, which is a 32-bit program. The
 * job in the middle is a matmul whose result is checked.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_matmul.h"

#define NOBODY 65534

/* Request numbers as recorded, whatever today's headers say. */
#define REQ_VERSION64 0xc0406400
#define REQ_VERSION32 0xc0246400
#define REQ_UNIQUE64 0xc0106401
#define REQ_UNIQUE32 0xc0086401
#define REQ_FLINK 0xc008640a
#define REQ_PRIME 0xc00c642d
#define REQ_ACTION 0xc0086440
#define REQ_SUBMIT 0xc0686441
#define REQ_CREATE_48 0xc0306442
#define REQ_CREATE_40 0xc0286442
#define REQ_MAP 0xc0106443
#define REQ_DESTROY 0xc0106444
#define REQ_SYNC 0xc0206445

#define REQ_VERSION (sizeof(void *) == 8 ? REQ_VERSION64 : REQ_VERSION32)
#define REQ_UNIQUE (sizeof(void *) == 8 ? REQ_UNIQUE64 : REQ_UNIQUE32)

/* Shape of the job; the tail of the list of a row begins where its body ends. */
#define M 11
#define K 64
#define N 64

struct buffer {
	__u32 handle;
	__u32 name;
	int dmabuf;
	__u64 size;	/* unrounded */
	__u64 token;
	__u64 dma;
	void *map;
};

FIXTURE(replay)
{
	int fd;
};

FIXTURE_VARIANT(replay)
{
	uid_t user;
};

FIXTURE_VARIANT_ADD(replay, root)
{
	.user = 0,
};

/* Whoever opens the primary node first is its master and may name buffers. */
FIXTURE_VARIANT_ADD(replay, nobody)
{
	.user = NOBODY,
};

/* The name of a node's driver: lengths are asked first, then the strings. */
static int ask_name(int fd, char *name, size_t size)
{
	char date[64] = "", desc[64] = "";
	struct drm_version version = {};

	if (ioctl(fd, REQ_VERSION, &version))
		return -errno;
	if (version.name_len >= size || version.date_len >= sizeof(date) ||
	    version.desc_len >= sizeof(desc))
		return -EMSGSIZE;
	version.name = name;
	version.date = date;
	version.desc = desc;
	name[version.name_len] = '\0';
	return ioctl(fd, REQ_VERSION, &version) ? -errno : 0;
}

/* The runtime takes a node only if this is 0. */
static int ask_unique_len(int fd)
{
	struct drm_unique unique = {};
	char text[64];

	if (ioctl(fd, REQ_UNIQUE, &unique))
		return -errno;
	if (unique.unique_len)
		return unique.unique_len;
	unique.unique = text;
	return ioctl(fd, REQ_UNIQUE, &unique) ? -errno : (int)unique.unique_len;
}

static int find_node(void)
{
	char path[32], name[64];
	int n, fd;

	if (!access("/dev/rknpu", F_OK))
		return -EEXIST;
	for (n = 0; n < 16; n++) {
		snprintf(path, sizeof(path), "/dev/dri/card%d", n);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (!ask_name(fd, name, sizeof(name)) && !strcmp(name, "rknpu") &&
		    !ask_unique_len(fd))
			return fd;
		close(fd);
	}
	return -ENODEV;
}

FIXTURE_SETUP(replay)
{
	char path[64];
	int fd;

	/* As on boards, where a group may use the nodes. */
	fd = npu_open_node(NPU_PRIMARY);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, npu_node_path(fd, path, sizeof(path)));
	ASSERT_EQ(0, chmod(path, 0666));
	close(fd);
	ASSERT_EQ(0, setresgid(variant->user, variant->user, variant->user));
	ASSERT_EQ(0, setresuid(variant->user, variant->user, variant->user));
	self->fd = find_node();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(replay)
{
	close(self->fd);
}

static int action(int fd, __u32 id, __u32 in, __u32 *out)
{
	struct rknpu_action arg = { .flags = id, .value = in };
	int ret = npu_ioctl(fd, REQ_ACTION, &arg);

	*out = arg.value;
	return ret;
}

static void start(struct __test_metadata *_metadata, int fd)
{
	__u32 value;

	ASSERT_EQ(0, action(fd, 0, -1, &value));
	EXPECT_EQ(0x46495245, value);
	ASSERT_EQ(0, action(fd, 1, 0, &value));
	EXPECT_EQ(908, value);
	/* Tolerated. */
	EXPECT_EQ(-EINVAL, action(fd, 20, 0, &value));
	EXPECT_EQ(0, action(fd, 19, -19, &value));
	ASSERT_EQ(0, action(fd, 1, 0, &value));
	EXPECT_EQ(908, value);
}

static void sync_range(struct __test_metadata *_metadata, int fd, const struct buffer *buf,
		       __u32 flags, __u64 offset, __u64 size)
{
	struct rknpu_mem_sync arg = {
		.flags = flags, .obj_addr = buf->token, .offset = offset, .size = size,
	};

	EXPECT_EQ(0, npu_ioctl(fd, REQ_SYNC, &arg));
}

static void create(struct __test_metadata *_metadata, int fd, struct buffer *buf, __u64 size,
		   __u32 flags, unsigned long request)
{
	struct rknpu_mem_create arg = { .size = size, .flags = flags };
	__u32 iommu;

	ASSERT_EQ(0, action(fd, 18, 0, &iommu));
	ASSERT_EQ(0, npu_ioctl(fd, request, &arg));
	EXPECT_NE(0, arg.handle);
	EXPECT_EQ((size + 4095) / 4096 * 4096, arg.size);
	EXPECT_EQ(0, arg.sram_size);
	/* A token that loses its upper half on the way through a program must not pass. */
	EXPECT_NE(0, arg.obj_addr >> 32);
	EXPECT_NE(0, arg.dma_addr);
	EXPECT_GE(1ULL << 32, arg.dma_addr + arg.size);
	*buf = (struct buffer) {
		.handle = arg.handle, .size = size, .token = arg.obj_addr, .dma = arg.dma_addr,
	};
}

static void map(struct __test_metadata *_metadata, int fd, struct buffer *buf)
{
	struct rknpu_mem_map arg = { .handle = buf->handle };

	ASSERT_EQ(0, npu_ioctl(fd, REQ_MAP, &arg));
	EXPECT_LE(1ULL << 32, arg.offset);
	EXPECT_EQ(0, arg.offset % 4096);
	buf->map = mmap(NULL, buf->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, arg.offset);
	ASSERT_NE(MAP_FAILED, buf->map);
}

static void share(struct __test_metadata *_metadata, int fd, struct buffer *buf)
{
	struct drm_gem_flink flink = { .handle = buf->handle };
	struct drm_prime_handle prime = { .handle = buf->handle, .flags = 0x80002, .fd = -1 };

	ASSERT_EQ(0, npu_ioctl(fd, REQ_FLINK, &flink));
	EXPECT_NE(0, flink.name);
	buf->name = flink.name;
	ASSERT_EQ(0, npu_ioctl(fd, REQ_PRIME, &prime));
	EXPECT_LE(0, prime.fd);
	buf->dmabuf = prime.fd;
}

static void expect_zeros(struct __test_metadata *_metadata, const struct buffer *buf)
{
	const unsigned char *bytes = buf->map;
	unsigned int dirty = 0;
	__u64 i;

	for (i = 0; i < buf->size; i++)
		dirty += bytes[i] != 0;
	EXPECT_EQ(0, dirty);
}

/* A buffer as version 2.3.0 makes it. */
static void buffer_2_3(struct __test_metadata *_metadata, int fd, struct buffer *buf, __u64 size,
		       __u32 flags)
{
	create(_metadata, fd, buf, size, flags, REQ_CREATE_48);
	map(_metadata, fd, buf);
	share(_metadata, fd, buf);
	sync_range(_metadata, fd, buf, 3, 0, size);
	expect_zeros(_metadata, buf);
}

/* A buffer as version 1.5.2 makes it. */
static void buffer_1_5(struct __test_metadata *_metadata, int fd, struct buffer *buf, __u64 size,
		       __u32 flags)
{
	create(_metadata, fd, buf, size, flags, REQ_CREATE_40);
	share(_metadata, fd, buf);
	map(_metadata, fd, buf);
	sync_range(_metadata, fd, buf, 3, 0, size);
	expect_zeros(_metadata, buf);
}

static void destroy(struct __test_metadata *_metadata, int fd, struct buffer *buf)
{
	struct rknpu_mem_destroy arg = { .handle = buf->handle };

	EXPECT_EQ(0, munmap(buf->map, buf->size));
	EXPECT_EQ(0, close(buf->dmabuf));
	EXPECT_EQ(0, npu_ioctl(fd, REQ_DESTROY, &arg));
}

/* Small numbers that depend on the place. */
static int operand(unsigned int i)
{
	return (int)(i * 2654435761U >> 20) % 15 - 7;
}

static void fill_a(signed char *a)
{
	unsigned int i;

	for (i = 0; i < M * K; i++)
		a[i] = operand(i);
}

static void fill_b(signed char *b)
{
	unsigned int k, n;

	for (k = 0; k < K; k++)
		for (n = 0; n < N; n++)
			b[npu_weight_index(k, n, K)] = operand(~(k * N + n));
}

static unsigned int wrong_in(const __s32 *c)
{
	unsigned int m, n, k, wrong = 0;

	for (m = 0; m < M; m++) {
		for (n = 0; n < N; n++) {
			__s32 sum = 0;

			for (k = 0; k < K; k++)
				sum += operand(m * K + k) * operand(~(k * N + n));
			wrong += c[m * N + n] != sum;
		}
	}
	return wrong;
}

/* One chain of M lists and its tasks. */
static void fill_chain(void *lists, struct rknpu_task *tasks, const struct npu_matmul_addr *at)
{
	unsigned int row;

	for (row = 0; row < M; row++) {
		npu_matmul_list(lists + row * NPU_LIST_BYTES, row, M, K, N, at);
		tasks[row] = (struct rknpu_task) {
			.enable_mask = 0xd,
			.int_mask = NPU_INT_DPU,
			.int_clear = 0x1ffff,
			.regcfg_amount = NPU_BODY_CMDS,
			.regcmd_addr = at->regcmd + row * NPU_LIST_BYTES,
		};
	}
}

/* Every core has a range: the same one (stride 0), or one of its own. */
static void submit(struct __test_metadata *_metadata, int fd, const struct buffer *tasks,
		   unsigned int stride)
{
	struct rknpu_submit job = {
		.flags = 5,
		.timeout = 6000,
		.task_number = 3 * M,
		.task_obj_addr = tasks->token,
		.fence_fd = -1,
		.subcore_task = { { 0, M }, { stride, M }, { 2 * stride, M } },
	};

	ASSERT_EQ(0, npu_ioctl(fd, REQ_SUBMIT, &job));
	EXPECT_EQ(3 * M, job.task_counter);
	EXPECT_LT(0, job.hw_elapse_time);
	EXPECT_TRUE(job.core_mask == 1 || job.core_mask == 2 || job.core_mask == 4);
	EXPECT_EQ(-1, job.fence_fd);
}

/* Weights and lists share a buffer, the lists at its end; all cores run the same range. */
TEST_F(replay, runtime_2_3)
{
	const __u64 lists_at = 936384, lists_size = M * NPU_LIST_BYTES;
	struct buffer tasks, weight, internal, input, output;
	struct npu_matmul_addr at;
	unsigned int run, i;
	__u32 value;

	start(_metadata, self->fd);
	buffer_2_3(_metadata, self->fd, &tasks, 440, 0x40b);
	buffer_2_3(_metadata, self->fd, &weight, lists_at + lists_size, 0x403);
	buffer_2_3(_metadata, self->fd, &internal, 1436160, 0x403);
	buffer_2_3(_metadata, self->fd, &input, M * K, 0x403);
	buffer_2_3(_metadata, self->fd, &output, M * N * 4, 0x403);

	at = (struct npu_matmul_addr) { weight.dma + lists_at, input.dma, weight.dma, output.dma };
	fill_b(weight.map);
	fill_chain(weight.map + lists_at, tasks.map, &at);
	sync_range(_metadata, self->fd, &weight, 1, 0, weight.size);
	sync_range(_metadata, self->fd, &tasks, 1, 0, tasks.size);

	for (run = 0; run < 3; run++) {
		fill_a(input.map);
		memset(output.map, 0x5a, output.size);
		sync_range(_metadata, self->fd, &output, 1, 0, output.size);
		sync_range(_metadata, self->fd, &weight, 1, lists_at, lists_size);
		sync_range(_metadata, self->fd, &weight, 1, lists_at, lists_size);
		sync_range(_metadata, self->fd, &input, 1, 0, input.size);
		submit(_metadata, self->fd, &tasks, 0);
		for (i = 0; i < 3; i++)
			sync_range(_metadata, self->fd, &output, 2, 0, output.size);
		EXPECT_EQ(0, wrong_in(output.map));
	}

	EXPECT_EQ(-EINVAL, action(self->fd, 21, 0, &value));
	destroy(_metadata, self->fd, &tasks);
	destroy(_metadata, self->fd, &weight);
	destroy(_metadata, self->fd, &internal);
	destroy(_metadata, self->fd, &input);
	destroy(_metadata, self->fd, &output);
}

/* Every core has a chain of its own; B is copied into a buffer in the NPU's layout. */
TEST_F(replay, runtime_1_5)
{
	const unsigned int chain = M * NPU_LIST_BYTES;
	struct buffer lists, tasks, a, b, c, native, internal;
	struct npu_matmul_addr at;
	unsigned int core, run;
	__u32 value;

	start(_metadata, self->fd);
	buffer_1_5(_metadata, self->fd, &lists, 3 * chain, 0x2);
	buffer_1_5(_metadata, self->fd, &tasks, 3 * M * sizeof(struct rknpu_task), 0xa);
	buffer_1_5(_metadata, self->fd, &a, M * K, 0x2);
	buffer_1_5(_metadata, self->fd, &b, K * N, 0x2);
	buffer_1_5(_metadata, self->fd, &c, M * N * 4, 0x2);
	buffer_1_5(_metadata, self->fd, &native, K * N, 0x2);
	buffer_1_5(_metadata, self->fd, &internal, 5000, 0x2);

	fill_b(native.map);
	sync_range(_metadata, self->fd, &native, 1, 0, native.size);
	at = (struct npu_matmul_addr) { lists.dma, a.dma, native.dma, c.dma };
	for (core = 0; core < 3; core++, at.regcmd += chain)
		fill_chain(lists.map + core * chain, (struct rknpu_task *)tasks.map + core * M,
			   &at);
	ASSERT_EQ(0, action(self->fd, 1, 0, &value));

	for (run = 0; run < 3; run++) {
		fill_a(a.map);
		memset(c.map, 0x5a, c.size);
		sync_range(_metadata, self->fd, &c, 1, 0, c.size);
		sync_range(_metadata, self->fd, &a, 1, 0, a.size);
		sync_range(_metadata, self->fd, &b, 1, 0, b.size);
		sync_range(_metadata, self->fd, &lists, 1, 0, lists.size);
		sync_range(_metadata, self->fd, &lists, 1, 0, lists.size);
		submit(_metadata, self->fd, &tasks, M);
		sync_range(_metadata, self->fd, &c, 2, 0, c.size);
		sync_range(_metadata, self->fd, &c, 2, 0, c.size);
		/* Of the internal buffer of a model the runtime wants a single byte. */
		sync_range(_metadata, self->fd, &internal, 2, 0, 1);
		EXPECT_EQ(0, wrong_in(c.map));
	}

	EXPECT_EQ(-EINVAL, action(self->fd, 21, 0, &value));
	destroy(_metadata, self->fd, &internal);
	destroy(_metadata, self->fd, &native);
	destroy(_metadata, self->fd, &c);
	destroy(_metadata, self->fd, &b);
	destroy(_metadata, self->fd, &a);
	destroy(_metadata, self->fd, &tasks);
	destroy(_metadata, self->fd, &lists);
}

TEST_HARNESS_MAIN
