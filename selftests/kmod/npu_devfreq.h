/* SPDX-License-Identifier: GPL-2.0-only */
/* The NPU's clock, through devfreq's files and the kernel's record of clocks. */
#ifndef NPU_DEVFREQ_H
#define NPU_DEVFREQ_H

#include <stddef.h>
#include <linux/types.h>

/*
 * Files of the NPU's devfreq device, e.g. "governor": text without the newline. 0 or -errno;
 * -ENOENT when its clock is not scaled.
 */
int npu_devfreq_read(const char *file, char *text, size_t len);
int npu_devfreq_write(const char *file, const char *text);
/* A rate in a file, e.g. "cur_freq"; 0 when there is none. */
unsigned long npu_devfreq_rate(const char *file);

/* Keeps the clock at one operating point, whatever the load; tests that count cycles want that. */
int npu_devfreq_pin(unsigned long hz);
/* Back to the governor that the driver starts with. */
int npu_devfreq_unpin(void);

#endif
