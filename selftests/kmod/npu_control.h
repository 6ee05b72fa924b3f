/* SPDX-License-Identifier: GPL-2.0-only */
/* The control window of the virtual NPU: what the hardware does wrong, and what it has seen. */
#ifndef NPU_CONTROL_H
#define NPU_CONTROL_H

#include <stdbool.h>
#include <linux/types.h>
#include <vnpu/control.h>
#include <vnpu/vnpu.h>

/* Maps the window on the first need. All end the program with a message if there is none. */
__u32 npu_ctl(unsigned int offset);
__u32 npu_ctl_core(unsigned int core, unsigned int offset);
void npu_ctl_clear(__u32 what);

/* Switches of one core; 0 ends them. */
void npu_fault(unsigned int core, __u32 mask, __u32 param);
/* Every task of the core takes that much longer. */
void npu_slow(unsigned int core, unsigned int microseconds);
void npu_fault_none(void);
/* Tasks of all cores take no time, until that is undone or npu_fault_none(). */
void npu_instant(bool on);

/* Sum over the cores of a per-core counter. */
__u32 npu_ctl_total(unsigned int offset);
/* Times that the driver did what silicon would punish, since the last clear; the last report. */
__u32 npu_ctl_misuse(char *text, unsigned int len);

#endif
