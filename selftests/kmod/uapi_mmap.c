// SPDX-License-Identifier: GPL-2.0-only
/* Mappings of buffers: parts of them, what may be done to them, and how long they stay. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>

#include "kselftest_harness.h"
#include "npu_client.h"

#define PAGE 4096
#define PAGES 12
#define SIZE (PAGES * PAGE)

FIXTURE(map)
{
	int fd;
	__u32 handle;
	__u64 offset;
	__u32 *words;	/* the whole buffer; every word has its index in it */
};

FIXTURE_VARIANT(map)
{
	__u32 flags;
};

FIXTURE_VARIANT_ADD(map, cached) { .flags = NPU_DATA };
FIXTURE_VARIANT_ADD(map, uncached) { .flags = RKNPU_MEM_NON_CONTIGUOUS };
FIXTURE_VARIANT_ADD(map, write_combined) { .flags = 0x5 };
FIXTURE_VARIANT_ADD(map, contiguous) { .flags = RKNPU_MEM_CACHEABLE };
FIXTURE_VARIANT_ADD(map, sram) { .flags = NPU_DATA | RKNPU_MEM_TRY_ALLOC_SRAM };
FIXTURE_VARIANT_ADD(map, nbuf) { .flags = NPU_DATA | RKNPU_MEM_TRY_ALLOC_NBUF };

FIXTURE_SETUP(map)
{
	/* Where there is SRAM or NBUF, it is the first five pages. */
	struct rknpu_mem_create arg = {
		.size = SIZE, .flags = variant->flags, .sram_size = 5 * PAGE,
	};
	unsigned int i;

	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, npu_create(self->fd, &arg));
	self->handle = arg.handle;
	ASSERT_EQ(0, npu_map_offset(self->fd, self->handle, &self->offset));
	self->words = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd,
			   self->offset);
	ASSERT_NE(MAP_FAILED, self->words);
	for (i = 0; i < SIZE / 4; i++)
		self->words[i] = i;
}

FIXTURE_TEARDOWN(map)
{
	munmap(self->words, SIZE);
	close(self->fd);
}

/* Words that don't hold their index; first is the index of the first. */
static unsigned int wrong(const __u32 *words, unsigned int first, size_t bytes)
{
	unsigned int i, count = 0;

	for (i = 0; i < bytes / 4; i++)
		count += words[i] != first + i;
	return count;
}

/* Every range of whole pages inside the buffer can be mapped, and shows just that range. */
TEST_F(map, every_part)
{
	unsigned int start, count;
	__u32 *part;

	for (start = 0; start < PAGES; start++) {
		for (count = 1; start + count <= PAGES; count++) {
			part = mmap(NULL, count * PAGE, PROT_READ, MAP_SHARED, self->fd,
				    self->offset + start * PAGE);
			ASSERT_NE(MAP_FAILED, part) {
				TH_LOG("%u pages from page %u", count, start);
			}
			EXPECT_EQ(0, wrong(part, start * PAGE / 4, count * PAGE));
			munmap(part, count * PAGE);
		}
	}
}

TEST_F(map, beyond_the_end)
{
	unsigned int start;

	for (start = 0; start <= PAGES; start++) {
		EXPECT_EQ(MAP_FAILED, mmap(NULL, (PAGES - start + 1) * PAGE, PROT_READ, MAP_SHARED,
					   self->fd, self->offset + start * PAGE));
		EXPECT_EQ(EINVAL, errno);
	}
}

/* The CPU would write copies that the NPU never sees. */
TEST_F(map, private)
{
	EXPECT_EQ(MAP_FAILED, mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE, self->fd,
				   self->offset));
	EXPECT_EQ(EINVAL, errno);
}

TEST_F(map, hole)
{
	__u32 *words = self->words;

	ASSERT_EQ(0, munmap((char *)words + 3 * PAGE, 4 * PAGE));
	EXPECT_EQ(0, wrong(words, 0, 3 * PAGE));
	EXPECT_EQ(0, wrong(words + 7 * PAGE / 4, 7 * PAGE / 4, (PAGES - 7) * PAGE));
	/* The hole can be filled again. */
	EXPECT_EQ((char *)words + 3 * PAGE,
		  mmap((char *)words + 3 * PAGE, 4 * PAGE, PROT_READ, MAP_SHARED | MAP_FIXED,
		       self->fd, self->offset + 3 * PAGE));
	EXPECT_EQ(0, wrong(words, 0, SIZE));
}

TEST_F(map, moves_but_never_grows)
{
	__u32 *part = mmap(NULL, 4 * PAGE, PROT_READ, MAP_SHARED, self->fd,
			   self->offset + 2 * PAGE), *moved;

	ASSERT_NE(MAP_FAILED, part);
	EXPECT_EQ(0, wrong(part, 2 * PAGE / 4, 4 * PAGE));
	EXPECT_EQ(MAP_FAILED, mremap(part, 4 * PAGE, 5 * PAGE, MREMAP_MAYMOVE));
	moved = mmap(NULL, 4 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, moved);
	ASSERT_EQ(moved, mremap(part, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, moved));
	EXPECT_EQ(0, wrong(moved, 2 * PAGE / 4, 4 * PAGE));
	ASSERT_EQ(moved, mremap(moved, 4 * PAGE, 2 * PAGE, 0));
	EXPECT_EQ(0, wrong(moved, 2 * PAGE / 4, 2 * PAGE));
	munmap(moved, 2 * PAGE);
}

static sigjmp_buf after_signal;

static void back(int sig)
{
	siglongjmp(after_signal, sig);
}

/* The signal that a write raises, or 0. */
static int write_to(__u32 *word)
{
	struct sigaction action = { .sa_handler = back };
	int sig;

	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	sig = sigsetjmp(after_signal, 1);
	if (!sig)
		*word = 99;
	return sig;
}

TEST_F(map, protection)
{
	__u32 *part = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, self->fd, self->offset);

	ASSERT_NE(MAP_FAILED, part);
	EXPECT_EQ(0, part[0]);
	EXPECT_EQ(SIGSEGV, write_to(part));
	EXPECT_EQ(0, mprotect(part, PAGE, PROT_READ | PROT_WRITE));
	EXPECT_EQ(0, write_to(part));
	EXPECT_EQ(99, self->words[0]);
	munmap(part, PAGE);
}

/* Others can't get at it through the process, nor does it end up in a core dump. */
TEST_F(map, vm_flags)
{
	char line[512], flags[512] = "";
	unsigned long start, end;
	bool ours = false;
	FILE *f = fopen("/proc/self/smaps", "r");

	ASSERT_NE(NULL, f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			ours = start == (unsigned long)self->words;
		if (ours && !strncmp(line, "VmFlags:", 8))
			memcpy(flags, line, sizeof(flags));
	}
	fclose(f);
	EXPECT_NE(NULL, strstr(flags, " sh"));
	EXPECT_NE(NULL, strstr(flags, " io"));
	EXPECT_NE(NULL, strstr(flags, " dc"));
	EXPECT_NE(NULL, strstr(flags, " de"));
	EXPECT_NE(NULL, strstr(flags, " dd")) {
		TH_LOG("%s", flags);
	}
}

/* Whoever looks into the process by way of the kernel sees nothing, and does no harm. */
TEST_F(map, through_proc)
{
	int mem = open("/proc/self/mem", O_RDWR);
	char copy[64];

	ASSERT_LE(0, mem);
	EXPECT_EQ(-1, pread(mem, copy, sizeof(copy), (unsigned long)self->words));
	EXPECT_EQ(EIO, errno);
	EXPECT_EQ(-1, pwrite(mem, copy, sizeof(copy), (unsigned long)self->words));
	EXPECT_EQ(EIO, errno);
	EXPECT_EQ(0, wrong(self->words, 0, SIZE));
	close(mem);
}

/* System calls fill and read it like any memory. */
TEST_F(map, as_buffer_of_a_system_call)
{
	int zero = open("/dev/zero", O_RDONLY), pipes[2];
	__u32 copy[16];

	ASSERT_LE(0, zero);
	ASSERT_EQ(0, pipe(pipes));
	EXPECT_EQ(sizeof(copy), write(pipes[1], self->words + 8, sizeof(copy)));
	EXPECT_EQ(sizeof(copy), read(pipes[0], copy, sizeof(copy)));
	EXPECT_EQ(0, wrong(copy, 8, sizeof(copy)));
	EXPECT_EQ(sizeof(copy), read(zero, self->words + 8, sizeof(copy)));
	EXPECT_EQ(0, self->words[8]);
	EXPECT_EQ(0, self->words[23]);
	EXPECT_EQ(24, self->words[24]);
	close(zero);
	close(pipes[0]);
	close(pipes[1]);
}

TEST_F(map, outlives_handle_and_file)
{
	__u32 *part = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd,
			   self->offset + 4 * PAGE);

	ASSERT_NE(MAP_FAILED, part);
	EXPECT_EQ(0, npu_destroy(self->fd, self->handle));
	/* The name is gone, the memory isn't, also where no access has been yet. */
	EXPECT_EQ(MAP_FAILED, mmap(NULL, PAGE, PROT_READ, MAP_SHARED, self->fd, self->offset));
	EXPECT_EQ(0, wrong(part, 4 * PAGE / 4, 3 * PAGE));
	close(self->fd);
	self->fd = -1;
	EXPECT_EQ(0, wrong(self->words, 0, SIZE));
	part[0] = 1234;
	EXPECT_EQ(1234, self->words[4 * PAGE / 4]);
	/* Each mapping holds all of it. */
	munmap(self->words, SIZE);
	EXPECT_EQ(1234, part[0]);
	EXPECT_EQ(0, wrong(part + 1, 4 * PAGE / 4 + 1, 3 * PAGE - 4));
	munmap(part, 3 * PAGE);
	self->words = NULL;
}

TEST_HARNESS_MAIN
