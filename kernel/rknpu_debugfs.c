// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: debugfs
 *
 * The folder "rknpu" at the top of debugfs, where monitors expect it. The text is part of the ABI,
 * byte for byte. Reading a node never powers the NPU on.
 */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/seq_file.h>

#include "rknpu_debugfs.h"
#include "rknpu_device.h"
#include "rknpu_fault.h"
#include "rknpu_sched.h"

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

static int version_open(struct inode *inode, struct file *file)
{
	return single_open(file, version_show, inode->i_private);
}

static int load_open(struct inode *inode, struct file *file)
{
	return single_open(file, load_show, inode->i_private);
}

static int mm_open(struct inode *inode, struct file *file)
{
	return single_open(file, mm_show, inode->i_private);
}

/* Scripts write to nodes that take nothing, and expect success. */
static ssize_t ignore_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	return len;
}

static const struct file_operations version_fops = {
	.owner = THIS_MODULE,
	.open = version_open,
	.read = seq_read,
	.write = ignore_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static const struct file_operations load_fops = {
	.owner = THIS_MODULE,
	.open = load_open,
	.read = seq_read,
	.write = ignore_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static const struct file_operations mm_fops = {
	.owner = THIS_MODULE,
	.open = mm_open,
	.read = seq_read,
	.write = ignore_write,
	.llseek = seq_lseek,
	.release = single_release,
};

/**
 * rknpu_debugfs_init() - make the nodes
 * @rknpu: the device, registered
 */
void rknpu_debugfs_init(struct rknpu_device *rknpu)
{
	rknpu->debugfs = debugfs_create_dir("rknpu", NULL);
	debugfs_create_file("version", 0444, rknpu->debugfs, rknpu, &version_fops);
	debugfs_create_file("load", 0444, rknpu->debugfs, rknpu, &load_fops);
	debugfs_create_file("clients", 0444, rknpu->debugfs, rknpu, &clients_fops);
	debugfs_create_file("mm", 0444, rknpu->debugfs, rknpu, &mm_fops);
	rknpu_fault_debugfs_init(rknpu->debugfs);
}

/**
 * rknpu_debugfs_fini() - remove the nodes; readers are done then
 * @rknpu: the device
 */
void rknpu_debugfs_fini(struct rknpu_device *rknpu)
{
	debugfs_remove_recursive(rknpu->debugfs);
}
