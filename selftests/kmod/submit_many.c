// SPDX-License-Identifier: GPL-2.0-only
/*
 * Everything at once for a while: 32 processes with jobs on all core masks, at all priorities and
 * in several address spaces, blocking and not. No job fails, every result is right, every process
 * gets on, and the hardware is never touched the wrong way.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <linux/sync_file.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_control.h"
#include "npu_matmul.h"
#include "npu_proc.h"

#define PROCESSES 32
#define DOMAINS 2
#define SECONDS 6
#define SECONDS_SLOW 120 /* where what goes wrong shows best */
#define ROWS 3

struct worker {
	unsigned int index;
	int result; /* pipe: number of jobs that ended well */
};

static int wait_for(int fence)
{
	struct pollfd poll_fd = { .fd = fence, .events = POLLIN };
	struct sync_file_info info = { 0 };
	int ret = 0;

	if (poll(&poll_fd, 1, 120000) != 1)
		ret = -ETIMEDOUT;
	else if (ioctl(fence, SYNC_IOC_FILE_INFO, &info))
		ret = -errno;
	else if (info.status != 1)
		ret = info.status;
	close(fence);
	return ret;
}

/* One random job of the rows that it needs: 0, its error, or -EBADMSG for wrong results */
static int random_job(struct npu_matmul *mm, __u32 domain)
{
	static const __u32 masks[] = { 0, 0, 0, 1, 2, 4, 3, 7 };
	bool blocking = rand() % 2;
	struct rknpu_submit job;
	unsigned int rows, row;
	__u32 mask;
	int ret;

	do {
		mask = masks[rand() % ARRAY_SIZE(masks)];
	} while (mask && !npu_mask_valid(mask));
	rows = mask == 7 ? 3 : mask == 3 ? 2 : 1;
	npu_matmul_poison(mm);
	npu_matmul_job(mm, &job, mask, 0, 1);
	for (row = 0; rows > 1 && row < rows; row++)
		job.subcore_task[(rows == 3 ? 2 : 0) + row] =
			(struct rknpu_subcore_task){ row, 1 };
	job.timeout = 60000;
	job.priority = rand() % 4 - 1;
	job.iommu_domain_id = domain;
	if (!blocking)
		job.flags |= RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_OUT;
	ret = npu_submit(mm->tasks.fd, &job);
	if (!ret && !blocking)
		ret = wait_for(job.fence_fd);
	if (ret)
		return ret;
	return npu_matmul_wrong(mm, 0, rows) ? -EBADMSG : 0;
}

static int work(void *arg)
{
	const struct worker *worker = arg;
	int fd = npu_open(), ret;
	struct npu_matmul mm[DOMAINS];
	unsigned int domains = npu_has_iommu(fd) ? DOMAINS : 1;
	unsigned int jobs = 0, i;
	long end;

	srand(worker->index);
	for (i = 0; i < domains; i++)
		if (npu_matmul_create_in(&mm[i], fd, i, ROWS, 64, 32, worker->index * DOMAINS + i))
			return 1;
	end = npu_now_ms() + (npu_kernel_is_slow() ? SECONDS_SLOW : SECONDS) * 1000;
	do {
		i = rand() % domains;
		ret = random_job(&mm[i], i);
		if (ret) {
			fprintf(stderr, "# process %u, job %u: %d\n", worker->index, jobs, ret);
			return 2;
		}
		jobs++;
	} while (npu_now_ms() < end);
	return write(worker->result, &jobs, sizeof(jobs)) == sizeof(jobs) ? 0 : 3;
}

FIXTURE(many)
{
};

FIXTURE_SETUP(many)
{
	npu_fault_none();
}

FIXTURE_TEARDOWN(many)
{
}

TEST_F_TIMEOUT(many, everything_at_once, 400)
{
	struct worker worker[PROCESSES];
	pid_t pid[PROCESSES];
	unsigned int i, jobs, total = 0, least = -1, most = 0;
	int result[2];
	char text[128];

	npu_fault_none();
	npu_ctl_clear(VNPU_CTL_CLEAR_RECORDS);
	ASSERT_EQ(0, pipe(result));
	for (i = 0; i < PROCESSES; i++) {
		worker[i] = (struct worker){ .index = i, .result = result[1] };
		pid[i] = npu_spawn(work, &worker[i]);
		ASSERT_LT(0, pid[i]);
	}
	for (i = 0; i < PROCESSES; i++)
		EXPECT_EQ(0, npu_join(pid[i], 300000));
	close(result[1]);
	for (i = 0; i < PROCESSES; i++) {
		ASSERT_EQ(sizeof(jobs), read(result[0], &jobs, sizeof(jobs)));
		total += jobs;
		least = jobs < least ? jobs : least;
		most = jobs > most ? jobs : most;
	}
	close(result[0]);
	TH_LOG("%u jobs, %u to %u for each process", total, least, most);
	EXPECT_EQ(0, npu_ctl_misuse(text, sizeof(text))) {
		TH_LOG("%s", text);
	}
}

TEST_HARNESS_MAIN
