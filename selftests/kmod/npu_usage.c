// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "npu_client.h"
#include "npu_dmabuf.h"
#include "npu_proc.h"
#include "npu_usage.h"

#define CLIENTS "/sys/kernel/debug/rknpu/clients"

static bool parse(const char *figures, struct npu_usage *usage)
{
	return sscanf(figures, "%lld %lld %lld %lld %lld", &usage->bytes, &usage->objects,
		      &usage->sram, &usage->iova, &usage->nbuf) == 5;
}

/* pid 0: the total */
static struct npu_usage find(pid_t pid)
{
	struct npu_usage usage = {};
	char line[128], key[16];
	int found, len;
	FILE *f = fopen(CLIENTS, "r");

	if (!f)
		perror(CLIENTS);
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%15s%n", key, &len) != 1)
			continue;
		found = pid ? atoi(key) == pid : !strcmp(key, "total");
		if (found && parse(line + len, &usage))
			break;
	}
	if (f)
		fclose(f);
	return usage;
}

struct npu_usage npu_usage_of(pid_t pid)
{
	return find(pid);
}

struct npu_usage npu_usage_total(void)
{
	return find(0);
}

bool npu_usage_equal(struct npu_usage a, struct npu_usage b)
{
	return a.bytes == b.bytes && a.objects == b.objects && a.sram == b.sram &&
	       a.iova == b.iova && a.nbuf == b.nbuf;
}

void npu_usage_line(char line[80], pid_t pid, struct npu_usage usage)
{
	char who[16] = "  total";

	if (pid)
		snprintf(who, sizeof(who), "%7d", pid);
	snprintf(line, 80, "%s %12lld %8lld %10lld %12lld %8lld\n", who, usage.bytes,
		 usage.objects, usage.sram, usage.iova, usage.nbuf);
}

void npu_usage_text(char *text, size_t len)
{
	FILE *f = fopen(CLIENTS, "r");
	size_t got = 0;

	if (f) {
		got = fread(text, 1, len - 1, f);
		fclose(f);
	}
	text[got] = '\0';
}

unsigned int npu_sram_free(int fd)
{
	__u32 value = 0;

	npu_action(fd, RKNPU_GET_FREE_SRAM_SIZE, &value);
	return value;
}

struct npu_state npu_state(int fd)
{
	return (struct npu_state) {
		.own = npu_usage_of(getpid()),
		.total = npu_usage_total(),
		.dmabufs = npu_dmabuf_count(),
		.sram_free = npu_sram_free(fd),
	};
}

static bool same(const struct npu_state *a, const struct npu_state *b)
{
	return npu_usage_equal(a->own, b->own) && npu_usage_equal(a->total, b->total) &&
	       a->dmabufs == b->dmabufs && a->sram_free == b->sram_free;
}

struct npu_state npu_state_at_rest(int fd)
{
	long deadline = npu_now_ms() + 5000;
	struct npu_state state, next = npu_state(fd);

	do {
		state = next;
		npu_sleep_ms(50);
		next = npu_state(fd);
	} while (!same(&state, &next) && npu_now_ms() < deadline);
	return next;
}

bool npu_state_returns(const struct npu_state *before, int fd)
{
	long deadline = npu_now_ms() + 5000;
	struct npu_state now = npu_state(fd);

	while (!same(before, &now) && npu_now_ms() < deadline) {
		npu_sleep_ms(5);
		now = npu_state(fd);
	}
	return npu_state_equal(before, &now);
}

static void print_usage(const char *who, struct npu_usage u)
{
	printf("# %s: %lld bytes, %lld objects, %lld SRAM, %lld IOVA, %lld NBUF\n", who, u.bytes,
	       u.objects, u.sram, u.iova, u.nbuf);
}

static void print_state(const char *when, const struct npu_state *s)
{
	printf("# %s: %d dma-bufs, %u bytes of SRAM free\n", when, s->dmabufs, s->sram_free);
	print_usage("own", s->own);
	print_usage("total", s->total);
}

bool npu_state_equal(const struct npu_state *before, const struct npu_state *after)
{
	if (same(before, after))
		return true;
	print_state("before", before);
	print_state("after", after);
	return false;
}
