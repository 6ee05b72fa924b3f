// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "npu_proc.h"

long long npu_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

long npu_now_ms(void)
{
	return npu_now_ns() / 1000000;
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

bool npu_kernel_is_slow(void)
{
	return !access("/sys/kernel/debug/kmemleak", F_OK);
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

/* KiB that are free but held ready for one CPU: not counted as MemFree, and often megabytes. */
static long free_per_cpu(void)
{
	char line[128];
	long pages = 0, count;
	FILE *f = fopen("/proc/zoneinfo", "r");

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, " count: %ld", &count) == 1)
			pages += count;
	}
	if (f)
		fclose(f);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void shrink_caches(void)
{
	glob_t slabs = {};
	size_t i;

	sync();
	npu_write_file("/proc/sys/vm/drop_caches", "3");
	/* KASAN keeps freed objects in quarantine (megabytes) until their slab is shrunk. */
	if (npu_kernel_is_slow() && !glob("/sys/kernel/slab/*/shrink", 0, NULL, &slabs)) {
		for (i = 0; i < slabs.gl_pathc; i++)
			npu_write_file(slabs.gl_pathv[i], "1");
		globfree(&slabs);
	}
}

long npu_used_memory(void)
{
	long least = LONG_MAX, used;
	int tries = 30, still = 0;

	/* Much is freed with delay (RCU, work items): wait for three figures that are no better. */
	while (tries-- && still < 3) {
		shrink_caches();
		npu_sleep_ms(100);
		used = npu_meminfo("MemTotal") - npu_meminfo("MemFree") - free_per_cpu();
		still = used + 64 < least ? 0 : still + 1;
		least = used < least ? used : least;
	}
	return least;
}

int npu_read_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len, total = 0;

	memset(text, 0, size);
	if (fd < 0)
		return -errno;
	do {
		len = read(fd, text + total, size - 1 - total);
		total += len > 0 ? len : 0;
	} while (len > 0);
	if (len < 0)
		total = -errno;
	close(fd);
	return total;
}

int npu_read_line(const char *path, char *text, size_t size)
{
	int len = npu_read_file(path, text, size);

	text[strcspn(text, "\n")] = '\0';
	return len < 0 ? len : 0;
}

int npu_write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}
