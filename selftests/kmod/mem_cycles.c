// SPDX-License-Identifier: GPL-2.0-only
/*
 * Large numbers: buffers made and given up again and again, many alive at once, many given up while
 * a job runs. All that is counted is the same afterwards.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_control.h"
#include "npu_matmul.h"
#include "npu_proc.h"
#include "npu_usage.h"

#define KIB 1024
#define PAGE (4 * KIB)

/*
 * What the debug kernel does per call makes it some thirty times slower. Without an IOMMU buffers
 * come from CMA, which moves pages about for each of them.
 */
static unsigned int scaled(int fd, unsigned int count)
{
	return count / (npu_kernel_is_slow() ? 50 : 1) / (npu_has_iommu(fd) ? 1 : 20);
}

/*
 * No more than ten bytes a cycle: the smallest thing that could be lost is larger. The debug kernel
 * keeps freed memory and the history of all memory, but it finds what is lost by itself (kmemleak).
 */
static bool memory_is_flat(long before, long count)
{
	return npu_kernel_is_slow() || npu_used_memory() < before + count * 10 / KIB + 512;
}

/* Without an IOMMU there is but one domain. */
static __s32 usable_domain(int fd, unsigned int domain)
{
	return npu_has_iommu(fd) ? domain % RKNPU_MAX_IOMMU_DOMAIN_NUM : 0;
}

FIXTURE(cycles)
{
	int fd;
};

FIXTURE_SETUP(cycles)
{
	npu_fault_none();
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(cycles)
{
	npu_fault_none();
	EXPECT_EQ(0, npu_good_job(self->fd, RKNPU_CORE_AUTO_MASK));
	close(self->fd);
}

static const struct kind {
	__u32 flags;
	__s32 domain;
	__u32 size;
} kinds[] = {
	{ RKNPU_MEM_CONTIGUOUS, 0, PAGE },
	{ RKNPU_MEM_NON_CONTIGUOUS, 0, PAGE },
	{ RKNPU_MEM_NON_CONTIGUOUS | RKNPU_MEM_CACHEABLE, 1, 5 * PAGE - 1 },
	{ RKNPU_MEM_CONTIGUOUS | RKNPU_MEM_CACHEABLE, 2, 64 * KIB },
	{ RKNPU_MEM_NON_CONTIGUOUS | RKNPU_MEM_WRITE_COMBINE, 0, 3 * PAGE },
	{ RKNPU_MEM_CONTIGUOUS | RKNPU_MEM_WRITE_COMBINE, 15, 1 },
	{ NPU_DATA, 0, PAGE + 1 },
	{ NPU_TASKS, 0, 100 },
	{ NPU_DATA | RKNPU_MEM_ZEROING | RKNPU_MEM_DMA32, 7, 2 * PAGE },
	{ NPU_DATA | RKNPU_MEM_TRY_ALLOC_SRAM, 0, 6 * PAGE },
	{ RKNPU_MEM_WRITE_COMBINE | RKNPU_MEM_TRY_ALLOC_SRAM, 3, PAGE },
	{ RKNPU_MEM_NON_CONTIGUOUS | RKNPU_MEM_TRY_ALLOC_NBUF, 0, 2 * PAGE },
};

/* From the allocation to the end; the first and the last byte are used. */
static int cycle(int fd, const struct kind *kind, unsigned int round)
{
	unsigned char *bytes;
	struct npu_bo bo;
	int ret;

	ret = npu_bo_create_in(&bo, fd, usable_domain(fd, kind->domain), kind->size, kind->flags);
	if (ret)
		return ret;
	bytes = bo.map;
	if (bytes[0] || bytes[kind->size - 1]) {
		ret = -EBADMSG;
	} else {
		bytes[0] = round | 1;
		bytes[kind->size - 1] = round | 1;
		ret = npu_sync(fd, bo.token, 1 + round % 3, 0, kind->size);
	}
	npu_bo_destroy(&bo);
	return ret;
}

static int run_cycles(int fd, unsigned int count)
{
	unsigned int round;
	int ret = 0;

	for (round = 0; round < count && !ret; round++)
		ret = cycle(fd, &kinds[round % ARRAY_SIZE(kinds)], round);
	return ret;
}

static void print_rate(const char *what, unsigned int count, long start_ms)
{
	long ms = npu_now_ms() - start_ms;

	printf("# %u %s: %ld ms, %ld us each\n", count, what, ms, ms * 1000 / count);
}

TEST_F_TIMEOUT(cycles, create_map_sync_destroy, 300)
{
	unsigned int count = scaled(self->fd, 100000);
	struct npu_state before;
	long memory, start;

	/* The first of each kind make the address spaces, which stay. */
	ASSERT_EQ(0, run_cycles(self->fd, 600));
	memory = npu_used_memory();
	before = npu_state_at_rest(self->fd);

	start = npu_now_ms();
	ASSERT_EQ(0, run_cycles(self->fd, count));
	print_rate("cycles", count, start);

	EXPECT_TRUE(npu_state_returns(&before, self->fd));
	EXPECT_TRUE(memory_is_flat(memory, count));
}

/* Made in one file, exported, imported by another, which lives longer. */
static int share(int fd, int other, unsigned int round)
{
	const struct kind *kind = &kinds[round % ARRAY_SIZE(kinds)];
	struct rknpu_mem_create arg = {
		.size = kind->size, .flags = kind->flags,
		.iommu_domain_id = usable_domain(fd, kind->domain),
	};
	struct npu_bo import;
	int dmabuf, ret;

	ret = npu_create(fd, &arg);
	if (ret)
		return ret;
	dmabuf = npu_export(fd, arg.handle);
	if (dmabuf < 0)
		return dmabuf;
	ret = npu_bo_import(&import, other, dmabuf);
	close(dmabuf);
	if (ret)
		return ret;
	/* One process, one mapping. */
	if (import.dma != arg.dma_addr)
		ret = -EBADMSG;
	if (!ret)
		ret = npu_destroy(fd, arg.handle);
	if (!ret)
		ret = npu_sync(other, import.token, RKNPU_MEM_SYNC_MASK, 0, import.size);
	npu_bo_destroy(&import);
	return ret;
}

TEST_F_TIMEOUT(cycles, export_import_destroy, 300)
{
	unsigned int count = scaled(self->fd, 10000), round;
	struct npu_state before;
	long memory = 0, start = 0;
	int other = npu_open();

	ASSERT_LE(0, other);
	for (round = 0; round < count + 600; round++) {
		if (round == 600) {
			memory = npu_used_memory();
			before = npu_state_at_rest(self->fd);
			start = npu_now_ms();
		}
		ASSERT_EQ(0, share(self->fd, other, round));
	}
	print_rate("cycles", count, start);

	EXPECT_TRUE(npu_state_returns(&before, self->fd));
	EXPECT_TRUE(memory_is_flat(memory, count));
	close(other);
}

/* Reads or writes the first word of a buffer through a mapping of its own. */
static int access_word(int fd, __u32 handle, __u32 *word, bool write)
{
	__u64 offset;
	__u32 *map;
	int ret;

	ret = npu_map_offset(fd, handle, &offset);
	if (ret)
		return ret;
	map = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
	if (map == MAP_FAILED)
		return -errno;
	if (write)
		*map = *word;
	else
		*word = *map;
	munmap(map, PAGE);
	return 0;
}

struct handle {
	__u32 handle;
	__u64 token, dma;
};

/* Every fourth is written and read through a mapping, which takes longer than the rest. */
static bool is_mapped(unsigned int index)
{
	return index % 4 == 0;
}

static int fill_file(int fd, struct handle *handles, unsigned int count)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < count && !ret; i++) {
		struct rknpu_mem_create arg = {
			.size = PAGE, .flags = RKNPU_MEM_NON_CONTIGUOUS,
			.iommu_domain_id = usable_domain(fd, i),
		};

		ret = npu_create(fd, &arg);
		handles[i] = (struct handle) { arg.handle, arg.obj_addr, arg.dma_addr };
		if (!ret && is_mapped(i))
			ret = access_word(fd, arg.handle, &i, true);
	}
	return ret;
}

/* Each is the buffer that it was made as, and no two of those that are mapped share memory. */
static int check_handle(int fd, const struct handle *h, __u32 expected)
{
	struct rknpu_mem_info info = { .handle = h->handle };
	__u32 word = expected;
	int ret;

	ret = npu_ioctl(fd, DRM_IOCTL_RKNPU_MEM_INFO, &info);
	if (!ret)
		ret = npu_sync(fd, h->token, RKNPU_MEM_SYNC_MASK, 0, PAGE);
	if (!ret && is_mapped(expected))
		ret = access_word(fd, h->handle, &word, false);
	if (ret)
		return ret;
	return info.obj_addr == h->token && info.dma_addr == h->dma &&
	       (__s32)info.iommu_domain_id == usable_domain(fd, expected) && word == expected ?
	       0 : -EBADMSG;
}

static int by_address(const void *a, const void *b)
{
	__u64 x = ((const struct handle *)a)->dma, y = ((const struct handle *)b)->dma;

	return x < y ? -1 : x > y;
}

TEST_F_TIMEOUT(cycles, alive_at_once, 300)
{
	unsigned int count = scaled(self->fd, 100000), i, equal = 0, domains;
	struct rlimit few = { 16, 16 };
	struct npu_state before;
	struct npu_usage filled;
	struct handle *handles;
	long memory, start, made, closed;
	int fd;

	ASSERT_EQ(0, run_cycles(self->fd, 600));
	handles = calloc(count, sizeof(*handles));
	ASSERT_NE(NULL, handles);
	memset(handles, 1, count * sizeof(*handles));
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &few));
	memory = npu_used_memory();
	before = npu_state_at_rest(self->fd);
	fd = npu_open();
	ASSERT_LE(0, fd);

	start = npu_now_ms();
	ASSERT_EQ(0, fill_file(fd, handles, count));
	made = npu_now_ms() - start;
	print_rate("buffers made", count, start);

	filled = npu_usage_of(getpid());
	EXPECT_EQ(before.own.objects + count, filled.objects);
	EXPECT_EQ(before.own.bytes + (long long)count * PAGE, filled.bytes);
	EXPECT_EQ(before.own.iova + (long long)count * PAGE, filled.iova);

	start = npu_now_ms();
	for (i = 0; i < count; i++) {
		ASSERT_EQ(0, check_handle(fd, &handles[i], i)) {
			TH_LOG("buffer %u", i);
		}
	}
	print_rate("buffers checked", count, start);
	EXPECT_EQ(0, npu_good_job(fd, RKNPU_CORE_AUTO_MASK));

	/* An address belongs to one buffer of a domain, so to at most one of each domain. */
	domains = npu_has_iommu(self->fd) ? RKNPU_MAX_IOMMU_DOMAIN_NUM : 1;
	qsort(handles, count, sizeof(*handles), by_address);
	for (i = 0; i < count; i++) {
		equal = i && handles[i].dma == handles[i - 1].dma ? equal + 1 : 1;
		ASSERT_GE(domains, equal);
	}

	start = npu_now_ms();
	close(fd);
	closed = npu_now_ms() - start;
	print_rate("buffers closed", count, start);
	/* Kernels that check themselves do so most of all when something is freed. */
	EXPECT_GT((npu_kernel_is_slow() ? 3 : 1) * made + 100, closed);

	EXPECT_TRUE(npu_state_returns(&before, self->fd));
	EXPECT_TRUE(memory_is_flat(memory, count));
	free(handles);
}

struct background {
	struct npu_matmul mm;
	int ret;
};

static void *run_in_background(void *arg)
{
	struct background *b = arg;

	b->ret = npu_matmul_run(&b->mm, RKNPU_CORE0_MASK, 60000);
	return NULL;
}

/*
 * Buffers that are given up while a job runs must wait for it, however many they are; and as each
 * time is a moment of its own, so must many moments.
 */
TEST_F_TIMEOUT(cycles, given_up_during_a_job, 120)
{
	unsigned int count = scaled(self->fd, 20000), i;
	struct background b = { .ret = -1 };
	struct npu_state before;
	struct npu_usage waiting;
	long deadline;
	pthread_t thread;

	/* Sixteen tasks of two seconds, unless the switch is taken back. */
	ASSERT_EQ(0, npu_matmul_create(&b.mm, self->fd, 16, 64, 32, 1));
	before = npu_state_at_rest(self->fd);
	npu_ctl_clear(VNPU_CTL_CLEAR_COUNTERS);
	npu_slow(0, 2000000);
	ASSERT_EQ(0, pthread_create(&thread, NULL, run_in_background, &b));
	while (!npu_ctl_core(0, VNPU_CTL_STARTS))
		npu_sleep_ms(1);

	for (i = 0; i < count; i++) {
		struct rknpu_mem_create arg = { .size = PAGE, .flags = NPU_DATA };

		ASSERT_EQ(0, npu_create(self->fd, &arg));
		ASSERT_EQ(0, npu_destroy(self->fd, arg.handle));
		/* Jobs of another core end meanwhile. */
		if (i % 1000 == 0)
			ASSERT_EQ(0, npu_good_job(self->fd, npu_core(1)));
	}
	waiting = npu_usage_of(getpid());
	EXPECT_LE(before.own.iova + (long long)count * PAGE, waiting.iova);

	npu_fault_none();
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(0, b.ret);
	/* So many mappings take their time. */
	deadline = npu_now_ms() + 20000;
	while (npu_usage_of(getpid()).objects > before.own.objects && npu_now_ms() < deadline)
		npu_sleep_ms(20);
	EXPECT_TRUE(npu_state_returns(&before, self->fd));
	npu_matmul_destroy(&b.mm);
}

TEST_HARNESS_MAIN
