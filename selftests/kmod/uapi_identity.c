// SPDX-License-Identifier: GPL-2.0-only
/* What the driver says it is: nodes, DRM version, and the answers of DRM_IOCTL_RKNPU_ACTION. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_devfreq.h"
#include "npu_proc.h"

#define DRM_MAJOR 226
#define UNTOUCHED 0xdecafbad
#define NOBODY 65534

/* NPU supply of the virtual board */
#define BOARD_MICROVOLT 850000

FIXTURE(node)
{
	int fd;
};

FIXTURE_VARIANT(node)
{
	enum npu_node kind;
};

FIXTURE_VARIANT_ADD(node, primary)
{
	.kind = NPU_PRIMARY,
};

FIXTURE_VARIANT_ADD(node, render)
{
	.kind = NPU_RENDER,
};

FIXTURE_SETUP(node)
{
	self->fd = npu_open_node(variant->kind);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(node)
{
	close(self->fd);
}

TEST_F(node, version)
{
	char name[64] = "", date[64] = "", desc[64] = "";
	struct drm_version version = {
		.name_len = sizeof(name) - 1, .name = name,
		.date_len = sizeof(date) - 1, .date = date,
		.desc_len = sizeof(desc) - 1, .desc = desc,
	};

	ASSERT_EQ(0, ioctl(self->fd, DRM_IOCTL_VERSION, &version));
	EXPECT_STREQ("rknpu", name);
	EXPECT_STREQ("RKNPU driver", desc);
	EXPECT_EQ(0, version.version_major);
	EXPECT_EQ(9, version.version_minor);
	EXPECT_EQ(8, version.version_patchlevel);
	/* Newer kernels no longer ask the driver and say 0 for all of them. */
	EXPECT_TRUE(!strcmp("20240828", date) || !strcmp("0", date)) {
		TH_LOG("date '%s'", date);
	}
}

TEST_F(node, device_number)
{
	struct stat st;

	ASSERT_EQ(0, fstat(self->fd, &st));
	EXPECT_TRUE(S_ISCHR(st.st_mode));
	EXPECT_EQ(DRM_MAJOR, major(st.st_rdev));
	EXPECT_EQ(variant->kind == NPU_RENDER ? 128 : 0, minor(st.st_rdev) & ~63U);
}

/* On the primary node the first opener is the master; the others can do as much. */
TEST_F(node, second_open)
{
	struct npu_bo bo;
	char path[64];
	__u32 value = 0;
	int fd;

	ASSERT_EQ(0, npu_node_path(self->fd, path, sizeof(path)));
	fd = open(path, O_RDWR);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, npu_action(fd, RKNPU_GET_DRV_VERSION, &value));
	EXPECT_EQ(908, value);
	EXPECT_EQ(0, npu_bo_create(&bo, fd, 4096, NPU_DATA));
	npu_bo_destroy(&bo);
	close(fd);
}

/* Expected: the return value, and the value that comes back. */
struct answer {
	__u32 id;
	int ret;
	__u32 value;
};

#define ANY_VALUE 0xa11a11

static void expect_answer(struct __test_metadata *_metadata, int fd, const struct answer *answer)
{
	__u32 value = UNTOUCHED;
	int ret = npu_action(fd, answer->id, &value);

	EXPECT_EQ(answer->ret, ret) {
		TH_LOG("action %u", answer->id);
	}
	if (answer->value != ANY_VALUE) {
		EXPECT_EQ(answer->value, value) {
			TH_LOG("action %u", answer->id);
		}
	}
}

TEST_F(node, actions_that_answer)
{
	/* The clock of some boards follows the load: not now. */
	bool scaled = !npu_devfreq_write("governor", "powersave");
	const struct answer answers[] = {
		{ RKNPU_GET_HW_VERSION, 0, npu_soc()->hw_version },
		{ RKNPU_GET_DRV_VERSION, 0, 908 },
		{ RKNPU_GET_FREQ, 0, scaled ? npu_devfreq_rate("cur_freq") : npu_soc()->hz },
		/* Some boards don't say what powers the NPU. */
		{ RKNPU_GET_VOLT, 0, npu_tree_has_supply() ? BOARD_MICROVOLT : 0 },
		{ RKNPU_GET_IOMMU_EN, 0, npu_tree_has_iommu() },
		{ RKNPU_GET_IOMMU_DOMAIN_ID, 0, 0 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(answers); i++)
		expect_answer(_metadata, self->fd, &answers[i]);
	if (scaled)
		EXPECT_EQ(0, npu_devfreq_unpin());
}

TEST_F(node, actions_refused)
{
	static const __u32 refused[] = {
		RKNPU_SET_FREQ, RKNPU_SET_VOLT, RKNPU_POWER_ON, RKNPU_POWER_OFF,
		26, 27, 63, 0x100, 0x1000, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(refused); i++) {
		struct answer answer = { refused[i], -EINVAL, ANY_VALUE };

		expect_answer(_metadata, self->fd, &answer);
	}
}

TEST_F(node, bandwidth_registers_are_absent)
{
	static const __u32 refused[] = {
		RKNPU_GET_BW_PRIORITY, RKNPU_SET_BW_PRIORITY, RKNPU_GET_BW_EXPECT,
		RKNPU_SET_BW_EXPECT, RKNPU_GET_BW_TW, RKNPU_SET_BW_TW,
	};
	unsigned int i;

	if (npu_soc()->bandwidth)
		SKIP(return, "the SoC has bandwidth registers");
	for (i = 0; i < ARRAY_SIZE(refused); i++) {
		struct answer answer = { refused[i], -EINVAL, ANY_VALUE };

		expect_answer(_metadata, self->fd, &answer);
	}
}

/* On SoCs without traffic counters the calls succeed and leave the value alone. */
TEST_F(node, traffic_counters_are_absent)
{
	static const struct answer answers[] = {
		{ RKNPU_ACT_CLR_TOTAL_RW_AMOUNT, 0, UNTOUCHED },
		{ RKNPU_GET_DT_WR_AMOUNT, 0, UNTOUCHED },
		{ RKNPU_GET_DT_RD_AMOUNT, 0, UNTOUCHED },
		{ RKNPU_GET_WT_RD_AMOUNT, 0, UNTOUCHED },
		{ RKNPU_GET_TOTAL_RW_AMOUNT, 0, UNTOUCHED },
	};
	unsigned int i;

	if (npu_soc()->counters)
		SKIP(return, "the SoC has traffic counters");
	for (i = 0; i < ARRAY_SIZE(answers); i++)
		expect_answer(_metadata, self->fd, &answers[i]);
}

TEST_F(node, sram_sizes)
{
	__u32 total = UNTOUCHED, avail = UNTOUCHED;

	EXPECT_EQ(0, npu_action(self->fd, RKNPU_GET_TOTAL_SRAM_SIZE, &total));
	EXPECT_EQ(0, npu_action(self->fd, RKNPU_GET_FREE_SRAM_SIZE, &avail));
	EXPECT_NE(UNTOUCHED, total);
	EXPECT_LE(avail, total);
	EXPECT_EQ(0, total % 4096);
	EXPECT_EQ(0, avail % 4096);
}

TEST_F(node, reset_is_accepted)
{
	__u32 value = 0;

	EXPECT_EQ(0, npu_action(self->fd, RKNPU_ACT_RESET, &value));
	EXPECT_EQ(0, npu_action(self->fd, RKNPU_GET_HW_VERSION, &value));
	EXPECT_EQ(npu_soc()->hw_version, value);
}

TEST_F(node, domain_choice)
{
	static const __s32 bad[] = { 16, 17, -1, -16, 255, 0x10000, INT32_MAX, INT32_MIN };
	__u32 value = 0;
	unsigned int i;

	EXPECT_EQ(0, npu_action(self->fd, RKNPU_SET_IOMMU_DOMAIN_ID, &value));
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		value = bad[i];
		EXPECT_EQ(-EINVAL, npu_action(self->fd, RKNPU_SET_IOMMU_DOMAIN_ID, &value)) {
			TH_LOG("domain %d", bad[i]);
		}
	}
	value = UNTOUCHED;
	EXPECT_EQ(0, npu_action(self->fd, RKNPU_GET_IOMMU_DOMAIN_ID, &value));
	EXPECT_EQ(0, value);
}

/* The runtime asks for -19 at its start: without the right to it that must succeed all the same. */
TEST_F(node, nice_with_rights)
{
	__u32 value = -19;

	ASSERT_EQ(0, geteuid());
	EXPECT_EQ(0, npu_action(self->fd, RKNPU_SET_PROC_NICE, &value));
	EXPECT_EQ(-19, getpriority(PRIO_PROCESS, 0));
}

TEST_F(node, nice_without_rights)
{
	__u32 value = -19;
	int before = getpriority(PRIO_PROCESS, 0);

	ASSERT_EQ(0, setresuid(NOBODY, NOBODY, NOBODY));
	EXPECT_EQ(0, npu_action(self->fd, RKNPU_SET_PROC_NICE, &value));
	EXPECT_EQ(before, getpriority(PRIO_PROCESS, 0));
	value = before + 3;
	EXPECT_EQ(0, npu_action(self->fd, RKNPU_SET_PROC_NICE, &value));
	EXPECT_EQ(before + 3, getpriority(PRIO_PROCESS, 0));
}

TEST_F(node, nice_out_of_range)
{
	static const __s32 values[] = { -21, 20, 1000, INT32_MAX, INT32_MIN };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(values); i++) {
		__u32 value = values[i];
		int nice;

		EXPECT_EQ(0, npu_action(self->fd, RKNPU_SET_PROC_NICE, &value));
		errno = 0;
		nice = getpriority(PRIO_PROCESS, 0);
		EXPECT_EQ(0, errno);
		EXPECT_LE(-20, nice);
		EXPECT_GE(19, nice);
	}
}

/* Numbers that the driver doesn't have, and the requests of the vendor's other variant. */
TEST_F(node, unknown_requests)
{
	char arg[256] = {};
	unsigned int nr;

	for (nr = 0x06; nr < 0x10; nr++) {
		unsigned long request = DRM_IOWR(DRM_COMMAND_BASE + nr, char[8]);

		EXPECT_EQ(-EINVAL, npu_ioctl(self->fd, request, arg)) {
			TH_LOG("number %#x", nr);
		}
	}
	for (nr = 0; nr < 6; nr++) {
		EXPECT_EQ(-ENOTTY, npu_ioctl(self->fd, _IOWR('r', nr, char[48]), arg)) {
			TH_LOG("number %#x", nr);
		}
	}
}

TEST_F(node, bad_argument_pointers)
{
	static const unsigned long requests[] = {
		DRM_IOCTL_RKNPU_ACTION, DRM_IOCTL_RKNPU_SUBMIT, DRM_IOCTL_RKNPU_MEM_CREATE,
		DRM_IOCTL_RKNPU_MEM_MAP, DRM_IOCTL_RKNPU_MEM_DESTROY, DRM_IOCTL_RKNPU_MEM_SYNC,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(requests); i++) {
		EXPECT_EQ(-EFAULT, npu_ioctl(self->fd, requests[i], NULL));
		EXPECT_EQ(-EFAULT, npu_ioctl(self->fd, requests[i], (void *)0xffffff8000000000UL));
	}
}

/* None of the ioctls needs authentication or rights beyond an open file. */
TEST_F(node, works_without_privileges)
{
	struct npu_bo bo;
	__u32 value = 0;

	ASSERT_EQ(0, setresgid(NOBODY, NOBODY, NOBODY));
	ASSERT_EQ(0, setresuid(NOBODY, NOBODY, NOBODY));
	EXPECT_EQ(0, npu_action(self->fd, RKNPU_GET_DRV_VERSION, &value));
	EXPECT_EQ(908, value);
	ASSERT_EQ(0, npu_bo_create(&bo, self->fd, 4096, NPU_DATA));
	EXPECT_EQ(0, npu_sync(self->fd, bo.token, RKNPU_MEM_SYNC_MASK, 0, 4096));
	EXPECT_EQ(0, npu_destroy(self->fd, bo.handle));
}

/* Directory of the NPU's device in sysfs, found from the number of a node. */
static int sysfs_device(int fd, char *real)
{
	char path[64];
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	snprintf(path, sizeof(path), "/sys/dev/char/%u:%u/device", major(st.st_rdev),
		 minor(st.st_rdev));
	return realpath(path, real) ? 0 : -errno;
}

TEST(both_nodes_are_of_one_device)
{
	char primary_dev[PATH_MAX], render_dev[PATH_MAX];
	int primary = npu_open_node(NPU_PRIMARY), render = npu_open_node(NPU_RENDER);

	ASSERT_LE(0, primary);
	ASSERT_LE(0, render);
	ASSERT_EQ(0, sysfs_device(primary, primary_dev));
	ASSERT_EQ(0, sysfs_device(render, render_dev));
	EXPECT_STREQ(primary_dev, render_dev);
	close(primary);
	close(render);
}

/* The runtime takes a primary node only if it has no bus id. */
TEST(unique_is_empty)
{
	char name[64] = "";
	struct drm_unique unique = { .unique_len = sizeof(name), .unique = name };
	int fd = npu_open_node(NPU_PRIMARY);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ioctl(fd, DRM_IOCTL_GET_UNIQUE, &unique));
	EXPECT_EQ(0, unique.unique_len);
	EXPECT_STREQ("", name);
	close(fd);
}

/* The runtime tries /dev/rknpu first and speaks another interface to it: it must not exist. */
TEST(no_misc_node)
{
	EXPECT_NE(0, access("/dev/rknpu", F_OK));
}

/* The address space that one file chooses is not another process's business. */
static int other_process_sees_domain_0(void *arg)
{
	int fd = npu_open();
	__u32 value = UNTOUCHED;

	(void)arg;
	return fd < 0 || npu_action(fd, RKNPU_GET_IOMMU_DOMAIN_ID, &value) || value != 0;
}

TEST(domain_of_another_process)
{
	int fd = npu_open();
	__u32 value = 3;

	ASSERT_LE(0, fd);
	npu_action(fd, RKNPU_SET_IOMMU_DOMAIN_ID, &value);
	EXPECT_EQ(0, npu_join(npu_spawn(other_process_sees_domain_0, NULL), 5000));
	close(fd);
}

TEST_HARNESS_MAIN
