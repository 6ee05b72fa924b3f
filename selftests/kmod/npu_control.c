// SPDX-License-Identifier: GPL-2.0-only
#include <endian.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>

#include "npu_client.h"
#include "npu_control.h"
#include "npu_devfreq.h"
#include "npu_proc.h"

#define WINDOW_SIZE 0x1000

static void give_up(const char *what)
{
	printf("Bail out! no control window of a virtual NPU: %s\n", what);
	exit(1);
}

/* Two cells of address, two of size. */
static off_t window_address(void)
{
	glob_t nodes = {};
	__u64 reg[2];
	FILE *f;
	char path[128];

	if (glob("/proc/device-tree/control@*", 0, NULL, &nodes) || nodes.gl_pathc != 1)
		give_up("not in the device tree");
	snprintf(path, sizeof(path), "%s/reg", nodes.gl_pathv[0]);
	globfree(&nodes);
	f = fopen(path, "r");
	if (!f || fread(reg, sizeof(reg), 1, f) != 1)
		give_up(path);
	fclose(f);
	return be64toh(reg[0]);
}

static __u32 *window(void)
{
	static __u32 *map;
	int fd;

	if (map)
		return map;
	fd = open("/dev/mem", O_RDWR | O_SYNC | O_CLOEXEC);
	if (fd < 0)
		give_up("/dev/mem");
	map = mmap(NULL, WINDOW_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, window_address());
	close(fd);
	if (map == MAP_FAILED)
		give_up("mmap of /dev/mem");
	if (npu_ctl(VNPU_CTL_ID) != VNPU_CTL_ID_VALUE ||
	    npu_ctl(VNPU_CTL_VERSION) != VNPU_CTL_VERSION_VALUE)
		give_up("unknown version");
	return map;
}

/* One access of 32 bits each, in program order. */
__u32 npu_ctl(unsigned int offset)
{
	return __atomic_load_n(window() + offset / 4, __ATOMIC_SEQ_CST);
}

static void write_ctl(unsigned int offset, __u32 value)
{
	__atomic_store_n(window() + offset / 4, value, __ATOMIC_SEQ_CST);
}

__u32 npu_ctl_core(unsigned int core, unsigned int offset)
{
	return npu_ctl(VNPU_CTL_CORE(core) + offset);
}

void npu_ctl_clear(__u32 what)
{
	write_ctl(VNPU_CTL_CLEAR, what);
}

void npu_fault(unsigned int core, __u32 mask, __u32 param)
{
	/* The parameter first: switches act from the moment they are on. */
	write_ctl(VNPU_CTL_CORE(core) + VNPU_CTL_FAULT_PARAM, param);
	write_ctl(VNPU_CTL_CORE(core) + VNPU_CTL_FAULT_MASK, mask);
}

static __u64 cycles(void)
{
	__u32 high, low;

	do {
		high = npu_ctl(VNPU_CTL_CYCLE_HI);
		low = npu_ctl(VNPU_CTL_CYCLE_LO);
	} while (high != npu_ctl(VNPU_CTL_CYCLE_HI));
	return (__u64)high << 32 | low;
}

/*
 * The counter, and the middle of the time in which it was read. The shortest of several times, as a
 * busy host may stop the machine meanwhile.
 */
static long long cycles_at(__u64 *count)
{
	long long start, took, shortest = LLONG_MAX, middle = 0;
	unsigned int i;

	for (i = 0; i < 20; i++) {
		__u64 value;

		start = npu_now_ns();
		value = cycles();
		took = npu_now_ns() - start;
		if (took < shortest) {
			shortest = took;
			middle = start + took / 2;
			*count = value;
		}
	}
	return middle;
}

/* Cycles of the NPU in a millisecond of this machine's time. The clock is constant from then on. */
static __u32 cycles_per_ms(void)
{
	static __u32 rate;
	__u64 before = 0, after = 0;
	long long start, end;

	if (!npu_devfreq_write("governor", "powersave"))
		return npu_devfreq_rate("cur_freq") / 1000;
	if (!rate) {
		start = cycles_at(&before);
		npu_sleep_ms(50);
		end = cycles_at(&after);
		rate = (after - before) * 1000000 / (end - start);
	}
	return rate;
}

void npu_slow(unsigned int core, unsigned int microseconds)
{
	npu_fault(core, VNPU_FAULT_SLOW, (__u64)microseconds * cycles_per_ms() / 1000);
}

void npu_instant(bool on)
{
	unsigned int core;

	for (core = 0; core < npu_cores(); core++)
		write_ctl(VNPU_CTL_CORE(core) + VNPU_CTL_INSTANT, on);
}

void npu_fault_none(void)
{
	npu_ctl_clear(VNPU_CTL_CLEAR_FAULTS);
}

__u32 npu_ctl_total(unsigned int offset)
{
	unsigned int core;
	__u32 sum = 0;

	for (core = 0; core < npu_cores(); core++)
		sum += npu_ctl_core(core, offset);
	return sum;
}

__u32 npu_ctl_misuse(char *text, unsigned int len)
{
	unsigned int i;

	memset(text, 0, len);
	for (i = 0; i + 4 < len && i < VNPU_CTL_TEXT_SIZE; i += 4) {
		__u32 word = htole32(npu_ctl(VNPU_CTL_TEXT + i));

		memcpy(text + i, &word, 4);
	}
	return npu_ctl(VNPU_CTL_MISUSE);
}
