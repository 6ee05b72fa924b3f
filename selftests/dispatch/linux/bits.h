/* SPDX-License-Identifier: GPL-2.0-only */
/* What kernel/rknpu_dispatch.[ch] need of the kernel's header of this name. */
#ifndef SELFTESTS_LINUX_BITS_H
#define SELFTESTS_LINUX_BITS_H

#define BIT(n) (1UL << (n))

#endif
