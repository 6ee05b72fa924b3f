// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "npu_proc.h"

long npu_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void npu_sleep_ms(long ms)
{
	struct timespec left = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

pid_t npu_spawn(int (*fn)(void *arg), void *arg)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(fn(arg));
	}
	return pid;
}

int npu_join(pid_t pid, long timeout_ms)
{
	long deadline = npu_now_ms() + timeout_ms;
	int status;

	for (;;) {
		pid_t done = waitpid(pid, &status, WNOHANG);

		if (done == pid)
			return WIFSIGNALED(status) ? NPU_SIGNALLED(WTERMSIG(status)) :
						     WEXITSTATUS(status);
		if (done < 0 || npu_now_ms() >= deadline)
			break;
		npu_sleep_ms(2);
	}
	kill(pid, SIGKILL);
	return -1;
}

long npu_meminfo(const char *key)
{
	char line[128];
	long kib = -1;
	size_t len = strlen(key);
	FILE *f = fopen("/proc/meminfo", "r");

	while (f && fgets(line, sizeof(line), f)) {
		if (!strncmp(line, key, len) && line[len] == ':') {
			kib = strtol(line + len + 1, NULL, 10);
			break;
		}
	}
	if (f)
		fclose(f);
	return kib;
}

static void shrink_caches(void)
{
	int fd = open("/proc/sys/vm/drop_caches", O_WRONLY);

	sync();
	if (fd >= 0) {
		if (write(fd, "3", 1) != 1)
			perror("/proc/sys/vm");
		close(fd);
	}
}

long npu_used_memory(void)
{
	long used = -1, before;
	int i;

	/* Frees are deferred in many places (RCU, work items): look until two figures agree. */
	for (i = 0; i < 20; i++) {
		before = used;
		shrink_caches();
		npu_sleep_ms(50);
		used = npu_meminfo("MemTotal") - npu_meminfo("MemFree");
		if (before >= 0 && before - used < 64 && used - before < 64)
			break;
	}
	return used;
}
