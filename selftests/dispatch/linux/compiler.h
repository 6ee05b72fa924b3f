/* SPDX-License-Identifier: GPL-2.0-only */
/* What kernel/rknpu_dispatch.[ch] need of the kernel's header of this name. */
#ifndef SELFTESTS_LINUX_COMPILER_H
#define SELFTESTS_LINUX_COMPILER_H

#define noinline __attribute__((__noinline__))

#endif
