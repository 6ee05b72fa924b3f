/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The name that the vendor's trees know this header by. For checks: the numbers are mainline's. */
#include <dt-bindings/clock/rockchip,rk3588-cru.h>
#include <dt-bindings/reset/rockchip,rk3588-cru.h>
