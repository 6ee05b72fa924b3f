/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _RKNPU_PAGES_H_
#define _RKNPU_PAGES_H_

#include <linux/types.h>

struct page;

struct page **rknpu_pages_alloc(unsigned long num, bool dma32);
void rknpu_pages_free(struct page **pages, unsigned long num);

#endif
