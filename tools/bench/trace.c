// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "trace.h"

#define WARM_UP 50

__attribute__((noinline)) void trace_begin(void);
__attribute__((noinline)) void trace_end(void);

void trace_begin(void)
{
	__asm__ volatile("" ::: "memory");
}

void trace_end(void)
{
	__asm__ volatile("" ::: "memory");
}

/* Tells the host, and waits for its answer. */
static void meet(const char *folder, const char *mine, const char *its)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, mine);
	fd = open(path, O_WRONLY | O_CREAT, 0644);
	must(path, fd < 0 ? -errno : 0);
	close(fd);
	snprintf(path, sizeof(path), "%s/%s", folder, its);
	while (access(path, F_OK))
		;
}

void trace_operation(operation op, void *arg, const char *folder)
{
	int i;

	for (i = 0; i < WARM_UP; i++)
		must("an operation", op(arg));
	meet(folder, "ready", "go");
	/* What the kernel has to do after the meeting is over. */
	for (i = 0; i < 2; i++)
		must("an operation", op(arg));
	trace_begin();
	i = op(arg);
	trace_end();
	must("an operation", i);
	meet(folder, "done", "end");
}
