// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buffers that begin in the NPU's on-chip buffer (NBUF): how much they get and of which core's
 * part, that it and the memory behind it are one buffer to CPU and NPU, and that it all comes back.
 * Where the SoC has no NBUF the same calls give memory.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_control.h"
#include "npu_matmul.h"
#include "npu_proc.h"
#include "npu_usage.h"

#define KIB 1024ULL
#define PAGE 4096
#define NBUF_DATA (NPU_DATA | RKNPU_MEM_TRY_ALLOC_NBUF)
#define EVERY_CORE 3
#define WORD 0x9e3779b97f4a7c15

FIXTURE(nbuf)
{
	int fd;
	/* How much there is for buffers, and for those of one core. */
	__u64 total, share;
};

static __u64 nbuf_free(int fd)
{
	return npu_param(fd, RKNPU_PARAM_NBUF_FREE);
}

FIXTURE_SETUP(nbuf)
{
	npu_fault_none();
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
	self->total = npu_soc()->nbuf;
	self->share = self->total / npu_cores();
	ASSERT_EQ(self->total, nbuf_free(self->fd));
}

FIXTURE_TEARDOWN(nbuf)
{
	EXPECT_EQ(self->total, nbuf_free(self->fd));
	close(self->fd);
}

TEST_F(nbuf, size)
{
	EXPECT_EQ(self->total, npu_param(self->fd, RKNPU_PARAM_NBUF_TOTAL));
}

static int create_for(int fd, __u32 core_mask, __u64 size, __u64 on_chip,
		      struct rknpu_mem_create *arg)
{
	*arg = (struct rknpu_mem_create) {
		.size = size, .flags = NBUF_DATA, .sram_size = on_chip, .core_mask = core_mask,
	};
	return npu_create(fd, arg);
}

/* As MEM_INFO tells; all ones when it doesn't. */
static __u64 nbuf_of(int fd, __u32 handle)
{
	struct rknpu_mem_info info = { .handle = handle };

	return npu_ioctl(fd, DRM_IOCTL_RKNPU_MEM_INFO, &info) ? ~0ULL : info.nbuf_size;
}

static __u64 at_most(__u64 a, __u64 b)
{
	return a < b ? a : b;
}

/* How much is asked for, and what comes of it with all NBUF free. */
TEST_F(nbuf, how_much_is_given)
{
	static const struct {
		__u64 size, asked, given;
	} cases[] = {
		{ 64 * KIB, 0, 64 * KIB }, { 64 * KIB, 4 * KIB, 4 * KIB },
		{ 64 * KIB, 1, 4 * KIB }, { 64 * KIB, 5000, 8 * KIB },
		{ 64 * KIB, 1024 * KIB, 64 * KIB }, { 64 * KIB, ~0ULL, 64 * KIB },
		{ 64 * KIB, ~0ULL - 4094, 64 * KIB }, { 1, 0, 4 * KIB },
		{ 460 * KIB, 0, 460 * KIB }, { 600 * KIB, 452 * KIB, 452 * KIB },
		{ 4096 * KIB, 0, ~0ULL }, { 1024 * KIB, 0, ~0ULL },
	};
	/* 3 is both of two cores; the rest is what programs leave there. */
	static const __u32 masks[] = { 0, 1, 2, EVERY_CORE, 4, 7, 0xffffffff };
	unsigned int i, m;

	for (m = 0; m < ARRAY_SIZE(masks); m++) {
		__u64 most = masks[m] < EVERY_CORE ? self->share : self->total;

		for (i = 0; i < ARRAY_SIZE(cases); i++) {
			__u64 given = at_most(cases[i].given, most);
			struct rknpu_mem_create arg;

			ASSERT_EQ(0, create_for(self->fd, masks[m], cases[i].size, cases[i].asked,
						&arg));
			EXPECT_EQ(given, nbuf_of(self->fd, arg.handle)) {
				TH_LOG("case %u, mask %#x", i, masks[m]);
			}
			/* Programs know this one as that of SRAM. */
			EXPECT_EQ(0, arg.sram_size);
			EXPECT_EQ((cases[i].size + PAGE - 1) / PAGE * PAGE, arg.size);
			EXPECT_EQ(self->total - given, nbuf_free(self->fd));
			EXPECT_EQ(0, npu_destroy(self->fd, arg.handle));
			EXPECT_EQ(self->total, nbuf_free(self->fd));
		}
	}
}

TEST_F(nbuf, not_asked_for)
{
	struct rknpu_mem_create arg = {
		.size = 64 * KIB, .flags = NPU_DATA, .sram_size = 64 * KIB, .core_mask = 1,
	};

	ASSERT_EQ(0, npu_create(self->fd, &arg));
	EXPECT_EQ(0, nbuf_of(self->fd, arg.handle));
	EXPECT_EQ(self->total, nbuf_free(self->fd));
	EXPECT_EQ(0, npu_destroy(self->fd, arg.handle));
}

static __u64 *map_words(int fd, const struct rknpu_mem_create *arg)
{
	__u64 offset;

	if (npu_map_offset(fd, arg->handle, &offset))
		return MAP_FAILED;
	return mmap(NULL, arg->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
}

/* The physical memory itself, past the driver. */
static __u64 *map_physical(void)
{
	int fd = open("/dev/mem", O_RDWR | O_SYNC);
	void *map = mmap(NULL, npu_soc()->nbuf, PROT_READ, MAP_SHARED, fd, npu_soc()->nbuf_start);

	close(fd);
	return map;
}

/* Words of [start, end) that are not those from `first` on. */
static unsigned long wrong_words(const __u64 *words, __u64 start, __u64 end, __u64 first)
{
	unsigned long wrong = 0;
	__u64 i;

	for (i = start / 8; i < end / 8; i++)
		wrong += words[i] != (first / 8 + i - start / 8) * WORD;
	return wrong;
}

struct piece {
	__u64 start, size;
};

/* Which part of it belongs to a core: all of it where there is one, else two pieces for each. */
TEST_F(nbuf, place)
{
	static const __u32 masks[] = { 0, 1, 2, EVERY_CORE };
	static const struct piece of_two_cores[][2] = {
		{ { 0, 448 * KIB }, { 896 * KIB, 64 * KIB } },
		{ { 0, 448 * KIB }, { 896 * KIB, 64 * KIB } },
		{ { 448 * KIB, 448 * KIB }, { 960 * KIB, 64 * KIB } },
		{ { 0, 1024 * KIB } },
	};
	const struct piece all[2] = { { 0, self->total } };
	const __u64 size = 2048 * KIB;
	unsigned int i;
	__u64 *nbuf;

	if (!self->total)
		return;
	nbuf = map_physical();
	ASSERT_NE(MAP_FAILED, nbuf);
	for (i = 0; i < ARRAY_SIZE(masks); i++) {
		const struct piece *piece = npu_cores() == 1 ? all : of_two_cores[i];
		__u64 first = piece[0].size, second = piece[1].size, at, w;
		struct rknpu_mem_create arg;
		__u64 *words;

		ASSERT_EQ(0, create_for(self->fd, masks[i], size, 0, &arg));
		words = map_words(self->fd, &arg);
		ASSERT_NE(MAP_FAILED, words);
		for (w = 0; w < size / 8; w++)
			words[w] = w * WORD;
		at = piece[0].start;
		EXPECT_EQ(0, wrong_words(nbuf, at, at + first, 0)) {
			TH_LOG("mask %u", masks[i]);
		}
		at = piece[1].start;
		EXPECT_EQ(0, wrong_words(nbuf, at, at + second, first)) {
			TH_LOG("mask %u", masks[i]);
		}
		EXPECT_EQ(first + second, nbuf_of(self->fd, arg.handle));
		munmap(words, size);
		EXPECT_EQ(0, npu_destroy(self->fd, arg.handle));
	}
	munmap(nbuf, self->total);
}

/* Without a core named, a buffer gets of the next core's part when the first one's is taken. */
TEST_F(nbuf, any_core)
{
	struct rknpu_mem_create arg[4];
	__u64 given, left = self->total;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(arg); i++) {
		ASSERT_EQ(0, create_for(self->fd, 0, 1024 * KIB, 0, &arg[i]));
		given = i < npu_cores() ? self->share : 0;
		EXPECT_EQ(given, nbuf_of(self->fd, arg[i].handle));
		left -= given;
		EXPECT_EQ(left, nbuf_free(self->fd));
	}
	for (i = 0; i < ARRAY_SIZE(arg); i++)
		EXPECT_EQ(0, npu_destroy(self->fd, arg[i].handle));
}

/* One core's buffers take nothing of the other's part; when nothing is left there is memory. */
TEST_F(nbuf, none_left)
{
	struct rknpu_mem_create all, more, other;

	ASSERT_EQ(0, create_for(self->fd, 1, 2048 * KIB, 0, &all));
	EXPECT_EQ(self->share, nbuf_of(self->fd, all.handle));
	ASSERT_EQ(0, create_for(self->fd, 1, 64 * KIB, 0, &more));
	EXPECT_EQ(0, nbuf_of(self->fd, more.handle));
	ASSERT_EQ(0, create_for(self->fd, 2, 64 * KIB, 0, &other));
	EXPECT_EQ(npu_cores() > 1 ? at_most(64 * KIB, self->share) : 0,
		  nbuf_of(self->fd, other.handle));
	EXPECT_EQ(0, npu_destroy(self->fd, all.handle));
	EXPECT_EQ(0, npu_destroy(self->fd, more.handle));
	EXPECT_EQ(0, npu_destroy(self->fd, other.handle));
}

/* Both kinds of memory on the chip, one behind the other, and DRAM behind them. */
TEST_F(nbuf, behind_sram)
{
	struct rknpu_mem_create arg = {
		.size = 4096 * KIB, .flags = NBUF_DATA | RKNPU_MEM_TRY_ALLOC_SRAM,
	};
	__u64 w, *words;
	__u32 sram = 0;

	ASSERT_EQ(0, npu_action(self->fd, RKNPU_GET_TOTAL_SRAM_SIZE, &sram));
	sram = npu_has_iommu(self->fd) ? sram : 0;
	ASSERT_EQ(0, npu_create(self->fd, &arg));
	EXPECT_EQ(sram, arg.sram_size);
	EXPECT_EQ(self->share, nbuf_of(self->fd, arg.handle));
	words = map_words(self->fd, &arg);
	ASSERT_NE(MAP_FAILED, words);
	for (w = 0; w < arg.size / 8; w++)
		words[w] = w * WORD;
	EXPECT_EQ(0, wrong_words(words, 0, arg.size, 0));
	munmap(words, arg.size);
	EXPECT_EQ(0, npu_destroy(self->fd, arg.handle));

	/* What is asked for counts for both. */
	arg.handle = 0;
	arg.sram_size = sram + 8 * KIB;
	ASSERT_EQ(0, npu_create(self->fd, &arg));
	EXPECT_EQ(sram, arg.sram_size);
	EXPECT_EQ(at_most(8 * KIB, self->share), nbuf_of(self->fd, arg.handle));
	EXPECT_EQ(0, npu_destroy(self->fd, arg.handle));
}

/* One mapping shows all parts, zero at first, whatever was there before. */
TEST_F(nbuf, mapping_across_the_borders)
{
	const __u64 size = 1024 * KIB;
	unsigned int round;

	for (round = 0; round < 4; round++) {
		struct rknpu_mem_create arg;
		__u64 *words, dirty = 0, i;

		ASSERT_EQ(0, create_for(self->fd, round, size, 0, &arg));
		words = map_words(self->fd, &arg);
		ASSERT_NE(MAP_FAILED, words);
		for (i = 0; i < size / 8; i++) {
			dirty |= words[i];
			words[i] = i * WORD;
		}
		EXPECT_EQ(0, dirty);
		EXPECT_EQ(0, npu_sync(self->fd, arg.obj_addr, RKNPU_MEM_SYNC_MASK, 0, size));
		EXPECT_EQ(0, wrong_words(words, 0, size, 0));
		munmap(words, size);
		EXPECT_EQ(0, npu_destroy(self->fd, arg.handle));
	}
}

/* Command lists, tasks, operands and results partly in NBUF: the NPU sees what the CPU wrote. */
TEST_F(nbuf, jobs)
{
	struct npu_matmul mm;
	unsigned int core;

	ASSERT_EQ(0, npu_matmul_create_flags(&mm, self->fd, 300, 128, 64, 5, NBUF_DATA,
					     NBUF_DATA | RKNPU_MEM_KERNEL_MAPPING));
	EXPECT_EQ(self->total != 0, nbuf_free(self->fd) != self->total);
	for (core = 0; core < npu_cores(); core++)
		EXPECT_EQ(0, npu_matmul_run(&mm, 1U << core, 6000));
	npu_matmul_destroy(&mm);
}

/* A job that writes across the borders: core 0's two pieces, and the memory behind them. */
TEST_F(nbuf, job_across_the_borders)
{
	const unsigned int rows = 600 * KIB / 128;
	struct rknpu_mem_create arg;
	struct rknpu_submit job;
	struct npu_matmul mm;
	unsigned int row;
	void *map;

	ASSERT_EQ(0, npu_matmul_create(&mm, self->fd, rows, 32, 32, 8));
	ASSERT_EQ(0, create_for(self->fd, 1, 600 * KIB, 0, &arg));
	for (row = 0; row < rows; row++) {
		__u64 *list = (__u64 *)mm.regcmd.map + row * (NPU_LIST_BYTES / 8);
		struct npu_matmul_addr at = {
			mm.regcmd.dma, mm.a.dma, mm.b.dma, arg.dma_addr,
		};

		npu_matmul_list(list, row, rows, 32, 32, &at);
	}
	npu_bo_to_device(&mm.regcmd);
	npu_instant(true);
	npu_matmul_job(&mm, &job, RKNPU_CORE0_MASK, 0, rows);
	job.timeout = 30000;
	EXPECT_EQ(0, npu_submit(self->fd, &job));
	EXPECT_EQ(0, npu_matmul_touched(&mm, 0, rows));
	npu_fault_none();

	map = map_words(self->fd, &arg);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(0, npu_sync(self->fd, arg.obj_addr, RKNPU_MEM_SYNC_FROM_DEVICE, 0, arg.size));
	memcpy(mm.c.map, map, arg.size);
	npu_bo_to_device(&mm.c);
	EXPECT_EQ(0, npu_matmul_wrong(&mm, 0, rows));
	munmap(map, arg.size);
	EXPECT_EQ(0, npu_destroy(self->fd, arg.handle));
	npu_matmul_destroy(&mm);
}

TEST_F(nbuf, mapping_outlives_handle)
{
	struct rknpu_mem_create arg, other;
	char *map;

	ASSERT_EQ(0, create_for(self->fd, 1, 16 * KIB, 0, &arg));
	map = (char *)map_words(self->fd, &arg);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(0, npu_destroy(self->fd, arg.handle));
	/* Still in use, so it is nobody else's. */
	EXPECT_EQ(self->total - at_most(16 * KIB, self->total), nbuf_free(self->fd));
	memset(map, 0x11, 16 * KIB);
	ASSERT_EQ(0, create_for(self->fd, 1, 2048 * KIB, 0, &other));
	EXPECT_EQ(self->share - at_most(16 * KIB, self->share), nbuf_of(self->fd, other.handle));
	EXPECT_EQ(0x11, map[0]);
	EXPECT_EQ(0x11, map[16 * KIB - 1]);
	EXPECT_EQ(0, npu_destroy(self->fd, other.handle));
	munmap(map, 16 * KIB);
	EXPECT_EQ(self->total, nbuf_free(self->fd));
}

static int takes_all_and_dies(void *arg)
{
	struct rknpu_mem_create mem;
	int fd = npu_open();

	(void)arg;
	return fd < 0 || create_for(fd, EVERY_CORE, 2048 * KIB, 0, &mem) ||
	       nbuf_of(fd, mem.handle) != npu_soc()->nbuf;
}

TEST_F(nbuf, comes_back_from_the_dead)
{
	long end = npu_now_ms() + 2000;

	EXPECT_EQ(0, npu_join(npu_spawn(takes_all_and_dies, NULL), 5000));
	while (nbuf_free(self->fd) != self->total && npu_now_ms() < end)
		npu_sleep_ms(10);
	EXPECT_EQ(self->total, nbuf_free(self->fd));
}

TEST_F(nbuf, is_counted)
{
	struct npu_state before = npu_state_at_rest(self->fd);
	struct rknpu_mem_create arg;

	ASSERT_EQ(0, create_for(self->fd, EVERY_CORE, 64 * KIB, 12 * KIB, &arg));
	EXPECT_EQ((long long)at_most(12 * KIB, self->total), npu_usage_of(getpid()).nbuf);
	EXPECT_EQ(before.total.nbuf + (long long)at_most(12 * KIB, self->total),
		  npu_usage_total().nbuf);
	EXPECT_EQ(before.total.sram, npu_usage_total().sram);
	EXPECT_EQ(0, npu_destroy(self->fd, arg.handle));
	EXPECT_TRUE(npu_state_returns(&before, self->fd));
}

/* NBUF is in the NPU: it has power while somebody has a part of it, and not for longer. */
TEST_F(nbuf, power)
{
	struct rknpu_mem_create first, second;

	ASSERT_EQ(0, npu_power_write("autosuspend_delay_ms", "50"));
	ASSERT_TRUE(npu_power_goes_off(5000));
	ASSERT_EQ(0, create_for(self->fd, 0, 4 * KIB, 0, &first));
	ASSERT_EQ(0, create_for(self->fd, 0, 4 * KIB, 0, &second));
	EXPECT_EQ(!self->total, npu_power_goes_off(500));
	EXPECT_EQ(0, npu_destroy(self->fd, first.handle));
	EXPECT_EQ(!self->total, npu_power_goes_off(500));
	EXPECT_EQ(0, npu_destroy(self->fd, second.handle));
	EXPECT_TRUE(npu_power_goes_off(5000));
	ASSERT_EQ(0, npu_power_write("autosuspend_delay_ms", "3000"));
}

/* Buffers may outlive the driver; the next one begins with all of it, and with power off. */
TEST_F(nbuf, driver_goes_first)
{
	struct rknpu_mem_create arg;
	int fd;

	ASSERT_EQ(0, create_for(self->fd, 0, 64 * KIB, 0, &arg));
	ASSERT_EQ(0, npu_rebind());
	close(self->fd);
	fd = npu_open();
	ASSERT_LE(0, fd);
	self->fd = fd;
	EXPECT_EQ(self->total, nbuf_free(self->fd));
	ASSERT_EQ(0, create_for(self->fd, 0, 64 * KIB, 0, &arg));
	EXPECT_EQ(at_most(64 * KIB, self->total), nbuf_of(self->fd, arg.handle));
	EXPECT_EQ(0, npu_destroy(self->fd, arg.handle));
	EXPECT_EQ(0, npu_good_job(self->fd, RKNPU_CORE_AUTO_MASK));
	ASSERT_EQ(0, npu_power_write("autosuspend_delay_ms", "50"));
	EXPECT_TRUE(npu_power_goes_off(5000));
	ASSERT_EQ(0, npu_power_write("autosuspend_delay_ms", "3000"));
}

TEST_HARNESS_MAIN
