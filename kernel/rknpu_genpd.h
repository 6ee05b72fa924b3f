/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _RKNPU_GENPD_H_
#define _RKNPU_GENPD_H_

#include <linux/mod_devicetable.h>

struct device;

int rknpu_genpd_init(const struct of_device_id *nodes);
void rknpu_genpd_exit(void);
int rknpu_genpd_attach(struct device *dev);
int rknpu_genpd_sleep(struct device *dev);
int rknpu_genpd_wake(struct device *dev);

#endif
