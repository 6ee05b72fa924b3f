// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "npu_soc.h"

static const struct npu_soc socs[] = {
	{ "rk3588", 3588, 3, 4095, 0x46495245, 2, 32, .iommu = true, .domains = true },
	{ "rk3583", 3583, 2, 4095, 0x46495245, 2, 32, .iommu = true },
	{ "rk3576", 3576, 2, 65535, 0, 2, 32, .iommu = true, .counters = true },
	{ "rk3568", 3568, 1, 4095, 0, 1, 16, .iommu = true, .counters = true, .bandwidth = true },
	{ "rk3562", 3562, 1, 65535, 0, 2, 16, .iommu = true, .counters = true },
	{ "rv1106", 1106, 1, 65535, 0x54524548, 2, 16, .counters = true },
	{ "rv1126b", 1126, 1, 65535, 0, 2, 32, .iommu = true, .counters = true },
};

/* The last name of the board. */
static void read_compatible(char *name, size_t len)
{
	int fd = open("/proc/device-tree/compatible", O_RDONLY);
	char text[256] = "", *last = text, *next;
	ssize_t got = read(fd, text, sizeof(text) - 1);

	close(fd);
	for (next = text; next < text + got; next += strlen(next) + 1)
		last = next;
	snprintf(name, len, "%s", last);
}

const struct npu_soc *npu_soc(void)
{
	static const struct npu_soc *found;
	char name[64], want[64];
	unsigned int i;

	if (found)
		return found;
	read_compatible(name, sizeof(name));
	for (i = 0; i < sizeof(socs) / sizeof(*socs); i++) {
		snprintf(want, sizeof(want), "rockchip,%s", socs[i].name);
		if (!strcmp(name, want))
			return found = &socs[i];
	}
	printf("Bail out! the tests don't know the board '%s'\n", name);
	exit(1);
}
