// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buffers that begin in SRAM: how much they get, that SRAM and memory behind it are one buffer to
 * CPU and NPU, and that it all comes back. The device tree of the vendor names an SRAM; where there
 * is none the same calls give memory, as they do without an IOMMU, which is what joins the two.
 */
#include <stdio.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_control.h"
#include "npu_matmul.h"
#include "npu_proc.h"

#define KIB 1024ULL
#define SRAM_DATA (NPU_DATA | RKNPU_MEM_TRY_ALLOC_SRAM)
#define MM "/sys/kernel/debug/rknpu/mm"

FIXTURE(sram)
{
	int fd;
	__u32 total;
	/* How much of it buffers can have. */
	__u32 usable;
};

static __u32 sram_free(int fd)
{
	__u32 value = 0xdecafbad;

	return npu_action(fd, RKNPU_GET_FREE_SRAM_SIZE, &value) ? 0xdecafbad : value;
}

FIXTURE_SETUP(sram)
{
	npu_fault_none();
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, npu_action(self->fd, RKNPU_GET_TOTAL_SRAM_SIZE, &self->total));
	ASSERT_EQ(self->total, sram_free(self->fd));
	self->usable = npu_has_iommu(self->fd) ? self->total : 0;
}

FIXTURE_TEARDOWN(sram)
{
	EXPECT_EQ(self->total, sram_free(self->fd));
	close(self->fd);
}

TEST_F(sram, size)
{
	EXPECT_EQ(npu_tree_has_sram() ? npu_soc()->sram : 0, self->total);
}

static int create(int fd, __u64 size, __u64 sram, struct rknpu_mem_create *arg)
{
	*arg = (struct rknpu_mem_create) { .size = size, .flags = SRAM_DATA, .sram_size = sram };
	return npu_create(fd, arg);
}

static __u64 at_most(__u64 a, __u64 b)
{
	return a < b ? a : b;
}

/* How much is asked for, and what comes of it with all SRAM free. */
TEST_F(sram, how_much_is_given)
{
	static const struct {
		__u64 size, asked, given;
	} cases[] = {
		{ 64 * KIB, 0, 64 * KIB }, { 64 * KIB, 4 * KIB, 4 * KIB },
		{ 64 * KIB, 1, 4 * KIB }, { 64 * KIB, 5000, 8 * KIB },
		{ 64 * KIB, 1024 * KIB, 64 * KIB }, { 64 * KIB, ~0ULL, 64 * KIB },
		{ 64 * KIB, ~0ULL - 4094, 64 * KIB }, { 1, 0, 4 * KIB },
		{ 4096 * KIB, 0, ~0ULL }, { 1024 * KIB, 0, ~0ULL },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rknpu_mem_create arg, query;

		ASSERT_EQ(0, create(self->fd, cases[i].size, cases[i].asked, &arg));
		EXPECT_EQ(at_most(cases[i].given, self->usable), arg.sram_size) {
			TH_LOG("case %u", i);
		}
		EXPECT_EQ((cases[i].size + 4095) / 4096 * 4096, arg.size);
		EXPECT_EQ(self->total - arg.sram_size, sram_free(self->fd));
		query = (struct rknpu_mem_create) { .handle = arg.handle };
		ASSERT_EQ(0, npu_create(self->fd, &query));
		EXPECT_EQ(arg.sram_size, query.sram_size);
		EXPECT_EQ(0, npu_destroy(self->fd, arg.handle));
		EXPECT_EQ(self->total, sram_free(self->fd));
	}
}

/* Without the flag the size of SRAM means nothing. */
TEST_F(sram, not_asked_for)
{
	struct rknpu_mem_create arg = {
		.size = 64 * KIB, .flags = NPU_DATA, .sram_size = 64 * KIB,
	};

	ASSERT_EQ(0, npu_create(self->fd, &arg));
	EXPECT_EQ(0, arg.sram_size);
	EXPECT_EQ(self->total, sram_free(self->fd));
	EXPECT_EQ(0, npu_destroy(self->fd, arg.handle));
}

/* When nothing is left buffers are made of memory. */
TEST_F(sram, none_left)
{
	struct rknpu_mem_create all, more;

	ASSERT_EQ(0, create(self->fd, 2048 * KIB, 0, &all));
	EXPECT_EQ(self->usable, all.sram_size);
	EXPECT_EQ(self->total - self->usable, sram_free(self->fd));
	ASSERT_EQ(0, create(self->fd, 64 * KIB, 0, &more));
	EXPECT_EQ(0, more.sram_size);
	EXPECT_EQ(0, npu_destroy(self->fd, all.handle));
	EXPECT_EQ(self->total, sram_free(self->fd));
	EXPECT_EQ(0, npu_destroy(self->fd, more.handle));
}

/* One mapping shows both parts, zero at first, whatever was there before. */
TEST_F(sram, mapping_across_the_border)
{
	const size_t size = 256 * KIB;
	unsigned int round;

	for (round = 0; round < 3; round++) {
		struct rknpu_mem_create arg;
		unsigned long dirty = 0, wrong = 0;
		__u64 offset, *words;
		size_t i;

		ASSERT_EQ(0, create(self->fd, size, 64 * KIB, &arg));
		ASSERT_EQ(0, npu_map_offset(self->fd, arg.handle, &offset));
		words = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd, offset);
		ASSERT_NE(MAP_FAILED, words);
		for (i = 0; i < size / 8; i++) {
			dirty |= words[i];
			words[i] = i * 0x9e3779b97f4a7c15;
		}
		EXPECT_EQ(0, dirty);
		EXPECT_EQ(0, npu_sync(self->fd, arg.obj_addr, RKNPU_MEM_SYNC_MASK, 0, size));
		for (i = 0; i < size / 8; i++)
			wrong += words[i] != i * 0x9e3779b97f4a7c15;
		EXPECT_EQ(0, wrong);
		munmap(words, size);
		EXPECT_EQ(0, npu_destroy(self->fd, arg.handle));
	}
}

/* Command lists, tasks, operands and results partly in SRAM: the NPU sees what the CPU wrote. */
TEST_F(sram, jobs)
{
	struct npu_matmul mm;
	unsigned int core;

	ASSERT_EQ(0, npu_matmul_create_flags(&mm, self->fd, 300, 128, 64, 5, SRAM_DATA,
					     SRAM_DATA | RKNPU_MEM_KERNEL_MAPPING));
	EXPECT_EQ(self->usable != 0, sram_free(self->fd) != self->total);
	for (core = 0; core < npu_cores(); core++)
		EXPECT_EQ(0, npu_matmul_run(&mm, 1U << core, 6000));
	EXPECT_EQ(0, sram_free(self->fd) % 4096);
	npu_matmul_destroy(&mm);
}

TEST_F(sram, mapping_outlives_handle)
{
	struct rknpu_mem_create arg, other;
	__u64 offset;
	char *map;

	ASSERT_EQ(0, create(self->fd, 16 * KIB, 0, &arg));
	ASSERT_EQ(0, npu_map_offset(self->fd, arg.handle, &offset));
	map = mmap(NULL, 16 * KIB, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd, offset);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(0, npu_destroy(self->fd, arg.handle));
	/* Still in use, so it is nobody else's. */
	EXPECT_EQ(self->total - arg.sram_size, sram_free(self->fd));
	memset(map, 0x11, 16 * KIB);
	ASSERT_EQ(0, create(self->fd, 2048 * KIB, 0, &other));
	EXPECT_EQ(self->usable - arg.sram_size, other.sram_size);
	EXPECT_EQ(0x11, map[0]);
	EXPECT_EQ(0x11, map[16 * KIB - 1]);
	EXPECT_EQ(0, npu_destroy(self->fd, other.handle));
	munmap(map, 16 * KIB);
	EXPECT_EQ(self->total, sram_free(self->fd));
}

static int takes_all_and_dies(void *arg)
{
	struct rknpu_mem_create mem;
	int fd = npu_open();

	(void)arg;
	return fd < 0 || create(fd, 2048 * KIB, 0, &mem);
}

TEST_F(sram, comes_back_from_the_dead)
{
	long end = npu_now_ms() + 2000;

	EXPECT_EQ(0, npu_join(npu_spawn(takes_all_and_dies, NULL), 5000));
	while (sram_free(self->fd) != self->total && npu_now_ms() < end)
		npu_sleep_ms(10);
	EXPECT_EQ(self->total, sram_free(self->fd));
}

/* The bitmap as the vendor prints it: 32 pages a line, `used` of them taken from the start. */
static void expected_mm(char *text, size_t size, unsigned int pages, unsigned int used)
{
	size_t len;
	unsigned int i;

	text[0] = '\0';
	if (!pages)
		return;
	len = snprintf(text, size, "SRAM bitmap: \"*\" - used, \".\" - free (1bit = 4KB)\n");
	for (i = 0; i < pages; i++) {
		if (i % 32 == 0)
			len += snprintf(text + len, size - len, "[%03u] [", i / 32);
		len += snprintf(text + len, size - len, "%c", i < used ? '*' : '.');
		if (i % 32 == 31 || i + 1 == pages)
			len += snprintf(text + len, size - len, "]\n");
	}
	snprintf(text + len, size - len, "SRAM total size: %u, used: %u, free: %u\n", pages * 4096,
		 used * 4096, (pages - used) * 4096);
}

TEST_F(sram, bitmap)
{
	static char seen[8192], expected[8192];
	struct rknpu_mem_create arg;

	npu_read_file(MM, seen, sizeof(seen));
	expected_mm(expected, sizeof(expected), self->total / 4096, 0);
	EXPECT_STREQ(expected, seen);

	/* First fit: the first buffer lies at the start. */
	ASSERT_EQ(0, create(self->fd, 148 * KIB, 0, &arg));
	npu_read_file(MM, seen, sizeof(seen));
	expected_mm(expected, sizeof(expected), self->total / 4096, arg.sram_size / 4096);
	EXPECT_STREQ(expected, seen);
	EXPECT_EQ(0, npu_destroy(self->fd, arg.handle));
}

TEST_HARNESS_MAIN
