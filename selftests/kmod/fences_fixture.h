/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What tests of fences work on: a timeline of foreign fences, two products, a job of the first one
 * on core 0, and two syncobjs without a fence. Afterwards a job runs, and nobody has misused the
 * NPU. For the one file of a program that includes it.
 */
#ifndef FENCES_FIXTURE_H
#define FENCES_FIXTURE_H

#include <unistd.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_control.h"
#include "npu_matmul.h"
#include "npu_sync.h"

FIXTURE(fences)
{
	int fd, timeline;
	struct npu_matmul mm, other;
	struct npu_async job;
	__u32 in, out;
};

FIXTURE_SETUP(fences)
{
	npu_fault_none();
	npu_ctl_clear(VNPU_CTL_CLEAR_RECORDS);
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
	self->timeline = npu_sw_open();
	ASSERT_LE(0, self->timeline);
	ASSERT_EQ(0, npu_matmul_create(&self->mm, self->fd, 4, 64, 32, 1));
	ASSERT_EQ(0, npu_matmul_create(&self->other, self->fd, 2, 64, 32, 2));
	npu_matmul_poison(&self->mm);
	npu_matmul_poison(&self->other);
	npu_async_init(&self->job, &self->mm, 1, 0, 4);
	self->in = npu_syncobj(self->fd, false);
	self->out = npu_syncobj(self->fd, false);
	ASSERT_NE(0, self->in);
	ASSERT_NE(0, self->out);
}

FIXTURE_TEARDOWN(fences)
{
	char text[128];

	npu_fault_none();
	EXPECT_EQ(0, npu_good_job(self->fd, 1));
	npu_matmul_destroy(&self->mm);
	npu_matmul_destroy(&self->other);
	close(self->timeline);
	close(self->fd);
	EXPECT_EQ(0, npu_ctl_misuse(text, sizeof(text))) {
		TH_LOG("%s", text);
	}
}

#endif
