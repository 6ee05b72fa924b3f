// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <unistd.h>

#include "npu_inject.h"
#include "npu_proc.h"

#define DIR "/sys/kernel/debug/rknpu/"

bool npu_kernel_injects(void)
{
	return !access("/proc/thread-self/fail-nth", W_OK);
}

static int set(const char *kind, const char *file, unsigned int value)
{
	char path[96], text[16];

	snprintf(path, sizeof(path), DIR "%s/%s", kind, file);
	snprintf(text, sizeof(text), "%u", value);
	return npu_write_file(path, text);
}

int npu_inject_quietly(const char *kind)
{
	return set(kind, "verbose", 0);
}

int npu_inject(const char *kind, unsigned int after, unsigned int times)
{
	int ret = npu_inject_quietly(kind);

	if (!ret)
		ret = set(kind, "space", after);
	if (!ret)
		ret = set(kind, "times", times);
	return ret ?: set(kind, "probability", 100);
}

int npu_inject_end(const char *kind)
{
	return set(kind, "probability", 0);
}
