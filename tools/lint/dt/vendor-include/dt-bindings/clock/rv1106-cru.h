/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What of the vendor's header the NPU needs: mainline has none. */
#define HCLK_RKNN	22
#define ACLK_RKNN	23
#define SRST_H_RKNN	360457
#define SRST_A_RKNN	360458
