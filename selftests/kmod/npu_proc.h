/* SPDX-License-Identifier: GPL-2.0-only */
/* Time, helper processes and memory figures for the tests. */
#ifndef NPU_PROC_H
#define NPU_PROC_H

#include <stdbool.h>
#include <sys/types.h>

/* Nanoseconds, milliseconds of a clock that never jumps. */
long long npu_now_ns(void);
long npu_now_ms(void);
void npu_sleep_ms(long ms);

/* Runs fn(arg) in a process of its own, which ends with its result and dies with its parent. */
pid_t npu_spawn(int (*fn)(void *arg), void *arg);
/*
 * Waits for a process: its exit status, 1000 + number of the signal that ended it, or -1 after
 * timeout_ms. It is killed then, and not waited for: it may be stuck in the kernel.
 */
int npu_join(pid_t pid, long timeout_ms);
#define NPU_SIGNALLED(sig) (1000 + (sig))

/*
 * A kernel that checks itself (KASAN, lockdep, kmemleak): everything takes several times as long,
 * and what is freed stays in quarantine for a while.
 */
bool npu_kernel_is_slow(void);

/* All of a file of the kernel as text: its length or -errno. */
int npu_read_file(const char *path, char *text, size_t size);
/* Its first line, without the end of line: 0 or -errno. */
int npu_read_line(const char *path, char *text, size_t size);
/* Writes a text to a file of the kernel: 0 or -errno. */
int npu_write_file(const char *path, const char *text);

/* KiB of a line of /proc/meminfo, e.g. "MemAvailable". */
long npu_meminfo(const char *key);
/* KiB in use, caches apart, when the kernel has freed what it frees later. */
long npu_used_memory(void);

#endif
