/* SPDX-License-Identifier: GPL-2.0-only */
/* What kernel/rknpu_dispatch.[ch] need of the kernel's header of this name. */
#ifndef SELFTESTS_LINUX_BITOPS_H
#define SELFTESTS_LINUX_BITOPS_H

#define hweight8(mask) ((unsigned int)__builtin_popcount((unsigned char)(mask)))
#define __ffs(mask) ((unsigned int)__builtin_ctzl(mask))

#endif
