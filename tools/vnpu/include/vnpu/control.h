/* SPDX-License-Identifier: MIT */
/*
 * Registers of the virtual NPU's control window (VNPU_WINDOW_CONTROL): fault switches, error records, counters.
 * No real chip has this window. All registers are 32 bit; docs/vnpu.md describes them.
 */
#ifndef VNPU_CONTROL_H
#define VNPU_CONTROL_H

#define VNPU_CTL_ID 0x000      /* RO: VNPU_CTL_ID_VALUE */
#define VNPU_CTL_VERSION 0x004 /* RO: layout of this window, VNPU_CTL_VERSION_VALUE */
#define VNPU_CTL_CORES 0x008   /* RO: number of cores */
#define VNPU_CTL_CLEAR 0x00c   /* WO: VNPU_CTL_CLEAR_* */

#define VNPU_CTL_NOTES 0x010    /* RO: notes reported */
#define VNPU_CTL_MISUSE 0x014   /* RO: misuse reported */
#define VNPU_CTL_REFUSED 0x018  /* RO: refusals reported */
#define VNPU_CTL_LAST 0x01c     /* RO: severity of the last misuse or refusal (enum vnpu_severity), 0: none */
#define VNPU_CTL_TEXT_LEN 0x020 /* RO: bytes of its text */
#define VNPU_CTL_CYCLE_LO 0x028 /* RO: time in NPU cycles */
#define VNPU_CTL_CYCLE_HI 0x02c

#define VNPU_CTL_TEXT 0x200      /* RO: the text, little-endian, zero-filled */
#define VNPU_CTL_TEXT_SIZE 0x200 /* longer texts are cut */

/* Block of core n at VNPU_CTL_CORE(n) */
#define VNPU_CTL_CORE(n) (0x400 + (n) * 0x100)
#define VNPU_CTL_FAULT_MASK 0x00  /* RW: VNPU_FAULT_* of vnpu.h */
#define VNPU_CTL_FAULT_PARAM 0x04 /* RW: their parameter */
#define VNPU_CTL_STATE 0x08       /* RO: VNPU_STATE_* */
#define VNPU_CTL_STARTS 0x0c      /* RO, counters from here on */
#define VNPU_CTL_TASKS 0x10       /* tasks that ended */
#define VNPU_CTL_MMIO_READS 0x14
#define VNPU_CTL_MMIO_WRITES 0x18
#define VNPU_CTL_LINE_RISES 0x1c /* times the interrupt line went up */
#define VNPU_CTL_MMU_FAULTS 0x20
#define VNPU_CTL_RESETS 0x24
#define VNPU_CTL_BYTES_READ_LO 0x28
#define VNPU_CTL_BYTES_READ_HI 0x2c
#define VNPU_CTL_BYTES_WRITTEN_LO 0x30
#define VNPU_CTL_BYTES_WRITTEN_HI 0x34
#define VNPU_CTL_BUSY_LO 0x38 /* cycles in which a task ran */
#define VNPU_CTL_BUSY_HI 0x3c
#define VNPU_CTL_MMU_READS 0x40 /* those of MMIO_READS that were of the MMU's registers */
#define VNPU_CTL_MMU_WRITES 0x44
#define VNPU_CTL_INSTANT 0x48 /* RW: 1: tasks take no time, to measure software alone */

#define VNPU_CTL_ID_VALUE 0x55504e56u /* "VNPU" in memory */
#define VNPU_CTL_VERSION_VALUE 1u

#define VNPU_CTL_CLEAR_RECORDS (1u << 0)  /* NOTES, MISUSE, REFUSED and the text */
#define VNPU_CTL_CLEAR_COUNTERS (1u << 1) /* counters of all cores */
#define VNPU_CTL_CLEAR_FAULTS (1u << 2)   /* fault switches and INSTANT of all cores */

#define VNPU_STATE_IDLE 0u
#define VNPU_STATE_RUNNING 1u
#define VNPU_STATE_WAITING 2u  /* for the MMU */
#define VNPU_STATE_STUCK 3u    /* until a reset */
#define VNPU_STATE_IN_RESET 4u

#endif
