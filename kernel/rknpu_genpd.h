/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _RKNPU_GENPD_H_
#define _RKNPU_GENPD_H_

struct device;

int rknpu_genpd_attach(struct device *dev);

#endif
