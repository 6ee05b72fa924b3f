// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "npu_soc.h"

#define KIB 1024
#define MHZ 1000000

/* Of the firmware, or a fixed one where the model has none */
#define SCMI "scmi_clk_npu"
#define FIXED "clk_npu"

#define STATUS "PC.TASK_STATUS"
#define STATUS_V2 "PC.TASK_STATUS_V2"

static const struct npu_soc socs[] = {
	{ "rk3588", 3588, 3, 4095, 0x46495245, 2, 32, .clock = SCMI, .hz = 200 * MHZ,
	  .iommu = true, .domains = true, .task_status = STATUS, .sram = 956 * KIB },
	{ "rk3583", 3583, 2, 4095, 0x46495245, 2, 32, .clock = SCMI, .hz = 200 * MHZ,
	  .iommu = true, .domains = true, .task_status = STATUS, .sram = 956 * KIB },
	{ "rk3576", 3576, 2, 65535, 0, 2, 32, .clock = FIXED, .hz = 198 * MHZ,
	  .iommu = true, .counters = true, .task_status = STATUS_V2, .common_resets = true,
	  .sram = 480 * KIB, .nbuf_start = 0x3fe80000, .nbuf = 1024 * KIB },
	{ "rk3568", 3568, 1, 4095, 0, 1, 16, .clock = FIXED, .hz = 600 * MHZ,
	  .iommu = true, .counters = true, .task_status = STATUS, .bandwidth = true,
	  .unknown_engines = true },
	{ "rk3562", 3562, 1, 65535, 0, 2, 16, .clock = FIXED, .hz = 600 * MHZ,
	  .iommu = true, .counters = true, .task_status = STATUS_V2,
	  .nbuf_start = 0xfe400000, .nbuf = 256 * KIB },
	{ "rv1106", 1106, 1, 65535, 0x54524548, 2, 16, .clock = FIXED, .hz = 420 * MHZ,
	  .counters = true, .task_status = STATUS },
	{ "rv1126b", 1126, 1, 65535, 0, 2, 32, .clock = FIXED, .hz = 600 * MHZ,
	  .iommu = true, .counters = true, .task_status = STATUS_V2,
	  .nbuf_start = 0x3ff30000, .nbuf = 512 * KIB },
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

unsigned int npu_cores(void)
{
	return npu_soc()->cores;
}

__u32 npu_core(unsigned int n)
{
	return 1U << n % npu_cores();
}

__u32 npu_all_cores(void)
{
	return (1U << npu_cores()) - 1;
}

bool npu_mask_valid(__u32 core_mask)
{
	return core_mask && core_mask < 1U << npu_cores() && core_mask != 5 && core_mask != 6;
}
