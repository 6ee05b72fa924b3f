/* SPDX-License-Identifier: GPL-2.0-only */
/* What kernel/rknpu_dispatch.[ch] need of the kernel's header of this name. */
#ifndef SELFTESTS_LINUX_TYPES_H
#define SELFTESTS_LINUX_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;

#endif
