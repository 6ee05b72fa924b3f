// SPDX-License-Identifier: GPL-2.0-only
/* Sharing buffers: dma-buf export and import, other exporters, and names (FLINK). */
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <linux/dma-buf.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_matmul.h"
#include "npu_proc.h"

#define MIB (1024 * 1024ULL)
#define PAGE 4096U

FIXTURE(prime)
{
	int fd;
	int other;
};

FIXTURE_SETUP(prime)
{
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
	self->other = npu_open();
	ASSERT_LE(0, self->other);
}

FIXTURE_TEARDOWN(prime)
{
	close(self->fd);
	close(self->other);
}

static int heap_alloc(size_t size)
{
	struct dma_heap_allocation_data arg = { .len = size, .fd_flags = O_RDWR | O_CLOEXEC };
	int heap = open("/dev/dma_heap/system", O_RDONLY | O_CLOEXEC);
	int ret;

	if (heap < 0)
		return -errno;
	ret = ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &arg) ? -errno : (int)arg.fd;
	close(heap);
	return ret;
}

/* A dma-buf of every second page of a memfd, last page first: no two of them are neighbours. */
static int udmabuf_of_scattered_pages(int memfd, unsigned int pages)
{
	struct udmabuf_create_list *list;
	int dev = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
	unsigned int i;
	int ret;

	if (dev < 0)
		return -errno;
	/* Pages that no other lies between may be neighbours in memory. */
	for (i = 0; i < pages * 2; i++)
		if (pwrite(memfd, "", 1, i * PAGE) != 1)
			return -errno;
	list = calloc(1, sizeof(*list) + pages * sizeof(list->list[0]));
	list->flags = UDMABUF_FLAGS_CLOEXEC;
	list->count = pages;
	for (i = 0; i < pages; i++) {
		list->list[i].memfd = memfd;
		list->list[i].offset = (__u64)(pages - 1 - i) * 2 * PAGE;
		list->list[i].size = PAGE;
	}
	ret = ioctl(dev, UDMABUF_CREATE_LIST, list);
	if (ret < 0)
		ret = -errno;
	free(list);
	close(dev);
	return ret;
}

static void cpu_access(int dmabuf, __u64 flags)
{
	struct dma_buf_sync sync = { .flags = flags };

	ioctl(dmabuf, DMA_BUF_IOCTL_SYNC, &sync);
}

/* Runs a matmul whose A and C lie in foreign buffers; a_map and c_map are the CPU's views. */
static int run_on_imports(int fd, const struct npu_bo *a, signed char *a_map, int a_buf,
			  const struct npu_bo *c, __s32 *c_map, int c_buf)
{
	struct npu_matmul mm;
	unsigned int row, i;
	int ret;

	ret = npu_matmul_create(&mm, fd, 64, 128, 64, 11);
	if (ret)
		return ret;
	for (row = 0; row < mm.m; row++) {
		npu_matmul_set(&mm, row, NPU_REG_FEATURE_ADDR, a->dma + row * mm.k);
		npu_matmul_set(&mm, row, NPU_REG_DST_ADDR, c->dma + row * mm.n * 4);
	}
	cpu_access(a_buf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_WRITE);
	memcpy(a_map, mm.a.map, mm.m * mm.k);
	cpu_access(a_buf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_WRITE);

	ret = npu_matmul_run(&mm, RKNPU_CORE0_MASK, 6000);
	/* The job wrote elsewhere, so the buffer of its own must be untouched. */
	if (ret == -EBADMSG && !npu_matmul_touched(&mm, 0, mm.m)) {
		cpu_access(c_buf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ);
		memcpy(mm.c.map, c_map, mm.m * mm.n * 4);
		cpu_access(c_buf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ);
		npu_bo_to_device(&mm.c);
		i = npu_matmul_wrong(&mm, 0, mm.m);
		ret = i ? -EBADMSG : 0;
	}
	npu_matmul_destroy(&mm);
	return ret;
}

TEST_F(prime, export)
{
	struct npu_bo bo;
	int dmabuf;
	char *map;

	ASSERT_EQ(0, npu_bo_create(&bo, self->fd, 5000, NPU_DATA));
	memset(bo.map, 0x42, 5000);
	dmabuf = npu_export(self->fd, bo.handle);
	ASSERT_LE(0, dmabuf);
	EXPECT_EQ(FD_CLOEXEC, fcntl(dmabuf, F_GETFD));
	EXPECT_EQ(8192, lseek(dmabuf, 0, SEEK_END));
	map = mmap(NULL, 5000, PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf, 0);
	ASSERT_NE(MAP_FAILED, map);
	cpu_access(dmabuf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW);
	EXPECT_EQ(0x42, map[0]);
	EXPECT_EQ(0x42, map[4999]);
	map[100] = 0x43;
	cpu_access(dmabuf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW);
	EXPECT_EQ(0x43, ((char *)bo.map)[100]);
	munmap(map, 5000);
	close(dmabuf);
	npu_bo_destroy(&bo);
}

TEST_F(prime, export_of_every_kind)
{
	static const __u32 kinds[] = { 0, 0x2, 0x4, 0x8, 0xa, 0x1, 0x32, 0x402, 0x403, 0x40b };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct npu_bo bo;
		int dmabuf;
		char *map;

		ASSERT_EQ(0, npu_bo_create(&bo, self->fd, 4096, kinds[i]));
		dmabuf = npu_export(self->fd, bo.handle);
		ASSERT_LE(0, dmabuf) {
			TH_LOG("flags %#x", kinds[i]);
		}
		*(char *)bo.map = 0x55;
		npu_bo_to_device(&bo);
		map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf, 0);
		ASSERT_NE(MAP_FAILED, map) {
			TH_LOG("flags %#x", kinds[i]);
		}
		EXPECT_EQ(0x55, *map);
		munmap(map, 4096);
		close(dmabuf);
		npu_bo_destroy(&bo);
	}
}

TEST_F(prime, export_unknown_handle)
{
	EXPECT_EQ(-ENOENT, npu_export(self->fd, 0));
	EXPECT_EQ(-ENOENT, npu_export(self->fd, 1234));
}

TEST_F(prime, import_of_what_is_no_dmabuf)
{
	int file = open("/proc/self/status", O_RDONLY);
	__u32 handle;

	ASSERT_LE(0, file);
	EXPECT_EQ(-EINVAL, npu_import(self->fd, file, &handle));
	EXPECT_EQ(-EBADF, npu_import(self->fd, 9999, &handle));
	EXPECT_EQ(-EBADF, npu_import(self->fd, -1, &handle));
	close(file);
}

/* In the exporting file the dma-buf is the buffer it was. */
TEST_F(prime, self_import)
{
	struct rknpu_mem_create query = {};
	struct npu_bo bo;
	int dmabuf;

	ASSERT_EQ(0, npu_bo_create(&bo, self->fd, 8192, NPU_DATA));
	dmabuf = npu_export(self->fd, bo.handle);
	ASSERT_LE(0, dmabuf);
	ASSERT_EQ(0, npu_import(self->fd, dmabuf, &query.handle));
	EXPECT_EQ(bo.handle, query.handle);
	ASSERT_EQ(0, npu_create(self->fd, &query));
	EXPECT_EQ(bo.token, query.obj_addr);
	EXPECT_EQ(bo.dma, query.dma_addr);
	close(dmabuf);
	npu_bo_destroy(&bo);
}

TEST_F(prime, import_by_another_file)
{
	struct npu_bo bo, import;
	int dmabuf;
	char *map;
	__u64 offset;

	ASSERT_EQ(0, npu_bo_create(&bo, self->fd, 8192, NPU_DATA));
	snprintf(bo.map, 4096, "from one file to the other");
	dmabuf = npu_export(self->fd, bo.handle);
	ASSERT_LE(0, dmabuf);
	ASSERT_EQ(0, npu_bo_import(&import, self->other, dmabuf));
	EXPECT_EQ(8192, import.size);
	EXPECT_NE(0, import.token);
	EXPECT_NE(0, import.dma);
	EXPECT_GE(1ULL << 32, import.dma + import.size);

	/* Both are buffers of this driver, so the importer can map it as well. */
	ASSERT_EQ(0, npu_map_offset(self->other, import.handle, &offset));
	map = mmap(NULL, 8192, PROT_READ, MAP_SHARED, self->other, offset);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_STREQ(bo.map, map);
	munmap(map, 8192);
	npu_bo_destroy(&import);
	close(dmabuf);
	npu_bo_destroy(&bo);
}

/* A token of the exporter doesn't become good in the importing file. */
TEST_F(prime, tokens_stay_apart)
{
	struct npu_bo bo, import;
	int dmabuf;

	ASSERT_EQ(0, npu_bo_create(&bo, self->fd, 8192, NPU_DATA));
	dmabuf = npu_export(self->fd, bo.handle);
	ASSERT_LE(0, dmabuf);
	EXPECT_EQ(-EINVAL, npu_sync(self->other, bo.token, RKNPU_MEM_SYNC_MASK, 0, 8192));
	ASSERT_EQ(0, npu_bo_import(&import, self->other, dmabuf));
	EXPECT_EQ(0, npu_sync(self->other, import.token, RKNPU_MEM_SYNC_MASK, 0, 8192));
	npu_bo_destroy(&import);
	EXPECT_EQ(-EINVAL, npu_sync(self->other, bo.token, RKNPU_MEM_SYNC_MASK, 0, 8192));
	close(dmabuf);
	npu_bo_destroy(&bo);
}

TEST_F(prime, export_outlives_file)
{
	int fd = npu_open(), dmabuf;
	struct npu_bo bo, import;
	char *map;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, npu_bo_create(&bo, fd, MIB, NPU_DATA));
	memset(bo.map, 0x77, MIB);
	dmabuf = npu_export(fd, bo.handle);
	ASSERT_LE(0, dmabuf);
	npu_bo_destroy(&bo);
	close(fd);

	ASSERT_EQ(0, npu_bo_import(&import, self->fd, dmabuf));
	map = mmap(NULL, MIB, PROT_READ, MAP_SHARED, dmabuf, 0);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(0x77, map[0]);
	EXPECT_EQ(0x77, map[MIB - 1]);
	munmap(map, MIB);
	npu_bo_destroy(&import);
	close(dmabuf);
}

TEST_F(prime, repeated_import_is_one_buffer)
{
	int dmabuf = heap_alloc(64 * 1024);
	struct rknpu_mem_create first = {}, second = {};

	ASSERT_LE(0, dmabuf);
	ASSERT_EQ(0, npu_import(self->fd, dmabuf, &first.handle));
	ASSERT_EQ(0, npu_import(self->fd, dmabuf, &second.handle));
	EXPECT_EQ(first.handle, second.handle);
	ASSERT_EQ(0, npu_create(self->fd, &first));
	ASSERT_EQ(0, npu_create(self->fd, &second));
	EXPECT_EQ(first.dma_addr, second.dma_addr);
	EXPECT_EQ(first.obj_addr, second.obj_addr);
	EXPECT_EQ(0, npu_destroy(self->fd, first.handle));
	close(dmabuf);
}

TEST_F(prime, import_from_system_heap)
{
	/* The heap gives runs of up to 1 MiB. */
	const __u64 size = npu_has_iommu(self->fd) ? MIB + 4096 : 64 * 1024;
	int dmabuf = heap_alloc(size);
	struct npu_bo import;
	__u64 offset;

	ASSERT_LE(0, dmabuf);
	ASSERT_EQ(0, npu_bo_import(&import, self->fd, dmabuf));
	EXPECT_EQ(size, import.size);
	EXPECT_NE(0, import.token);
	EXPECT_NE(0, import.dma);
	EXPECT_EQ(0, import.dma % 4096);
	EXPECT_GE(1ULL << 32, import.dma + import.size);
	/* Mapping is a matter of the exporter. */
	EXPECT_EQ(-EINVAL, npu_map_offset(self->fd, import.handle, &offset));
	/* MEM_SYNC works for every kind of buffer. */
	EXPECT_EQ(0, npu_sync(self->fd, import.token, RKNPU_MEM_SYNC_MASK, 10, 5000));
	npu_bo_destroy(&import);
	close(dmabuf);
}

TEST_F(prime, job_on_system_heap)
{
	int a_buf = heap_alloc(64 * 1024), c_buf = heap_alloc(64 * 1024);
	struct npu_bo a, c;
	void *a_map, *c_map;

	ASSERT_LE(0, a_buf);
	ASSERT_LE(0, c_buf);
	ASSERT_EQ(0, npu_bo_import(&a, self->fd, a_buf));
	ASSERT_EQ(0, npu_bo_import(&c, self->fd, c_buf));
	a_map = mmap(NULL, 64 * 1024, PROT_READ | PROT_WRITE, MAP_SHARED, a_buf, 0);
	c_map = mmap(NULL, 64 * 1024, PROT_READ | PROT_WRITE, MAP_SHARED, c_buf, 0);
	ASSERT_NE(MAP_FAILED, a_map);
	ASSERT_NE(MAP_FAILED, c_map);
	EXPECT_EQ(0, run_on_imports(self->fd, &a, a_map, a_buf, &c, c_map, c_buf));
	npu_bo_destroy(&a);
	npu_bo_destroy(&c);
	close(a_buf);
	close(c_buf);
}

/* Without an IOMMU the NPU can't see scattered memory as one range: refused, nothing is left. */
static void expect_refused(struct __test_metadata *_metadata, int fd, int dmabuf)
{
	struct rknpu_mem_create query = {};
	unsigned int i;

	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, npu_import(fd, dmabuf, &query.handle));
		EXPECT_EQ(-EINVAL, npu_create(fd, &query));
		EXPECT_EQ(0, query.dma_addr);
		EXPECT_EQ(0, npu_destroy(fd, query.handle));
	}
}

/* The NPU must see all pages in order, not the neighbours of the first. */
TEST_F(prime, job_on_scattered_udmabuf)
{
	const unsigned int a_pages = 2, c_pages = 4;
	int memfd = memfd_create("npu", MFD_ALLOW_SEALING | MFD_CLOEXEC), a_buf, c_buf;
	struct npu_bo a, c;
	void *a_map, *c_map;
	char *pages;
	unsigned int i, spilt = 0;

	ASSERT_LE(0, memfd);
	ASSERT_EQ(0, ftruncate(memfd, c_pages * 2 * PAGE));
	ASSERT_EQ(0, fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK));
	c_buf = udmabuf_of_scattered_pages(memfd, c_pages);
	ASSERT_LE(0, c_buf);
	if (!npu_has_iommu(self->fd)) {
		expect_refused(_metadata, self->fd, c_buf);
		close(c_buf);
		close(memfd);
		return;
	}
	a_buf = heap_alloc(a_pages * PAGE);
	ASSERT_LE(0, a_buf);
	ASSERT_EQ(0, npu_bo_import(&a, self->fd, a_buf));
	ASSERT_EQ(0, npu_bo_import(&c, self->fd, c_buf));
	EXPECT_EQ(c_pages * PAGE, c.size);
	a_map = mmap(NULL, a_pages * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, a_buf, 0);
	c_map = mmap(NULL, c_pages * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, c_buf, 0);
	ASSERT_NE(MAP_FAILED, a_map);
	ASSERT_NE(MAP_FAILED, c_map);
	EXPECT_EQ(0, run_on_imports(self->fd, &a, a_map, a_buf, &c, c_map, c_buf));

	/* The pages between those of the udmabuf belong to nobody's job. */
	pages = mmap(NULL, c_pages * 2 * PAGE, PROT_READ, MAP_SHARED, memfd, 0);
	ASSERT_NE(MAP_FAILED, pages);
	for (i = 0; i < c_pages * 2 * PAGE; i++)
		spilt += (i / PAGE) % 2 && pages[i];
	EXPECT_EQ(0, spilt);
	npu_bo_destroy(&a);
	npu_bo_destroy(&c);
	close(a_buf);
	close(c_buf);
	close(memfd);
}

/* Two files of a process share its address space: giving up one import leaves the other. */
TEST_F(prime, imports_in_two_files_of_one_process)
{
	int a_buf = heap_alloc(64 * 1024), c_buf = heap_alloc(64 * 1024);
	struct npu_bo one, two, c;
	void *a_map, *c_map;

	ASSERT_LE(0, a_buf);
	ASSERT_LE(0, c_buf);
	ASSERT_EQ(0, npu_bo_import(&one, self->fd, a_buf));
	ASSERT_EQ(0, npu_bo_import(&two, self->other, a_buf));
	ASSERT_EQ(0, npu_bo_import(&c, self->other, c_buf));
	npu_bo_destroy(&one);
	EXPECT_EQ(0, npu_sync(self->other, two.token, RKNPU_MEM_SYNC_MASK, 0, 64 * 1024));
	a_map = mmap(NULL, 64 * 1024, PROT_READ | PROT_WRITE, MAP_SHARED, a_buf, 0);
	c_map = mmap(NULL, 64 * 1024, PROT_READ | PROT_WRITE, MAP_SHARED, c_buf, 0);
	ASSERT_NE(MAP_FAILED, a_map);
	ASSERT_NE(MAP_FAILED, c_map);
	EXPECT_EQ(0, run_on_imports(self->other, &two, a_map, a_buf, &c, c_map, c_buf));
	npu_bo_destroy(&two);
	npu_bo_destroy(&c);
	close(a_buf);
	close(c_buf);
}

/* One buffer of this driver in two files: it keeps its address until the last has given it up. */
TEST_F(prime, exporter_gives_up_first)
{
	struct npu_bo a, a_import, c, c_import;
	int a_buf, c_buf;

	ASSERT_EQ(0, npu_bo_create(&a, self->fd, 64 * 1024, NPU_DATA));
	ASSERT_EQ(0, npu_bo_create(&c, self->fd, 64 * 1024, NPU_DATA));
	a_buf = npu_export(self->fd, a.handle);
	c_buf = npu_export(self->fd, c.handle);
	ASSERT_LE(0, a_buf);
	ASSERT_LE(0, c_buf);
	ASSERT_EQ(0, npu_bo_import(&a_import, self->other, a_buf));
	ASSERT_EQ(0, npu_bo_import(&c_import, self->other, c_buf));
	EXPECT_EQ(0, npu_destroy(self->fd, a.handle));
	EXPECT_EQ(0, npu_destroy(self->fd, c.handle));
	EXPECT_EQ(0, run_on_imports(self->other, &a_import, a.map, a_buf, &c_import, c.map,
				    c_buf));
	npu_bo_destroy(&a_import);
	npu_bo_destroy(&c_import);
	close(a_buf);
	close(c_buf);
}

TEST_F_TIMEOUT(prime, imports_are_given_back, 400)
{
	unsigned int i;
	long before;

	for (i = 0; i < 200; i++) {
		int dmabuf = heap_alloc(MIB);
		struct npu_bo import;

		ASSERT_LE(0, dmabuf);
		ASSERT_EQ(0, npu_bo_import(&import, self->fd, dmabuf)) {
			TH_LOG("round %u", i);
		}
		npu_bo_destroy(&import);
		close(dmabuf);
		if (i == 20)
			before = npu_used_memory();
	}
	EXPECT_GT(before + 8 * 1024, npu_used_memory());
}

/* The runtime names every buffer once; it works on the primary node, as its master. */
TEST(flink)
{
	int fd = npu_open_node(NPU_PRIMARY);
	struct drm_gem_flink flink = {};
	struct drm_gem_open opened = {};
	struct rknpu_mem_create query = {};
	struct npu_bo bo;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, npu_bo_create(&bo, fd, 4096, NPU_DATA));
	flink.handle = bo.handle;
	ASSERT_EQ(0, ioctl(fd, DRM_IOCTL_GEM_FLINK, &flink));
	EXPECT_NE(0, flink.name);
	opened.name = flink.name;
	ASSERT_EQ(0, ioctl(fd, DRM_IOCTL_GEM_OPEN, &opened));
	EXPECT_EQ(4096, opened.size);
	query.handle = opened.handle;
	ASSERT_EQ(0, npu_create(fd, &query));
	EXPECT_EQ(bo.size, query.size);
	npu_bo_destroy(&bo);
	close(fd);
}

TEST_HARNESS_MAIN
