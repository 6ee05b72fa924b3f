/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Jobs recorded from the vendor's runtime, with the results that a right NPU leaves in memory. A
 * file is read once, then its buffers are allocated and its addresses replaced by those that the
 * driver returned.
 */
#ifndef NPU_VECTOR_H
#define NPU_VECTOR_H

#include "npu_client.h"

#define NPU_VECTOR_BUFS 8

struct npu_vector_buf {
	char name[16];
	__u32 addr;		/* as recorded */
	__u32 size;
	unsigned char *image;	/* contents before the run */
	struct npu_bo bo;
};

struct npu_vector {
	unsigned int bufs;
	struct npu_vector_buf buf[NPU_VECTOR_BUFS];
	unsigned int tasks;
	struct rknpu_submit job;	/* as recorded, else all tasks for every core */
	__u32 out_addr, out_size;	/* range of the expected bytes */
	unsigned char *expected;
	unsigned char *is_expected;	/* 1 for a byte that has an expected value */
};

/* Reads <name>.txt from the folder `vectors` beside the running program. */
int npu_vector_load(struct npu_vector *v, const char *name);
/* Allocates with these flags, relocates and fills. The job can be submitted then. */
int npu_vector_upload(struct npu_vector *v, int fd, __u32 data, __u32 tasks);
/* Refills the output with other bytes than the expected ones. */
int npu_vector_clear_output(struct npu_vector *v);
/* Bytes that are not as expected. */
unsigned int npu_vector_wrong(struct npu_vector *v);
struct npu_vector_buf *npu_vector_find(struct npu_vector *v, const char *name);
struct rknpu_task *npu_vector_task(struct npu_vector *v, unsigned int index);
void npu_vector_free(struct npu_vector *v);

#endif
