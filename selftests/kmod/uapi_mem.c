// SPDX-License-Identifier: GPL-2.0-only
/* MEM_CREATE, MEM_MAP with mmap(), MEM_DESTROY and MEM_SYNC. */
#include <stdio.h>
#include <sys/ioctl.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_proc.h"

#define UNTOUCHED 0x7e
#define MIB (1024 * 1024ULL)

/* Requests of programs built for older drivers: the same number with a shorter structure. */
#define MEM_CREATE_40 0xc0286442UL
#define MEM_CREATE_32 0xc0206442UL

static __u64 page_align(__u64 size)
{
	__u64 page = sysconf(_SC_PAGESIZE);

	return (size + page - 1) / page * page;
}

FIXTURE(mem)
{
	int fd;
};

FIXTURE_SETUP(mem)
{
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(mem)
{
	close(self->fd);
}

/* Flag words that clients in the field use, and each flag by itself. */
FIXTURE(flags)
{
	int fd;
};

FIXTURE_VARIANT(flags)
{
	__u32 flags;
};

FIXTURE_VARIANT_ADD(flags, x0) { .flags = 0x0 };
FIXTURE_VARIANT_ADD(flags, x1) { .flags = 0x1 };
FIXTURE_VARIANT_ADD(flags, x2) { .flags = 0x2 };
FIXTURE_VARIANT_ADD(flags, x3) { .flags = 0x3 };
FIXTURE_VARIANT_ADD(flags, x4) { .flags = 0x4 };
FIXTURE_VARIANT_ADD(flags, x5) { .flags = 0x5 };
FIXTURE_VARIANT_ADD(flags, x8) { .flags = 0x8 };
FIXTURE_VARIANT_ADD(flags, xa) { .flags = 0xa };
FIXTURE_VARIANT_ADD(flags, xb) { .flags = 0xb };
FIXTURE_VARIANT_ADD(flags, x10) { .flags = 0x10 };
FIXTURE_VARIANT_ADD(flags, x20) { .flags = 0x20 };
FIXTURE_VARIANT_ADD(flags, x32) { .flags = 0x32 };
FIXTURE_VARIANT_ADD(flags, x3a) { .flags = 0x3a };
FIXTURE_VARIANT_ADD(flags, x40) { .flags = 0x40 };
FIXTURE_VARIANT_ADD(flags, x80) { .flags = 0x80 };
FIXTURE_VARIANT_ADD(flags, x103) { .flags = 0x103 };
FIXTURE_VARIANT_ADD(flags, x203) { .flags = 0x203 };
FIXTURE_VARIANT_ADD(flags, x402) { .flags = 0x402 };
FIXTURE_VARIANT_ADD(flags, x403) { .flags = 0x403 };
FIXTURE_VARIANT_ADD(flags, x40b) { .flags = 0x40b };
FIXTURE_VARIANT_ADD(flags, x433) { .flags = 0x433 };
FIXTURE_VARIANT_ADD(flags, x43b) { .flags = 0x43b };
/* Bits that mean nothing are ignored, as they always were. */
FIXTURE_VARIANT_ADD(flags, x80000003) { .flags = 0x80000003 };
FIXTURE_VARIANT_ADD(flags, xfffff803) { .flags = 0xfffff803 };

FIXTURE_SETUP(flags)
{
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(flags)
{
	close(self->fd);
}

TEST_F(flags, create)
{
	struct rknpu_mem_create arg = { .size = 5000, .flags = variant->flags };

	ASSERT_EQ(0, npu_create(self->fd, &arg));
	EXPECT_NE(0, arg.handle);
	EXPECT_EQ(page_align(5000), arg.size);
	EXPECT_NE(0, arg.obj_addr);
	EXPECT_NE(0, arg.dma_addr);
	EXPECT_EQ(0, arg.dma_addr % 4096);
	EXPECT_GE(1ULL << 32, arg.dma_addr + arg.size);
	EXPECT_GE(arg.size, arg.sram_size);
	EXPECT_EQ(variant->flags, arg.flags);
	EXPECT_EQ(0, arg.iommu_domain_id);
	EXPECT_EQ(0, arg.core_mask);
	EXPECT_EQ(0, npu_destroy(self->fd, arg.handle));
}

/* What one buffer held must not appear in the next, whatever its kind. */
TEST_F(flags, memory_is_zero)
{
	const size_t size = 256 * 1024;
	unsigned int round;

	for (round = 0; round < 4; round++) {
		unsigned long sum = 0;
		struct npu_bo bo;
		__u64 *words;
		size_t i;

		ASSERT_EQ(0, npu_bo_create(&bo, self->fd, size, variant->flags));
		words = bo.map;
		for (i = 0; i < size / sizeof(*words); i++)
			sum |= words[i];
		EXPECT_EQ(0, sum);
		memset(bo.map, 0xa5, size);
		npu_bo_to_device(&bo);
		npu_bo_destroy(&bo);
	}
}

TEST_F(flags, mapping_holds_data)
{
	const size_t size = 3 * 4096 + 100;
	struct npu_bo bo;
	unsigned char *bytes, *again;
	__u64 offset;
	size_t i, wrong = 0;

	ASSERT_EQ(0, npu_bo_create(&bo, self->fd, size, variant->flags));
	bytes = bo.map;
	for (i = 0; i < size; i++)
		bytes[i] = i * 7;
	ASSERT_EQ(0, npu_map_offset(self->fd, bo.handle, &offset));
	again = mmap(NULL, size, PROT_READ, MAP_SHARED, self->fd, offset);
	ASSERT_NE(MAP_FAILED, again);
	for (i = 0; i < size; i++)
		wrong += again[i] != (unsigned char)(i * 7);
	EXPECT_EQ(0, wrong);
	munmap(again, size);
	npu_bo_destroy(&bo);
}

/* Every kind of buffer can be synchronised: nothing to do is success. */
TEST_F(flags, sync)
{
	struct npu_bo bo;
	__u32 flags;

	ASSERT_EQ(0, npu_bo_create(&bo, self->fd, 8192, variant->flags));
	for (flags = 0; flags <= RKNPU_MEM_SYNC_MASK; flags++)
		EXPECT_EQ(0, npu_sync(self->fd, bo.token, flags, 0, bo.size));
	npu_bo_destroy(&bo);
}

TEST_F(mem, sizes_are_rounded_up)
{
	/* The last ones are those of a recorded model. */
	static const __u64 sizes[] = {
		1, 2, 63, 64, 4095, 4096, 4097, 8191, 8192, 65535, 440, 680, 936384, 1436160,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct rknpu_mem_create arg = { .size = sizes[i], .flags = NPU_DATA };

		ASSERT_EQ(0, npu_create(self->fd, &arg));
		EXPECT_EQ(page_align(sizes[i]), arg.size);
		EXPECT_EQ(0, npu_destroy(self->fd, arg.handle));
	}
}

TEST_F(mem, size_zero)
{
	struct rknpu_mem_create arg = { .size = 0, .flags = NPU_DATA };

	EXPECT_EQ(-EINVAL, npu_create(self->fd, &arg));
	arg = (struct rknpu_mem_create) { .size = 0, .flags = 0 };
	EXPECT_EQ(-EINVAL, npu_create(self->fd, &arg));
}

/* Not one of these can be given; nothing may be left behind, nobody may be killed for memory. */
TEST_F_TIMEOUT(mem, impossible_sizes, 120)
{
	static const __u64 sizes[] = {
		~0ULL, ~0ULL - 1, ~0ULL - 4094, ~0ULL - 4095, ~0ULL - 4096, 1ULL << 63,
		(1ULL << 63) + 1, 1ULL << 62, 1ULL << 48, 1ULL << 40, 1ULL << 33,
		(1ULL << 32) + 1, 1ULL << 32,
	};
	static const __u32 kinds[] = { 0, NPU_DATA, RKNPU_MEM_NON_CONTIGUOUS };
	long before = npu_used_memory();
	unsigned int i, kind;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (kind = 0; kind < ARRAY_SIZE(kinds); kind++) {
			struct rknpu_mem_create arg = { .size = sizes[i], .flags = kinds[kind] };
			int ret = npu_create(self->fd, &arg);

			EXPECT_TRUE(ret == -EINVAL || ret == -ENOMEM || ret == -EFAULT) {
				TH_LOG("size %#llx: %d", (unsigned long long)sizes[i], ret);
			}
		}
	}
	EXPECT_GT(before + 1024, npu_used_memory());
}

TEST_F_TIMEOUT(mem, more_than_the_machine_has, 120)
{
	__u64 size = npu_meminfo("MemTotal") * 1024ULL * 2;
	struct rknpu_mem_create arg = { .size = size, .flags = NPU_DATA };
	long before = npu_used_memory();
	int ret;

	ret = npu_create(self->fd, &arg);
	EXPECT_TRUE(ret == -ENOMEM || ret == -EFAULT) {
		TH_LOG("returned %d", ret);
	}
	arg = (struct rknpu_mem_create) { .size = size, .flags = 0 };
	ret = npu_create(self->fd, &arg);
	EXPECT_TRUE(ret == -ENOMEM || ret == -EINVAL || ret == -EFAULT) {
		TH_LOG("returned %d", ret);
	}
	EXPECT_GT(before + 1024, npu_used_memory());
}

/* More than the page allocator gives in one piece: if contiguous, then from the pool. */
#define LARGE (8 * MIB)

/* Large buffers, until there are `max` or no more are given. Returns the last errno. */
static int fill_up(int fd, __u32 *handles, unsigned int max, unsigned int *num)
{
	int ret = 0;

	for (*num = 0; *num < max; (*num)++) {
		struct rknpu_mem_create arg = { .size = LARGE, .flags = RKNPU_MEM_CACHEABLE };

		ret = npu_create(fd, &arg);
		if (ret)
			break;
		handles[*num] = arg.handle;
	}
	return ret;
}

/*
 * An IOMMU makes any memory contiguous. Without one there is the kernel's pool; when it is used up
 * the errno says so, and all of it comes back.
 */
TEST_F(mem, contiguous_beyond_the_pool)
{
	const unsigned int pool = npu_meminfo("CmaTotal") * 1024 / LARGE;
	const bool iommu = npu_has_iommu(self->fd);
	unsigned int num, round, i;
	__u32 *handles;

	ASSERT_LE(4, pool);
	handles = calloc(pool * 2, sizeof(*handles));
	ASSERT_NE(NULL, handles);
	for (round = 0; round < 3; round++) {
		EXPECT_EQ(iommu ? 0 : -ENOMEM, fill_up(self->fd, handles, pool * 2, &num));
		/* Others have a little of the pool as well. */
		EXPECT_LE(iommu ? pool * 2 : pool - 2, num);
		EXPECT_GE(iommu ? pool * 2 : pool, num);
		for (i = 0; i < num; i++)
			EXPECT_EQ(0, npu_destroy(self->fd, handles[i]));
	}
	free(handles);
}

TEST_F(mem, domain_out_of_range)
{
	static const __s32 bad[] = { 16, 17, 64, 0x10000, INT32_MAX, -1, -16, INT32_MIN };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct rknpu_mem_create arg = {
			.size = 4096, .flags = NPU_DATA, .iommu_domain_id = bad[i],
		};

		EXPECT_EQ(-EINVAL, npu_create(self->fd, &arg)) {
			TH_LOG("domain %d", bad[i]);
		}
	}
}

/* Core masks only place buffers in on-chip memory that this SoC doesn't have. */
TEST_F(mem, core_mask_is_kept)
{
	static const __u32 masks[] = { 1, 2, 4, 7, 0x80, 0xffffffff };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(masks); i++) {
		struct rknpu_mem_create arg = {
			.size = 4096, .flags = NPU_DATA, .core_mask = masks[i],
		};

		EXPECT_EQ(0, npu_create(self->fd, &arg));
		EXPECT_EQ(masks[i], arg.core_mask);
	}
}

/* Of a shorter structure exactly the passed bytes are written back; what is missing counts as 0. */
static void check_short_create(struct __test_metadata *_metadata, int fd, unsigned long request)
{
	size_t size = _IOC_SIZE(request), i, changed = 0;
	unsigned char buf[sizeof(struct rknpu_mem_create) + 16];
	struct rknpu_mem_create *arg = (void *)buf, query = {};

	memset(buf, UNTOUCHED, sizeof(buf));
	memset(buf, 0, size);
	arg->size = 100;
	arg->flags = NPU_DATA;
	ASSERT_EQ(0, npu_ioctl(fd, request, buf));
	EXPECT_NE(0, arg->handle);
	EXPECT_EQ(page_align(100), arg->size);
	EXPECT_NE(0, arg->obj_addr);
	EXPECT_NE(0, arg->dma_addr);
	for (i = size; i < sizeof(buf); i++)
		changed += buf[i] != UNTOUCHED;
	EXPECT_EQ(0, changed);

	query.handle = arg->handle;
	EXPECT_EQ(0, npu_create(fd, &query));
	EXPECT_EQ(arg->obj_addr, query.obj_addr);
	EXPECT_EQ(arg->dma_addr, query.dma_addr);
}

TEST_F(mem, create_48_bytes)
{
	check_short_create(_metadata, self->fd, DRM_IOCTL_RKNPU_MEM_CREATE);
}

TEST_F(mem, create_40_bytes)
{
	check_short_create(_metadata, self->fd, MEM_CREATE_40);
}

TEST_F(mem, create_32_bytes)
{
	check_short_create(_metadata, self->fd, MEM_CREATE_32);
}

/* Too short to carry a size. */
TEST_F(mem, create_8_bytes)
{
	unsigned char buf[sizeof(struct rknpu_mem_create)] = {};
	struct rknpu_mem_create *arg = (void *)buf;
	unsigned long request = DRM_IOWR(DRM_COMMAND_BASE + DRM_RKNPU_MEM_CREATE, char[8]);

	arg->size = 4096;
	EXPECT_EQ(-EINVAL, npu_ioctl(self->fd, request, buf));
}

TEST_F(mem, query_by_handle)
{
	struct rknpu_mem_create query;
	struct npu_bo bo, other;

	ASSERT_EQ(0, npu_bo_create(&bo, self->fd, 3 * 4096, NPU_DATA));
	ASSERT_EQ(0, npu_bo_create(&other, self->fd, 4096, NPU_DATA));

	/* Size and flags of a query are ignored, also where they would be refused. */
	query = (struct rknpu_mem_create) { .handle = bo.handle, .size = 0, .flags = 0xffff };
	ASSERT_EQ(0, npu_create(self->fd, &query));
	EXPECT_EQ(bo.handle, query.handle);
	EXPECT_EQ(bo.size, query.size);
	EXPECT_EQ(bo.token, query.obj_addr);
	EXPECT_EQ(bo.dma, query.dma_addr);

	query = (struct rknpu_mem_create) { .handle = other.handle, .size = ~0ULL };
	ASSERT_EQ(0, npu_create(self->fd, &query));
	EXPECT_EQ(other.token, query.obj_addr);
	EXPECT_EQ(other.dma, query.dma_addr);
	EXPECT_EQ(4096, query.size);
	npu_bo_destroy(&bo);
	npu_bo_destroy(&other);
}

TEST_F(mem, unknown_handle_allocates)
{
	static const __u32 handles[] = { 1, 77, 0x7fffffff, 0x80000000, 0xffffffff };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(handles); i++) {
		int fd = npu_open();
		struct rknpu_mem_create arg = {
			.handle = handles[i], .size = 4096, .flags = NPU_DATA,
		};

		ASSERT_LE(0, fd);
		EXPECT_EQ(0, npu_create(fd, &arg));
		EXPECT_EQ(4096, arg.size);
		EXPECT_NE(0, arg.dma_addr);
		EXPECT_EQ(0, npu_destroy(fd, arg.handle));
		close(fd);
	}
}

#define MANY 256

TEST_F(mem, many_buffers_are_apart)
{
	struct rknpu_mem_create arg[MANY];
	unsigned int i, j, overlaps = 0, twins = 0;

	for (i = 0; i < MANY; i++) {
		arg[i] = (struct rknpu_mem_create) {
			.size = (1 + i % 9) * 4096,
			.flags = i % 3 ? NPU_DATA : RKNPU_MEM_NON_CONTIGUOUS,
		};
		ASSERT_EQ(0, npu_create(self->fd, &arg[i]));
		EXPECT_GE(1ULL << 32, arg[i].dma_addr + arg[i].size);
	}
	for (i = 0; i < MANY; i++) {
		for (j = 0; j < i; j++) {
			overlaps += arg[i].dma_addr < arg[j].dma_addr + arg[j].size &&
				    arg[j].dma_addr < arg[i].dma_addr + arg[i].size;
			twins += arg[i].obj_addr == arg[j].obj_addr ||
				 arg[i].handle == arg[j].handle;
		}
	}
	EXPECT_EQ(0, overlaps);
	EXPECT_EQ(0, twins);
	for (i = 0; i < MANY; i++)
		EXPECT_EQ(0, npu_destroy(self->fd, arg[i].handle));
}

TEST_F(mem, map_unknown_handle)
{
	static const __u32 handles[] = { 0, 1, 99, 0x80000000, 0xffffffff };
	unsigned int i;
	__u64 offset;

	for (i = 0; i < ARRAY_SIZE(handles); i++)
		EXPECT_EQ(-ENOENT, npu_map_offset(self->fd, handles[i], &offset));
}

TEST_F(mem, map_offsets_differ)
{
	struct npu_bo one, two;
	__u64 first, second, again;

	ASSERT_EQ(0, npu_bo_create(&one, self->fd, 4096, NPU_DATA));
	ASSERT_EQ(0, npu_bo_create(&two, self->fd, 4096, NPU_DATA));
	ASSERT_EQ(0, npu_map_offset(self->fd, one.handle, &first));
	ASSERT_EQ(0, npu_map_offset(self->fd, two.handle, &second));
	ASSERT_EQ(0, npu_map_offset(self->fd, one.handle, &again));
	EXPECT_NE(first, second);
	EXPECT_EQ(first, again);
	EXPECT_EQ(0, first % 4096);
	memset(one.map, 1, 4096);
	memset(two.map, 2, 4096);
	EXPECT_EQ(1, *(char *)one.map);
	EXPECT_EQ(2, *(char *)two.map);
	npu_bo_destroy(&one);
	npu_bo_destroy(&two);
}

static void *map_at(int fd, size_t size, __u64 offset)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
}

TEST_F(mem, mmap_lengths)
{
	struct npu_bo bo;
	__u64 offset;
	void *map;

	ASSERT_EQ(0, npu_bo_create(&bo, self->fd, 2 * 4096, NPU_DATA));
	ASSERT_EQ(0, npu_map_offset(self->fd, bo.handle, &offset));

	map = map_at(self->fd, 1, offset);
	EXPECT_NE(MAP_FAILED, map);
	munmap(map, 1);
	map = map_at(self->fd, 2 * 4096, offset);
	EXPECT_NE(MAP_FAILED, map);
	munmap(map, 2 * 4096);

	EXPECT_EQ(MAP_FAILED, map_at(self->fd, 2 * 4096 + 1, offset));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(MAP_FAILED, map_at(self->fd, 1024 * 4096, offset));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(MAP_FAILED, map_at(self->fd, 1UL << 31, offset));
	npu_bo_destroy(&bo);
}

TEST_F(mem, mmap_offsets)
{
	struct npu_bo bo;
	__u64 offset;
	__u32 *map;

	ASSERT_EQ(0, npu_bo_create(&bo, self->fd, 2 * 4096, NPU_DATA));
	((__u32 *)bo.map)[0] = 0x11111111;
	((__u32 *)bo.map)[1024] = 0x22222222;
	ASSERT_EQ(0, npu_map_offset(self->fd, bo.handle, &offset));

	/* Inside the buffer: refused, or a view of this very buffer. */
	map = map_at(self->fd, 4096, offset + 4096);
	if (map != MAP_FAILED) {
		EXPECT_TRUE(*map == 0x11111111 || *map == 0x22222222);
		munmap(map, 4096);
	}
	/* At and over the end, and where nothing was ever. */
	EXPECT_EQ(MAP_FAILED, map_at(self->fd, 2 * 4096, offset + 4096));
	EXPECT_EQ(MAP_FAILED, map_at(self->fd, 4096, offset + 2 * 4096));
	EXPECT_EQ(MAP_FAILED, map_at(self->fd, 4096, 0));
	EXPECT_EQ(MAP_FAILED, map_at(self->fd, 4096, 4096));
	EXPECT_EQ(MAP_FAILED, map_at(self->fd, 4096, 1ULL << 40));
	npu_bo_destroy(&bo);
	EXPECT_EQ(MAP_FAILED, map_at(self->fd, 4096, offset));
}

/* An offset is good on the file that asked for it only. */
TEST_F(mem, mmap_of_another_files_buffer)
{
	int other = npu_open();
	struct npu_bo bo;
	__u64 offset;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, npu_bo_create(&bo, other, 4096, NPU_DATA));
	ASSERT_EQ(0, npu_map_offset(other, bo.handle, &offset));
	EXPECT_EQ(MAP_FAILED, map_at(self->fd, 4096, offset));
	npu_bo_destroy(&bo);
	close(other);
}

TEST_F(mem, destroy_unknown_handle)
{
	static const __u32 handles[] = { 0, 1, 99, 0x80000000, 0xffffffff };
	struct npu_bo bo;
	unsigned int i;
	__u32 handle;

	for (i = 0; i < ARRAY_SIZE(handles); i++)
		EXPECT_EQ(-EINVAL, npu_destroy(self->fd, handles[i]));
	ASSERT_EQ(0, npu_bo_create(&bo, self->fd, 4096, NPU_DATA));
	handle = bo.handle;
	EXPECT_EQ(0, npu_destroy(self->fd, handle));
	EXPECT_EQ(-EINVAL, npu_destroy(self->fd, handle));
}

TEST_F(mem, destroy_ignores_token)
{
	struct npu_bo bo;
	struct rknpu_mem_destroy arg = { .obj_addr = 0xffffffc012345678, .reserved = ~0U };

	ASSERT_EQ(0, npu_bo_create(&bo, self->fd, 4096, NPU_DATA));
	arg.handle = bo.handle;
	EXPECT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_RKNPU_MEM_DESTROY, &arg));
}

/* GEM_CLOSE of the DRM core is the same thing by another name. */
TEST_F(mem, gem_close)
{
	struct drm_gem_close close_arg = {};
	struct npu_bo bo;

	ASSERT_EQ(0, npu_bo_create(&bo, self->fd, 4096, NPU_DATA));
	close_arg.handle = bo.handle;
	EXPECT_EQ(0, ioctl(self->fd, DRM_IOCTL_GEM_CLOSE, &close_arg));
	EXPECT_EQ(-EINVAL, npu_destroy(self->fd, bo.handle));
	EXPECT_EQ(-EINVAL, npu_sync(self->fd, bo.token, RKNPU_MEM_SYNC_TO_DEVICE, 0, 4096));
}

TEST_F(mem, mapping_outlives_handle_and_file)
{
	int fd = npu_open();
	unsigned char *bytes;
	struct npu_bo bo;
	unsigned int i, wrong = 0;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, npu_bo_create(&bo, fd, MIB, NPU_DATA));
	bytes = bo.map;
	memset(bytes, 0x3c, MIB);
	EXPECT_EQ(0, npu_destroy(fd, bo.handle));
	for (i = 0; i < MIB; i++)
		wrong += bytes[i] != 0x3c;
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(0, close(fd));
	memset(bytes, 0x3d, MIB);
	for (i = 0; i < MIB; i++)
		wrong += bytes[i] != 0x3d;
	EXPECT_EQ(0, wrong);
	munmap(bytes, MIB);
}

TEST_F(mem, sync_ranges)
{
	static const struct {
		__u64 offset, size;
		int ret;
	} ranges[] = {
		{ 0, 0, 0 }, { 0, 1, 0 }, { 1, 1, 0 }, { 63, 2, 0 }, { 0, 680, 0 },
		{ 4095, 2, 0 }, { 12287, 1, 0 }, { 0, 12288, 0 },
		/* Cut to the buffer. */
		{ 12288, 1, 0 }, { 12287, 2, 0 }, { 0, 12289, 0 }, { 1ULL << 32, 4096, 0 },
		{ 0, ~0ULL, 0 }, { ~0ULL, 0, 0 }, { 4096, 1ULL << 63, 0 }, { ~0ULL - 1, 1, 0 },
		/* The end isn't a 64-bit number. */
		{ 1, ~0ULL, -EINVAL }, { ~0ULL, 1, -EINVAL }, { ~0ULL, ~0ULL, -EINVAL },
		{ 1ULL << 63, 1ULL << 63, -EINVAL }, { 4096, ~0ULL - 4095, -EINVAL },
	};
	static const __u32 kinds[] = { RKNPU_MEM_CACHEABLE, NPU_DATA };
	unsigned int i, kind;
	__u32 flags;

	for (kind = 0; kind < ARRAY_SIZE(kinds); kind++) {
		struct npu_bo bo;

		ASSERT_EQ(0, npu_bo_create(&bo, self->fd, 12288, kinds[kind]));
		for (i = 0; i < ARRAY_SIZE(ranges); i++) {
			for (flags = 1; flags <= RKNPU_MEM_SYNC_MASK; flags++) {
				EXPECT_EQ(ranges[i].ret, npu_sync(self->fd, bo.token, flags,
								  ranges[i].offset,
								  ranges[i].size)) {
					TH_LOG("range %u, flags %u", i, flags);
				}
			}
		}
		npu_bo_destroy(&bo);
	}
}

TEST_F(mem, sync_flags)
{
	struct npu_bo bo;

	ASSERT_EQ(0, npu_bo_create(&bo, self->fd, 4096, NPU_DATA));
	EXPECT_EQ(0, npu_sync(self->fd, bo.token, 0, 0, 4096));
	EXPECT_EQ(0, npu_sync(self->fd, bo.token, 4, 0, 4096));
	EXPECT_EQ(0, npu_sync(self->fd, bo.token, 0xffffffff, 0, 4096));
	npu_bo_destroy(&bo);
}

/* Data survive any maintenance of the cache. */
TEST_F(mem, sync_keeps_data)
{
	unsigned int i, wrong = 0;
	unsigned char *bytes;
	struct npu_bo bo;

	ASSERT_EQ(0, npu_bo_create(&bo, self->fd, 3 * 4096, NPU_DATA));
	bytes = bo.map;
	for (i = 0; i < 3 * 4096; i++)
		bytes[i] = i * 13;
	EXPECT_EQ(0, npu_sync(self->fd, bo.token, RKNPU_MEM_SYNC_TO_DEVICE, 0, 3 * 4096));
	EXPECT_EQ(0, npu_sync(self->fd, bo.token, RKNPU_MEM_SYNC_FROM_DEVICE, 0, 3 * 4096));
	EXPECT_EQ(0, npu_sync(self->fd, bo.token, RKNPU_MEM_SYNC_MASK, 100, 5000));
	for (i = 0; i < 3 * 4096; i++)
		wrong += bytes[i] != (unsigned char)(i * 13);
	EXPECT_EQ(0, wrong);
	npu_bo_destroy(&bo);
}

TEST_HARNESS_MAIN
