// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "npu_matmul.h"
#include "npu_vector.h"

static struct npu_vector_buf *buf_at(struct npu_vector *v, __u32 addr)
{
	unsigned int i;

	for (i = 0; i < v->bufs; i++) {
		if (addr >= v->buf[i].addr && addr - v->buf[i].addr < v->buf[i].size)
			return &v->buf[i];
	}
	return NULL;
}

/* Host memory of a recorded range; NULL if it isn't wholly inside one buffer. */
static unsigned char *image_at(struct npu_vector *v, __u32 addr, size_t len)
{
	struct npu_vector_buf *buf = buf_at(v, addr);

	if (!buf || len > buf->size - (addr - buf->addr))
		return NULL;
	return buf->image + (addr - buf->addr);
}

struct npu_vector_buf *npu_vector_find(struct npu_vector *v, const char *name)
{
	unsigned int i;

	for (i = 0; i < v->bufs; i++) {
		if (!strcmp(v->buf[i].name, name))
			return &v->buf[i];
	}
	return NULL;
}

/* Value of "key=" in a record. */
static __u32 field(const char *line, const char *key)
{
	const char *at = strstr(line, key);

	return at ? strtoul(at + strlen(key), NULL, 0) : 0;
}

static int parse_buffer(struct npu_vector *v, const char *line)
{
	struct npu_vector_buf *buf = &v->buf[v->bufs];

	if (v->bufs == NPU_VECTOR_BUFS || sscanf(line, "buffer %15s", buf->name) != 1)
		return -EINVAL;
	buf->addr = field(line, " addr=");
	buf->size = field(line, " size=");
	buf->image = calloc(1, buf->size);
	if (!buf->image)
		return -ENOMEM;
	v->bufs++;
	return 0;
}

static int parse_submit(struct npu_vector *v, const char *line)
{
	struct rknpu_submit *job = &v->job;
	const char *ranges = strstr(line, " subcore=");
	struct rknpu_subcore_task *sub = job->subcore_task;

	job->flags = field(line, " flags=");
	job->timeout = field(line, " timeout=");
	job->task_start = field(line, " task_start=");
	job->task_number = field(line, " task_number=");
	job->core_mask = field(line, " core_mask=");
	job->fence_fd = (__s32)field(line, " fence_fd=");
	if (!ranges || sscanf(ranges, " subcore=%u:%u,%u:%u,%u:%u", &sub[0].task_start,
			      &sub[0].task_number, &sub[1].task_start, &sub[1].task_number,
			      &sub[2].task_start, &sub[2].task_number) != 6)
		return -EINVAL;
	return 0;
}

static int parse_task(struct npu_vector *v, const char *line)
{
	struct npu_vector_buf *tasks = npu_vector_find(v, "tasks");
	unsigned int index;
	struct rknpu_task task = {
		.flags = field(line, " flags="),
		.op_idx = field(line, " op_idx="),
		.enable_mask = field(line, " enable_mask="),
		.int_mask = field(line, " int_mask="),
		.int_clear = field(line, " int_clear="),
		.int_status = field(line, " int_status="),
		.regcfg_amount = field(line, " regcfg_amount="),
		.regcfg_offset = field(line, " regcfg_offset="),
		.regcmd_addr = field(line, " regcmd_addr="),
	};

	if (!tasks || sscanf(line, "task %u", &index) != 1 ||
	    index >= tasks->size / sizeof(task))
		return -EINVAL;
	memcpy(tasks->image + index * sizeof(task), &task, sizeof(task));
	if (index >= v->tasks)
		v->tasks = index + 1;
	return 0;
}

static int parse_list(struct npu_vector *v, const char *line, FILE *f)
{
	__u32 addr = field(line, " addr="), count = field(line, " count="), i;
	unsigned char *to = image_at(v, addr, (size_t)count * sizeof(__u64));
	unsigned long long command;

	if (!to)
		return -EINVAL;
	for (i = 0; i < count; i++) {
		if (fscanf(f, "%16llx\n", &command) != 1)
			return -EINVAL;
		memcpy(to + i * sizeof(__u64), &command, sizeof(__u64));
	}
	return 0;
}

/* "mem ADDR HEX" or "expect ADDR HEX": address and bytes. */
static int parse_bytes(const char *line, __u32 *addr, unsigned char *bytes, size_t max, size_t *len)
{
	char *at;
	unsigned int byte;

	*addr = strtoul(strchr(line, ' '), &at, 16);
	while (*at == ' ')
		at++;
	for (*len = 0; *len < max && sscanf(at + *len * 2, "%2x", &byte) == 1; (*len)++)
		bytes[*len] = byte;
	return *len ? 0 : -EINVAL;
}

static int parse_mem(struct npu_vector *v, const char *line)
{
	unsigned char bytes[64], *to;
	__u32 addr;
	size_t len;
	int ret = parse_bytes(line, &addr, bytes, sizeof(bytes), &len);

	if (ret)
		return ret;
	to = image_at(v, addr, len);
	if (!to)
		return -EINVAL;
	memcpy(to, bytes, len);
	return 0;
}

static int parse_expect(struct npu_vector *v, const char *line)
{
	unsigned char bytes[64];
	struct npu_vector_buf *out;
	__u32 addr;
	size_t len;
	int ret = parse_bytes(line, &addr, bytes, sizeof(bytes), &len);

	if (ret)
		return ret;
	out = buf_at(v, addr);
	if (!out || !image_at(v, addr, len))
		return -EINVAL;
	if (!v->expected) {
		v->out_addr = out->addr;
		v->out_size = out->size;
		v->expected = calloc(1, out->size);
		v->is_expected = calloc(1, out->size);
		if (!v->expected || !v->is_expected)
			return -ENOMEM;
	}
	if (out->addr != v->out_addr)
		return -EINVAL;
	memcpy(v->expected + (addr - out->addr), bytes, len);
	memset(v->is_expected + (addr - out->addr), 1, len);
	return 0;
}

static int parse(struct npu_vector *v, FILE *f)
{
	char line[512];
	int ret = 0;

	while (!ret && fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "buffer ", 7))
			ret = parse_buffer(v, line);
		else if (!strncmp(line, "submit ", 7))
			ret = parse_submit(v, line);
		else if (!strncmp(line, "task ", 5))
			ret = parse_task(v, line);
		else if (!strncmp(line, "list ", 5))
			ret = parse_list(v, line, f);
		else if (!strncmp(line, "mem ", 4))
			ret = parse_mem(v, line);
		else if (!strncmp(line, "expect ", 7))
			ret = parse_expect(v, line);
	}
	if (!ret && (!v->tasks || !v->expected))
		ret = -EINVAL;
	return ret;
}

int npu_vector_load(struct npu_vector *v, const char *name)
{
	char self[PATH_MAX] = "", path[PATH_MAX + 64];
	unsigned int core;
	FILE *f;
	int ret;

	memset(v, 0, sizeof(*v));
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return -errno;
	snprintf(path, sizeof(path), "%s/vectors/%s.txt", dirname(self), name);
	f = fopen(path, "r");
	if (!f)
		return -errno;
	ret = parse(v, f);
	fclose(f);
	if (ret) {
		npu_vector_free(v);
		return ret;
	}

	if (!v->job.task_number) {
		v->job.flags = RKNPU_JOB_PC | RKNPU_JOB_PINGPONG;
		v->job.timeout = 6000;
		v->job.task_number = v->tasks;
		v->job.fence_fd = -1;
		for (core = 0; core < npu_cores(); core++)
			v->job.subcore_task[core].task_number = v->tasks;
	}
	return 0;
}

static __u32 relocate(struct npu_vector *v, __u32 addr)
{
	struct npu_vector_buf *buf = buf_at(v, addr);

	return buf ? buf->bo.dma + (addr - buf->addr) : addr;
}

static void relocate_list(struct npu_vector *v, __u64 *list, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		__u16 reg = list[i];

		if ((reg == NPU_REG_PC_NEXT || reg == NPU_REG_FEATURE_ADDR ||
		     reg == NPU_REG_WEIGHT_ADDR || reg == NPU_REG_DST_ADDR) && list[i] >> 48)
			list[i] = npu_command(reg, relocate(v, list[i] >> 16));
	}
}

int npu_vector_upload(struct npu_vector *v, int fd, __u32 data, __u32 tasks)
{
	struct npu_vector_buf *regcmd = npu_vector_find(v, "regcmd");
	struct npu_vector_buf *array = npu_vector_find(v, "tasks");
	unsigned int i;
	int ret;

	if (!regcmd || !array)
		return -EINVAL;
	for (i = 0; i < v->bufs; i++) {
		struct npu_vector_buf *buf = &v->buf[i];

		ret = npu_bo_create(&buf->bo, fd, buf->size, buf == array ? tasks : data);
		if (ret)
			return ret;
		memcpy(buf->bo.map, buf->image, buf->size);
	}
	relocate_list(v, regcmd->bo.map, regcmd->size / sizeof(__u64));
	for (i = 0; i < v->tasks; i++) {
		struct rknpu_task *task = npu_vector_task(v, i);

		task->regcmd_addr = relocate(v, task->regcmd_addr);
	}
	for (i = 0; i < v->bufs; i++) {
		ret = npu_bo_to_device(&v->buf[i].bo);
		if (ret)
			return ret;
	}
	v->job.task_obj_addr = array->bo.token;
	return npu_vector_clear_output(v);
}

int npu_vector_clear_output(struct npu_vector *v)
{
	struct npu_vector_buf *out = buf_at(v, v->out_addr);
	unsigned char *to = out->bo.map;
	unsigned int i;

	for (i = 0; i < v->out_size; i++)
		to[i] = ~v->expected[i];
	return npu_bo_to_device(&out->bo);
}

unsigned int npu_vector_wrong(struct npu_vector *v)
{
	struct npu_vector_buf *out = buf_at(v, v->out_addr);
	const unsigned char *seen = out->bo.map;
	unsigned int i, wrong = 0;

	npu_bo_from_device(&out->bo);
	for (i = 0; i < v->out_size; i++) {
		/* Bytes behind the result must still be what they were. */
		if (v->is_expected[i])
			wrong += seen[i] != v->expected[i];
		else
			wrong += seen[i] != (unsigned char)~v->expected[i];
	}
	return wrong;
}

struct rknpu_task *npu_vector_task(struct npu_vector *v, unsigned int index)
{
	return (struct rknpu_task *)npu_vector_find(v, "tasks")->bo.map + index;
}

void npu_vector_free(struct npu_vector *v)
{
	unsigned int i;

	for (i = 0; i < v->bufs; i++) {
		npu_bo_destroy(&v->buf[i].bo);
		free(v->buf[i].image);
	}
	free(v->expected);
	free(v->is_expected);
	memset(v, 0, sizeof(*v));
}
