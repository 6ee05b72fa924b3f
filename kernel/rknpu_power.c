// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: Power for jobs
 *
 * Jobs come one after the other, and to ask runtime PM for each of them would cost more than to
 * start it. So the device keeps a reference of its own from the first job on, and gives it back
 * when no job has come for a while. Runtime PM's own delay runs from then on.
 */
#include <linux/clk.h>
#include <linux/pm_runtime.h>
#include <linux/regulator/consumer.h>

#include "rknpu_devfreq.h"
#include "rknpu_device.h"
#include "rknpu_power.h"

/* How often to look whether jobs still come */
#define RKNPU_POWER_KEEP_MS 100

static void keep_on(struct rknpu_power *power)
{
	queue_delayed_work(system_power_efficient_wq, &power->keep_work,
			   msecs_to_jiffies(RKNPU_POWER_KEEP_MS));
}

/* Gives the device's reference back, unless jobs have power. */
static bool give_back(struct rknpu_device *rknpu)
{
	if (atomic_cmpxchg(&rknpu->power.users, 1, 0) != 1)
		return false;
	pm_runtime_mark_last_busy(rknpu->pm_dev);
	pm_runtime_put_autosuspend(rknpu->pm_dev);
	return true;
}

static void rknpu_keep_work(struct work_struct *work)
{
	struct rknpu_device *rknpu =
		container_of(to_delayed_work(work), struct rknpu_device, power.keep_work);
	struct rknpu_power *power = &rknpu->power;

	if (xchg(&power->used, false) || !give_back(rknpu))
		keep_on(power);
}

/**
 * rknpu_power_init() - get ready
 * @rknpu: the device
 */
void rknpu_power_init(struct rknpu_device *rknpu)
{
	mutex_init(&rknpu->power.lock);
	INIT_DELAYED_WORK(&rknpu->power.keep_work, rknpu_keep_work);
}

/**
 * rknpu_power_fini() - keep power no longer
 * @rknpu: the device, without jobs for good
 */
void rknpu_power_fini(struct rknpu_device *rknpu)
{
	cancel_delayed_work_sync(&rknpu->power.keep_work);
	give_back(rknpu);
	mutex_destroy(&rknpu->power.lock);
}

/**
 * rknpu_power_forget_failure() - let a node try again to get power
 * @dev: the node
 *
 * Runtime PM remembers a resume that failed, and refuses all later ones. Does nothing to a node
 * that has not failed.
 */
void rknpu_power_forget_failure(struct device *dev)
{
	pm_runtime_set_suspended(dev);
}

static void forget_failures(struct rknpu_device *rknpu)
{
	unsigned int i;

	for (i = 0; i < rknpu->num_nodes; i++)
		rknpu_power_forget_failure(rknpu->nodes[i]->dev);
}

/**
 * rknpu_power_resume() - power all nodes, with a reference of runtime PM
 * @rknpu: the device
 *
 * Return: 0 or a negative errno; then the nodes are off, and can be tried again.
 */
int rknpu_power_resume(struct rknpu_device *rknpu)
{
	int ret;

	/* Also what failed elsewhere, as when the system woke up. */
	forget_failures(rknpu);
	ret = pm_runtime_resume_and_get(rknpu->pm_dev);
	if (ret)
		forget_failures(rknpu);
	return ret;
}

/**
 * rknpu_power_get() - keep the NPU powered from now on
 * @rknpu: the device
 *
 * Context: may sleep.
 * Return: 0, or a negative errno when power can't be had.
 */
int rknpu_power_get(struct rknpu_device *rknpu)
{
	struct rknpu_power *power = &rknpu->power;
	int ret;

	if (atomic_inc_not_zero(&power->users))
		return 0;

	guard(mutex)(&power->lock);
	if (atomic_inc_not_zero(&power->users))
		return 0;
	ret = rknpu_power_resume(rknpu);
	if (ret)
		return ret;
	atomic_set(&power->users, 2);
	keep_on(power);
	return 0;
}

/**
 * rknpu_power_put() - undo rknpu_power_get()
 * @rknpu: the device
 *
 * Context: any.
 */
void rknpu_power_put(struct rknpu_device *rknpu)
{
	WRITE_ONCE(rknpu->power.used, true);
	/* Before the last user is seen to be gone. */
	smp_mb__before_atomic();
	atomic_dec(&rknpu->power.users);
}

/**
 * rknpu_power_hold() - keep the NPU powered until rknpu_power_let_go()
 * @rknpu: the device
 *
 * Return: 0, also when it is kept already, or a negative errno when power can't be had.
 */
int rknpu_power_hold(struct rknpu_device *rknpu)
{
	int ret = rknpu_power_get(rknpu);

	if (!ret && xchg(&rknpu->power.held, true))
		rknpu_power_put(rknpu);
	return ret;
}

/**
 * rknpu_power_let_go() - undo rknpu_power_hold(), however often that was called
 * @rknpu: the device
 */
void rknpu_power_let_go(struct rknpu_device *rknpu)
{
	if (xchg(&rknpu->power.held, false))
		rknpu_power_put(rknpu);
}

/**
 * rknpu_power_set_delay() - change how long the NPU keeps power after the last job
 * @rknpu: the device
 * @delay: milliseconds
 */
void rknpu_power_set_delay(struct rknpu_device *rknpu, int delay)
{
	unsigned int i;

	for (i = 0; i < rknpu->num_nodes; i++)
		pm_runtime_set_autosuspend_delay(rknpu->nodes[i]->dev, delay);
}

/**
 * rknpu_power_rate() - clock rate of the cores
 * @rknpu: the device, not unplugged
 *
 * Context: may sleep. Needs no power.
 * Return: Hz, 0 if nobody knows.
 */
u32 rknpu_power_rate(struct rknpu_device *rknpu)
{
	struct rknpu_node *node = rknpu->nodes[0];

	return node->devfreq ? rknpu_devfreq_rate(node->devfreq) : clk_get_rate(node->core_clk);
}

/**
 * rknpu_power_voltage() - voltage of the cores
 * @rknpu: the device, not unplugged
 * @value: microvolts; 0 without a regulator: nobody knows, and programs want an answer all the same
 *
 * Context: may sleep. Needs no power.
 * Return: 0 or a negative errno.
 */
int rknpu_power_voltage(struct rknpu_device *rknpu, u32 *value)
{
	struct regulator *supply = rknpu->nodes[0]->supplies[0];
	int uv = supply ? regulator_get_voltage(supply) : 0;

	*value = max(uv, 0);
	return min(uv, 0);
}
