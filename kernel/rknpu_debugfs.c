// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: debugfs
 *
 * The folder "rknpu" at the top of debugfs, where monitors expect it, and in /proc, where those of
 * some vendor kernels do. The text is part of the ABI, byte for byte. Reading a node never powers
 * the NPU on.
 */
#include <linux/debugfs.h>
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/kstrtox.h>
#include <linux/ktime.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <drm/drm_managed.h>

#include "rknpu_debugfs.h"
#include "rknpu_devfreq.h"
#include "rknpu_device.h"
#include "rknpu_fault.h"
#include "rknpu_power.h"
#include "rknpu_sched.h"
#include "rknpu_sram.h"

static int version_show(struct seq_file *m, void *unused)
{
	seq_printf(m, "RKNPU driver: v%u.%u.%u\n", RKNPU_DRIVER_MAJOR, RKNPU_DRIVER_MINOR,
		   RKNPU_DRIVER_PATCHLEVEL);
	return 0;
}

static int load_show(struct seq_file *m, void *unused)
{
	unsigned int percent[RKNPU_DISPATCH_MAX_CORES], i;
	struct rknpu_device *rknpu = m->private;
	u64 now;

	scoped_guard(rknpu_jobs, rknpu) {
		now = ktime_get_ns();
		for (i = 0; i < rknpu->num_cores; i++)
			percent[i] = rknpu_load_percent(&rknpu->cores[i].load, now);
	}

	seq_puts(m, "NPU load: ");
	if (rknpu->num_cores == 1)
		seq_printf(m, "%2u%%", percent[0]);
	else
		for (i = 0; i < rknpu->num_cores; i++)
			seq_printf(m, " Core%u: %2u%%,", i, percent[i]);
	seq_putc(m, '\n');
	return 0;
}

static int mm_show(struct seq_file *m, void *unused)
{
	struct rknpu_device *rknpu = m->private;

	rknpu_sram_show(&rknpu->sram, m);
	return 0;
}

static int clients_show(struct seq_file *m, void *unused)
{
	rknpu_usage_show(m->private, m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(clients);

/* What user space writes, with its last byte replaced: the newline of "echo". */
static int get_text(const char __user *buf, size_t len, char *text, size_t size)
{
	if (!len || len >= size)
		return -EINVAL;
	if (copy_from_user(text, buf, len))
		return -EFAULT;
	text[len - 1] = '\0';
	return 0;
}

static int get_number(const char __user *buf, size_t len, u32 *value)
{
	char text[16];
	int ret = get_text(buf, len, text, sizeof(text));

	if (ret)
		return ret;
	return kstrtou32(text, 10, value) ? -EFAULT : 0;
}

enum switch_text { SWITCH_OFF, SWITCH_ON, SWITCH_OTHER };

/* What a switch is set to, an enum switch_text, or a negative errno */
static int get_switch(const char __user *buf, size_t len)
{
	char text[8];
	int ret = get_text(buf, len, text, sizeof(text));

	if (ret)
		return ret;
	if (!strcmp(text, "on"))
		return SWITCH_ON;
	return strcmp(text, "off") ? SWITCH_OTHER : SWITCH_OFF;
}

static int power_show(struct seq_file *m, void *unused)
{
	struct rknpu_device *rknpu = m->private;

	seq_puts(m, READ_ONCE(rknpu->nodes[0]->powered) ? "on\n" : "off\n");
	return 0;
}

static ssize_t power_write(struct rknpu_device *rknpu, const char __user *buf, size_t len)
{
	int ret = get_switch(buf, len);

	if (ret < 0)
		return ret;
	if (ret == SWITCH_ON)
		return rknpu_power_hold(rknpu) ?: len;
	if (ret == SWITCH_OFF)
		rknpu_power_let_go(rknpu);
	else
		dev_err(rknpu->drm.dev, "rknpu power node params is invalid!\n");
	return len;
}

static int freq_show(struct seq_file *m, void *unused)
{
	seq_printf(m, "%u\n", rknpu_power_rate(m->private));
	return 0;
}

/* Programs know one error for all that can't be done. */
static ssize_t freq_write(struct rknpu_device *rknpu, const char __user *buf, size_t len)
{
	struct rknpu_node *node = rknpu->nodes[0];
	u32 rate;
	int ret = get_number(buf, len, &rate);

	if (ret)
		return ret;
	return node->devfreq && !rknpu_devfreq_pin(node->devfreq, rate) ? len : -EFAULT;
}

static int volt_show(struct seq_file *m, void *unused)
{
	u32 microvolts;
	int ret = rknpu_power_voltage(m->private, &microvolts);

	if (!ret)
		seq_printf(m, "%u\n", microvolts);
	return ret;
}

static int delayms_show(struct seq_file *m, void *unused)
{
	struct rknpu_device *rknpu = m->private;

	seq_printf(m, "%d\n", rknpu->pm_dev->power.autosuspend_delay);
	return 0;
}

static ssize_t delayms_write(struct rknpu_device *rknpu, const char __user *buf, size_t len)
{
	u32 delay;
	int ret = get_number(buf, len, &delay);

	if (!ret && delay > INT_MAX)
		ret = -EFAULT;
	if (ret)
		return ret;
	rknpu_power_set_delay(rknpu, delay);
	return len;
}

static int reset_show(struct seq_file *m, void *unused)
{
	struct rknpu_device *rknpu = m->private;

	seq_puts(m, READ_ONCE(rknpu->no_reset) ? "off\n" : "on\n");
	return 0;
}

/*
 * "off" keeps a core that fails as it is, for somebody to look at; it is out of service then. "1"
 * wants clean cores, which the recovery keeps anyway.
 */
static ssize_t reset_write(struct rknpu_device *rknpu, const char __user *buf, size_t len)
{
	int ret = get_switch(buf, len);

	if (ret < 0)
		return ret;
	if (ret != SWITCH_OTHER)
		WRITE_ONCE(rknpu->no_reset, ret == SWITCH_OFF);
	return len;
}

static const struct rknpu_node_type {
	const char *name;
	int (*show)(struct seq_file *m, void *unused);
	/* What a script writes; NULL: accepted and ignored, as scripts expect */
	ssize_t (*write)(struct rknpu_device *rknpu, const char __user *buf, size_t len);
} node_types[] = {
	{ "version", version_show },
	{ "load", load_show },
	{ "mm", mm_show },
	{ "power", power_show, power_write },
	{ "freq", freq_show, freq_write },
	{ "volt", volt_show },
	{ "delayms", delayms_show, delayms_write },
	{ "reset", reset_show, reset_write },
};

/* One node of both folders: what a file is opened with */
struct rknpu_monitor {
	struct rknpu_device *rknpu;
	const struct rknpu_node_type *type;
};

static int monitor_open(struct file *file, struct rknpu_monitor *monitor)
{
	return single_open(file, monitor->type->show, monitor->rknpu);
}

static ssize_t monitor_write(struct rknpu_monitor *monitor, const char __user *buf, size_t len)
{
	return monitor->type->write ? monitor->type->write(monitor->rknpu, buf, len) : len;
}

static int node_open(struct inode *inode, struct file *file)
{
	return monitor_open(file, inode->i_private);
}

static ssize_t node_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	return monitor_write(file_inode(file)->i_private, buf, len);
}

static const struct file_operations node_fops = {
	.owner = THIS_MODULE,
	.open = node_open,
	.read = seq_read,
	.write = node_write,
	.llseek = seq_lseek,
	.release = single_release,
};

#ifdef CONFIG_ROCKCHIP_RKNPU_PROC_FS
static int proc_node_open(struct inode *inode, struct file *file)
{
	return monitor_open(file, pde_data(inode));
}

static ssize_t proc_node_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	return monitor_write(pde_data(file_inode(file)), buf, len);
}

static const struct proc_ops proc_node_ops = {
	.proc_open = proc_node_open,
	.proc_read = seq_read,
	.proc_write = proc_node_write,
	.proc_lseek = seq_lseek,
	.proc_release = single_release,
};

static void proc_init(struct rknpu_device *rknpu, struct rknpu_monitor *monitors)
{
	unsigned int i;

	rknpu->proc = proc_mkdir("rknpu", NULL);
	for (i = 0; rknpu->proc && i < ARRAY_SIZE(node_types); i++)
		proc_create_data(monitors[i].type->name, 0444, rknpu->proc, &proc_node_ops,
				 &monitors[i]);
}

static void proc_fini(struct rknpu_device *rknpu)
{
	proc_remove(rknpu->proc);
}
#else
static void proc_init(struct rknpu_device *rknpu, struct rknpu_monitor *monitors)
{
}

static void proc_fini(struct rknpu_device *rknpu)
{
}
#endif

/**
 * rknpu_debugfs_init() - make the nodes
 * @rknpu: the device, registered
 *
 * Without memory for them there are none.
 */
void rknpu_debugfs_init(struct rknpu_device *rknpu)
{
	struct rknpu_monitor *monitors;
	unsigned int i;

	monitors = drmm_kcalloc(&rknpu->drm, ARRAY_SIZE(node_types), sizeof(*monitors), GFP_KERNEL);
	if (!monitors)
		return;
	rknpu->debugfs = debugfs_create_dir("rknpu", NULL);
	for (i = 0; i < ARRAY_SIZE(node_types); i++) {
		monitors[i].rknpu = rknpu;
		monitors[i].type = &node_types[i];
		debugfs_create_file(node_types[i].name, 0444, rknpu->debugfs, &monitors[i],
				    &node_fops);
	}
	debugfs_create_file("clients", 0444, rknpu->debugfs, rknpu, &clients_fops);
	rknpu_fault_debugfs_init(rknpu->debugfs);
	proc_init(rknpu, monitors);
}

/**
 * rknpu_debugfs_fini() - remove the nodes; readers are done then
 * @rknpu: the device
 */
void rknpu_debugfs_fini(struct rknpu_device *rknpu)
{
	proc_fini(rknpu);
	debugfs_remove_recursive(rknpu->debugfs);
	rknpu_power_let_go(rknpu);
}
