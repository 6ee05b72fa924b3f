// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "npu_devfreq.h"
#include "npu_proc.h"

static int path_of(const char *file, char *path, size_t len)
{
	glob_t found = {};
	int ret = -ENOENT;

	if (!glob("/sys/class/devfreq/*.npu", 0, NULL, &found)) {
		snprintf(path, len, "%s/%s", found.gl_pathv[0], file);
		ret = 0;
	}
	globfree(&found);
	return ret;
}

int npu_devfreq_read(const char *file, char *text, size_t len)
{
	char path[256];

	memset(text, 0, len);
	return path_of(file, path, sizeof(path)) ?: npu_read_line(path, text, len);
}

int npu_devfreq_write(const char *file, const char *text)
{
	char path[256];

	return path_of(file, path, sizeof(path)) ?: npu_write_file(path, text);
}

unsigned long npu_devfreq_rate(const char *file)
{
	char text[64];

	return npu_devfreq_read(file, text, sizeof(text)) ? 0 : strtoul(text, NULL, 10);
}

int npu_devfreq_pin(unsigned long hz)
{
	char text[32];

	snprintf(text, sizeof(text), "%lu", hz);
	return npu_devfreq_write("governor", "userspace") ?:
	       npu_devfreq_write("userspace/set_freq", text);
}

int npu_devfreq_unpin(void)
{
	return npu_devfreq_write("governor", "simple_ondemand");
}
