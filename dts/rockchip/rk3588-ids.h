/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What differs between mainline's and the vendor's trees of RK3588: names of headers, and the GIC's cells. */
#ifndef RKNPU_RK3588_IDS_H
#define RKNPU_RK3588_IDS_H

#if __has_include(<dt-bindings/clock/rk3588-cru.h>)
#include <dt-bindings/clock/rk3588-cru.h>
#define RKNPU_SPI(n) GIC_SPI n IRQ_TYPE_LEVEL_HIGH
#else
#include <dt-bindings/clock/rockchip,rk3588-cru.h>
#include <dt-bindings/reset/rockchip,rk3588-cru.h>
#define RKNPU_SPI(n) GIC_SPI n IRQ_TYPE_LEVEL_HIGH 0
#endif
#include <dt-bindings/interrupt-controller/arm-gic.h>
#include <dt-bindings/power/rk3588-power.h>

#endif
