// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where memory ends: the addresses of a domain, the memory of the machine, the quota of a process.
 * Each has an errno of its own, a refused call leaves nothing behind, and the accounts are exact.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_matmul.h"
#include "npu_proc.h"
#include "npu_usage.h"

#define PAGE 4096ULL
#define MIB (1024 * 1024ULL)
#define GIB (1024 * MIB)
/* All addresses of a domain: the first page is never given out. */
#define DOMAIN_SIZE (4 * GIB - PAGE)
#define UDMABUF_LIMIT "/sys/module/udmabuf/parameters/size_limit_mb"
#define QUOTA "/sys/module/rknpu/parameters/quota_mib"

static int write_number(const char *path, unsigned long long value)
{
	char text[24];
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int len = snprintf(text, sizeof(text), "%llu", value), ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, len) != len)
		ret = -errno;
	close(fd);
	return ret;
}

static int create_in(int fd, __s32 domain, __u64 size, __u32 *handle)
{
	struct rknpu_mem_create arg = {
		.size = size, .flags = NPU_DATA, .iommu_domain_id = domain,
	};
	int ret = npu_create(fd, &arg);

	/* No handle comes with a failure, or a second try would ask about another buffer. */
	if (ret && arg.handle)
		return -EBADE;
	*handle = arg.handle;
	return ret;
}

static int create(int fd, __u64 size, __u32 *handle)
{
	return create_in(fd, 0, size, handle);
}

FIXTURE(limits)
{
	int fd;
	struct npu_state before;
};

FIXTURE_SETUP(limits)
{
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, npu_good_job(self->fd, RKNPU_CORE_AUTO_MASK));
	ASSERT_EQ(0, write_number(QUOTA, 0));
	self->before = npu_state_at_rest(self->fd);
}

FIXTURE_TEARDOWN(limits)
{
	EXPECT_EQ(0, write_number(QUOTA, 0));
	EXPECT_TRUE(npu_state_returns(&self->before, self->fd));
	EXPECT_EQ(0, npu_good_job(self->fd, RKNPU_CORE_AUTO_MASK));
	close(self->fd);
}

/* The space of addresses is given back: more than all of it passes through here. */
TEST_F_TIMEOUT(limits, addresses_are_reused, 300)
{
	__u32 handle;
	unsigned int i;

	for (i = 0; i < DOMAIN_SIZE / (4 * MIB) + 80; i++) {
		ASSERT_EQ(0, create(self->fd, 4 * MIB, &handle)) {
			TH_LOG("buffer %u", i);
		}
		ASSERT_EQ(0, npu_destroy(self->fd, handle));
	}
}

/* Sizes that can't be, whatever memory there is: not a matter of memory. */
TEST_F(limits, sizes_that_no_domain_has)
{
	static const __u64 sizes[] = {
		0, DOMAIN_SIZE + 1, DOMAIN_SIZE + PAGE, 4 * GIB, 4 * GIB + 1, 8 * GIB, 1ULL << 40,
		1ULL << 44, (1ULL << 52) + PAGE, 1ULL << 63, ~0ULL - PAGE + 1, ~0ULL - 1, ~0ULL,
	};
	unsigned int i;
	__u32 handle;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		EXPECT_EQ(-EINVAL, create(self->fd, sizes[i], &handle)) {
			TH_LOG("size %llx", (unsigned long long)sizes[i]);
		}
	}
}

/* Possible sizes that the machine doesn't have. */
TEST_F(limits, more_than_the_machine_has)
{
	__u64 have = npu_meminfo("MemTotal") * 1024ULL, size;
	__u32 handle;

	for (size = have; size < DOMAIN_SIZE; size += 256 * MIB + 12345)
		EXPECT_EQ(-ENOMEM, create(self->fd, size, &handle));
	EXPECT_EQ(-ENOMEM, create(self->fd, DOMAIN_SIZE, &handle));
	EXPECT_EQ(-ENOMEM, create(self->fd, DOMAIN_SIZE - PAGE + 1, &handle));
}

/* Buffer after buffer until there is no memory: the others keep some, and all comes back. */
TEST_F_TIMEOUT(limits, memory_used_up, 120)
{
	/* Without an IOMMU a buffer is in one piece. */
	bool iommu = npu_has_iommu(self->fd);
	const __u64 size = iommu ? 64 * MIB : 4 * MIB;
	long total = npu_meminfo("MemTotal");
	__u32 handles[1024];
	unsigned int count = 0, i;
	int ret = 0;

	while (count < ARRAY_SIZE(handles)) {
		ret = create_in(self->fd, iommu ? count % RKNPU_MAX_IOMMU_DOMAIN_NUM : 0, size,
				&handles[count]);
		if (ret)
			break;
		count++;
	}
	EXPECT_EQ(-ENOMEM, ret);
	EXPECT_LT(0, count);
	EXPECT_LT(total / 32, npu_meminfo("MemAvailable"));
	EXPECT_EQ(self->before.own.bytes + (long long)(count * size), npu_usage_of(getpid()).bytes);
	/* Something small still fits. */
	EXPECT_EQ(0, npu_good_job(self->fd, RKNPU_CORE_AUTO_MASK));
	for (i = 0; i < count; i++)
		EXPECT_EQ(0, npu_destroy(self->fd, handles[i]));
}

/*
 * A dma-buf of any size on a little memory: a piece of 4 MiB, again and again, for as many bytes as
 * are wanted. The size is made of whole pages.
 */
static int repeated_memory(__u64 size)
{
	const __u64 piece = 4 * MIB;
	unsigned int count = (size + piece - 1) / piece, i;
	struct udmabuf_create_list *list;
	int dev, memfd, ret;

	ret = write_number(UDMABUF_LIMIT, 4096);
	if (ret)
		return ret;
	dev = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
	memfd = memfd_create("piece", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	list = calloc(1, sizeof(*list) + count * sizeof(list->list[0]));
	if (dev < 0 || memfd < 0 || !list || ftruncate(memfd, piece) ||
	    fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK))
		return -errno;
	list->flags = UDMABUF_FLAGS_CLOEXEC;
	list->count = count;
	for (i = 0; i < count; i++) {
		list->list[i].memfd = memfd;
		list->list[i].size = i + 1 < count ? piece : size - i * piece;
	}
	ret = ioctl(dev, UDMABUF_CREATE_LIST, list);
	if (ret < 0)
		ret = -errno;
	free(list);
	close(memfd);
	close(dev);
	return ret;
}

/* Imports it, into a domain. The handle is the only thing that stays. */
static int import_repeated(int fd, __u64 size, __s32 domain, struct rknpu_mem_create *arg)
{
	int dmabuf = repeated_memory(size), ret;

	if (dmabuf < 0)
		return dmabuf;
	*arg = (struct rknpu_mem_create) { .iommu_domain_id = domain };
	ret = npu_import(fd, dmabuf, &arg->handle);
	close(dmabuf);
	if (!ret)
		ret = npu_create(fd, arg);
	return ret;
}

static const char *why_not_repeated(int fd)
{
	struct utsname kernel;

	if (!npu_has_iommu(fd))
		return "no IOMMU: addresses are physical";
	/* It takes the list of its pages in one piece. */
	if (!uname(&kernel) && !strncmp(kernel.release, "6.1.", 4))
		return "udmabuf of Linux 6.1 has no buffers of 2 GiB";
	if (npu_kernel_is_slow())
		return "the debug kernel complains about memory that is mapped more than once";
	return NULL;
}

/* The largest buffer has all addresses of its domain. Then there is none left, but there. */
TEST_F_TIMEOUT(limits, domain_used_up_by_one_buffer, 300)
{
	const char *reason = why_not_repeated(self->fd);
	struct rknpu_mem_create arg;
	struct npu_state full;
	__u32 handle, other;
	long start = npu_now_ms();

	if (reason)
		SKIP(return, "%s", reason);
	ASSERT_EQ(0, import_repeated(self->fd, DOMAIN_SIZE, 3, &arg));
	printf("# imported and mapped in %ld ms\n", npu_now_ms() - start);
	EXPECT_EQ(DOMAIN_SIZE, arg.size);
	EXPECT_EQ(PAGE, arg.dma_addr);

	full = npu_state(self->fd);
	EXPECT_EQ(self->before.own.iova + (long long)DOMAIN_SIZE, full.own.iova);
	/* No addresses: one errno; no such size or domain: another; no memory: a third. */
	EXPECT_EQ(-EFAULT, create_in(self->fd, 3, 1, &handle));
	EXPECT_EQ(-EFAULT, create_in(self->fd, 3, 16 * MIB, &handle));
	EXPECT_EQ(-EINVAL, create_in(self->fd, 3, DOMAIN_SIZE + 1, &handle));
	EXPECT_EQ(-EINVAL, create_in(self->fd, RKNPU_MAX_IOMMU_DOMAIN_NUM, 1, &handle));
	EXPECT_EQ(-ENOMEM, create_in(self->fd, 3, DOMAIN_SIZE, &handle));
	self->before.dmabufs++;
	self->before.own.iova = full.own.iova;
	self->before.total.iova = full.total.iova;
	EXPECT_TRUE(npu_state_returns(&self->before, self->fd));

	/* The other domains have room. */
	ASSERT_EQ(0, create_in(self->fd, 2, 1, &other));
	EXPECT_EQ(0, npu_destroy(self->fd, other));
	EXPECT_EQ(0, npu_good_job(self->fd, RKNPU_CORE_AUTO_MASK));

	start = npu_now_ms();
	EXPECT_EQ(0, npu_destroy(self->fd, arg.handle));
	printf("# unmapped in %ld ms\n", npu_now_ms() - start);
	self->before.dmabufs--;
	self->before.own.iova -= DOMAIN_SIZE;
	self->before.total.iova -= DOMAIN_SIZE;
	ASSERT_EQ(0, create_in(self->fd, 3, 1, &handle));
	EXPECT_EQ(0, npu_destroy(self->fd, handle));
}

/* One page more than a domain has. */
TEST_F_TIMEOUT(limits, import_beyond_a_domain, 300)
{
	const char *reason = why_not_repeated(self->fd);
	__u32 handle;
	int dmabuf;

	if (reason)
		SKIP(return, "%s", reason);
	dmabuf = repeated_memory(4 * GIB);
	ASSERT_LE(0, dmabuf);
	EXPECT_EQ(-EINVAL, npu_import(self->fd, dmabuf, &handle));
	close(dmabuf);
}

/*
 * When nearly all addresses are taken, the last ones are as good as others, to the byte: jobs lie
 * at the very bottom then.
 */
TEST_F_TIMEOUT(limits, last_addresses, 300)
{
	const char *reason = why_not_repeated(self->fd);
	const unsigned int left = 32;
	struct rknpu_mem_create big;
	__u32 handles[32];
	unsigned int i;
	__u32 none;

	if (reason)
		SKIP(return, "%s", reason);
	/* In several pieces: the domain has other buffers of this process at its top. */
	ASSERT_EQ(0, import_repeated(self->fd, DOMAIN_SIZE - left * PAGE, 0, &big));
	EXPECT_EQ(0, npu_good_job(self->fd, RKNPU_CORE_AUTO_MASK));
	for (i = 0; i < left; i++) {
		struct rknpu_mem_create arg = { .size = 1, .flags = NPU_DATA };

		ASSERT_EQ(0, npu_create(self->fd, &arg));
		handles[i] = arg.handle;
		EXPECT_GE((left + 1) * PAGE, arg.dma_addr + arg.size);
		EXPECT_LE(PAGE, arg.dma_addr);
	}
	EXPECT_EQ(-EFAULT, create(self->fd, 1, &none));
	/* Two pages that are no neighbours are not room for two. */
	EXPECT_EQ(0, npu_destroy(self->fd, handles[3]));
	EXPECT_EQ(0, npu_destroy(self->fd, handles[5]));
	EXPECT_EQ(-EFAULT, create(self->fd, PAGE + 1, &none));
	EXPECT_EQ(0, npu_destroy(self->fd, handles[4]));
	ASSERT_EQ(0, create(self->fd, 3 * PAGE, &handles[4]));
	for (i = 0; i < left; i++) {
		if (i != 3 && i != 5)
			EXPECT_EQ(0, npu_destroy(self->fd, handles[i]));
	}
	EXPECT_EQ(0, npu_destroy(self->fd, big.handle));
}

TEST_F(limits, quota_to_the_byte)
{
	__u32 first, second, none;

	ASSERT_EQ(0, write_number(QUOTA, 2));
	/* All of it at once, and not a byte more. */
	EXPECT_EQ(-EDQUOT, create(self->fd, 2 * MIB + 1, &none));
	ASSERT_EQ(0, create(self->fd, 2 * MIB, &first));
	EXPECT_EQ(-EDQUOT, create(self->fd, 1, &none));
	EXPECT_EQ(0, npu_destroy(self->fd, first));
	/* In two parts; what is charged is whole pages. */
	ASSERT_EQ(0, create(self->fd, MIB + 1, &first));
	EXPECT_EQ(-EDQUOT, create(self->fd, MIB, &none));
	ASSERT_EQ(0, create(self->fd, MIB - PAGE, &second));
	EXPECT_EQ(-EDQUOT, create(self->fd, 1, &none));
	EXPECT_EQ(0, npu_destroy(self->fd, first));
	EXPECT_EQ(0, npu_destroy(self->fd, second));
}

/* A bad argument stays a bad argument, and more than the machine has is beyond the quota first. */
TEST_F(limits, quota_and_other_errors)
{
	__u32 none;

	ASSERT_EQ(0, write_number(QUOTA, 1));
	EXPECT_EQ(-EINVAL, create(self->fd, 0, &none));
	EXPECT_EQ(-EINVAL, create(self->fd, DOMAIN_SIZE + 1, &none));
	EXPECT_EQ(-EDQUOT, create(self->fd, DOMAIN_SIZE, &none));
	/* The largest quota is none, also where it is counted in bytes. */
	ASSERT_EQ(0, write_number(QUOTA, ~0UL));
	EXPECT_EQ(-ENOMEM, create(self->fd, DOMAIN_SIZE, &none));
	ASSERT_EQ(0, create(self->fd, PAGE, &none));
	EXPECT_EQ(0, npu_destroy(self->fd, none));
}

/* Less than what is in use takes nothing away; it only gives nothing more. */
TEST_F(limits, quota_changes)
{
	struct npu_bo bo;
	__u32 none;

	ASSERT_EQ(0, npu_bo_create(&bo, self->fd, 4 * MIB, NPU_DATA));
	ASSERT_EQ(0, write_number(QUOTA, 1));
	EXPECT_EQ(-EDQUOT, create(self->fd, 1, &none));
	memset(bo.map, 1, 4 * MIB);
	EXPECT_EQ(0, npu_bo_to_device(&bo));
	EXPECT_LE(0, npu_sync(self->fd, bo.token, RKNPU_MEM_SYNC_MASK, 0, 4 * MIB));
	ASSERT_EQ(0, write_number(QUOTA, 5));
	ASSERT_EQ(0, create(self->fd, MIB, &none));
	EXPECT_EQ(0, npu_destroy(self->fd, none));
	ASSERT_EQ(0, write_number(QUOTA, 0));
	ASSERT_EQ(0, create(self->fd, 16 * MIB, &none));
	EXPECT_EQ(0, npu_destroy(self->fd, none));
	npu_bo_destroy(&bo);
}

static int use_quota(void *arg)
{
	__u32 handle, none;
	int fd = npu_open();

	(void)arg;
	if (fd < 0 || create(fd, MIB, &handle))
		return 1;
	return create(fd, 1, &none) == -EDQUOT ? 0 : 2;
}

/* Each process has its own; two files of one process have one together. */
TEST_F(limits, quota_of_each_process)
{
	int second = npu_open();
	__u32 handle, none;

	ASSERT_LE(0, second);
	ASSERT_EQ(0, write_number(QUOTA, 1));
	ASSERT_EQ(0, create(self->fd, MIB, &handle));
	EXPECT_EQ(-EDQUOT, create(second, 1, &none));
	EXPECT_EQ(0, npu_join(npu_spawn(use_quota, NULL), 10000));
	EXPECT_EQ(0, npu_destroy(self->fd, handle));
	ASSERT_EQ(0, create(second, MIB, &handle));
	EXPECT_EQ(-EDQUOT, create(self->fd, 1, &none));
	close(second);
}

/* Charged is who makes a buffer: not who imports it, and as long as anybody has it. */
TEST_F(limits, quota_and_sharing)
{
	struct dma_heap_allocation_data heap_arg = { .len = 4 * MIB, .fd_flags = O_RDWR };
	int heap = open("/dev/dma_heap/system", O_RDONLY | O_CLOEXEC), second = npu_open(), dmabuf;
	__u32 handle, import, none;

	ASSERT_LE(0, heap);
	ASSERT_LE(0, second);
	ASSERT_EQ(0, ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &heap_arg));
	close(heap);
	ASSERT_EQ(0, write_number(QUOTA, 1));
	if (npu_has_iommu(self->fd)) {
		ASSERT_EQ(0, npu_import(self->fd, heap_arg.fd, &import));
		EXPECT_EQ(0, npu_usage_of(getpid()).bytes);
		ASSERT_EQ(0, npu_destroy(self->fd, import));
	}
	close(heap_arg.fd);

	ASSERT_EQ(0, create(self->fd, MIB, &handle));
	dmabuf = npu_export(self->fd, handle);
	ASSERT_LE(0, dmabuf);
	ASSERT_EQ(0, npu_import(second, dmabuf, &import));
	EXPECT_EQ((long long)MIB, npu_usage_of(getpid()).bytes);
	EXPECT_EQ(0, npu_destroy(self->fd, handle));
	EXPECT_EQ(-EDQUOT, create(self->fd, 1, &none));
	EXPECT_EQ(0, npu_destroy(second, import));
	EXPECT_EQ(-EDQUOT, create(self->fd, 1, &none));
	close(dmabuf);
	ASSERT_EQ(0, create(self->fd, MIB, &handle));
	EXPECT_EQ(0, npu_destroy(self->fd, handle));
	close(second);
}

/* The text of "clients" when this process is the only one with these figures. */
static void expect_clients(struct __test_metadata *_metadata, struct npu_usage usage)
{
	char text[4096], expected[256] = NPU_USAGE_HEAD;

	npu_usage_line(expected + strlen(expected), getpid(), usage);
	npu_usage_line(expected + strlen(expected), 0, usage);
	npu_usage_text(text, sizeof(text));
	EXPECT_STREQ(expected, text);
}

TEST_F(limits, clients_text)
{
	struct npu_usage usage = {};
	struct rknpu_mem_create sram = {
		.size = 3 * PAGE, .sram_size = PAGE,
		.flags = NPU_DATA | RKNPU_MEM_TRY_ALLOC_SRAM,
	};
	bool iommu = npu_has_iommu(self->fd);
	__u32 first, second;
	int other;

	/* One process, nothing in use; a second file makes no second line. */
	expect_clients(_metadata, usage);
	other = npu_open();
	ASSERT_LE(0, other);
	expect_clients(_metadata, usage);

	ASSERT_EQ(0, create(self->fd, 1, &first));
	usage = (struct npu_usage) { PAGE, 1, 0, PAGE, 0 };
	expect_clients(_metadata, usage);
	ASSERT_EQ(0, create_in(other, iommu ? 5 : 0, MIB + 1, &second));
	usage = (struct npu_usage) { MIB + 2 * PAGE, 2, 0, MIB + 2 * PAGE, 0 };
	expect_clients(_metadata, usage);
	ASSERT_EQ(0, npu_create(self->fd, &sram));
	usage.bytes += 3 * PAGE;
	usage.iova += 3 * PAGE;
	usage.objects++;
	usage.sram += sram.sram_size;
	EXPECT_EQ(iommu && npu_tree_has_sram() ? PAGE : 0, sram.sram_size);
	expect_clients(_metadata, usage);

	EXPECT_EQ(0, npu_destroy(self->fd, sram.handle));
	EXPECT_EQ(0, npu_destroy(self->fd, first));
	usage = (struct npu_usage) { MIB + PAGE, 1, 0, MIB + PAGE, 0 };
	expect_clients(_metadata, usage);
	close(other);
	expect_clients(_metadata, (struct npu_usage) {});
}

TEST_HARNESS_MAIN
