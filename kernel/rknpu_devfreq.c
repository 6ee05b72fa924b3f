// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: Frequency and voltage
 *
 * The operating points of the device tree, through devfreq and with its governors. What the cores
 * did is taken from their load records when devfreq asks; jobs do nothing for it.
 *
 * The core clock is the firmware's on most SoCs, and some firmware hangs when it is to raise the
 * clock of an NPU that has no power. So a rate is set while there is power and only then. Without,
 * it is noted, and set when power comes; before power goes, the clock is brought down to a rate
 * that firmware is at ease with.
 *
 * Whatever is missing (no operating points, no clock), the NPU works at the rate that it has.
 */
#include <linux/clk.h>
#include <linux/devfreq.h>
#include <linux/device.h>
#include <linux/of.h>
#include <linux/pm_opp.h>
#include <linux/pm_qos.h>
#include <linux/pm_runtime.h>
#include <linux/regulator/consumer.h>
#include <linux/units.h>

#include "rknpu_compat.h"
#include "rknpu_devfreq.h"
#include "rknpu_device.h"
#include "rknpu_sched.h"

/* How often devfreq looks at the load, as programs know it from the vendor's driver */
#define RKNPU_DEVFREQ_POLL_MS 50

/* The highest rate that the clock may have while the NPU has no power */
#define RKNPU_DEVFREQ_OFF_HZ 200000000

/* Busier than the first, in percent: as fast as can be. Down from the first less the second. */
#define RKNPU_DEVFREQ_UP 80
#define RKNPU_DEVFREQ_DOWN 20

#define RKNPU_NUM_SUPPLIES 2

/**
 * struct rknpu_devfreq - frequency scaling of an NPU
 */
struct rknpu_devfreq {
	/** @rknpu: the device */
	struct rknpu_device *rknpu;
	/** @node: the node whose operating points, clock and supplies are used */
	struct rknpu_node *node;
	/** @devfreq: our end of the framework */
	struct devfreq *devfreq;
	/** @profile: what the framework calls */
	struct devfreq_dev_profile profile;
	/** @ondemand: thresholds of the governor that is used at first */
	struct devfreq_simple_ondemand_data ondemand;
	/** @num_supplies: how many of the node's supplies the operating points have voltages for */
	unsigned int num_supplies;
	/** @lowest: request of the file "freq" for at least this rate */
	struct dev_pm_qos_request lowest;
	/** @highest: request of the file "freq" for at most this rate */
	struct dev_pm_qos_request highest;
	/** @lock: protects @rate, @on and the clock's rate; inside devfreq's own */
	struct mutex lock;
	/** @rate: what was decided for; the clock has it while there is power */
	unsigned long rate;
	/** @on: there is power */
	bool on;
	/** @seen: when devfreq asked last, in nanoseconds */
	u64 seen;
	/** @busy: busy time of each core until then */
	u64 busy[RKNPU_DISPATCH_MAX_CORES];
};

static struct rknpu_devfreq *to_df(struct device *dev)
{
	struct rknpu_node *node = dev_get_drvdata(dev);

	return node->devfreq;
}

/* Memories need at least the voltage of the logic, so they come first on the way up. */
static int set_voltages(struct rknpu_devfreq *df, struct dev_pm_opp *opp, bool up)
{
	struct dev_pm_opp_supply volt[RKNPU_NUM_SUPPLIES];
	unsigned int i;
	int ret;

	if (!df->num_supplies)
		return 0;
	ret = dev_pm_opp_get_supplies(opp, volt);
	for (i = 0; !ret && i < df->num_supplies; i++) {
		unsigned int n = up ? df->num_supplies - 1 - i : i;

		ret = regulator_set_voltage_triplet(df->node->supplies[n], volt[n].u_volt_min,
						    volt[n].u_volt, volt[n].u_volt_max);
	}
	return ret;
}

/* At every moment the voltage is enough for the rate. With @lock held, and power on. */
static int set_opp(struct rknpu_devfreq *df, struct dev_pm_opp *opp)
{
	unsigned long rate = dev_pm_opp_get_freq(opp);
	struct clk *clk = df->node->core_clk;
	bool up = rate > clk_get_rate(clk);
	int ret = 0;

	if (up)
		ret = set_voltages(df, opp, true);
	if (!ret)
		ret = clk_set_rate(clk, rate);
	if (!ret && !up)
		ret = set_voltages(df, opp, false);
	return ret;
}

static int target(struct device *dev, unsigned long *freq, u32 flags)
{
	struct rknpu_devfreq *df = to_df(dev);
	struct dev_pm_opp *opp = devfreq_recommended_opp(dev, freq, flags);
	int ret = 0;

	if (IS_ERR(opp))
		return PTR_ERR(opp);
	mutex_lock(&df->lock);
	if (df->on && *freq != df->rate)
		ret = set_opp(df, opp);
	if (!ret)
		df->rate = *freq;
	mutex_unlock(&df->lock);
	dev_pm_opp_put(opp);
	return ret;
}

/* The busiest core counts: jobs of one core are as much in a hurry as those of all. */
static int get_dev_status(struct device *dev, struct devfreq_dev_status *stat)
{
	struct rknpu_devfreq *df = to_df(dev);
	struct rknpu_device *rknpu = df->rknpu;
	unsigned int i;
	u64 now;

	stat->busy_time = 0;
	scoped_guard(rknpu_jobs, rknpu) {
		now = ktime_get_ns();
		for (i = 0; i < rknpu->num_cores; i++) {
			u64 busy = rknpu_load_busy_ns(&rknpu->cores[i].load, now);

			stat->busy_time = max_t(u64, stat->busy_time, busy - df->busy[i]);
			df->busy[i] = busy;
		}
	}
	stat->total_time = now - df->seen;
	df->seen = now;
	stat->current_frequency = READ_ONCE(df->rate);
	return 0;
}

static int get_cur_freq(struct device *dev, unsigned long *freq)
{
	*freq = READ_ONCE(to_df(dev)->rate);
	return 0;
}

/**
 * rknpu_devfreq_power_on() - power has come: the rate may be set
 * @df: the NPU's scaling, or NULL
 */
void rknpu_devfreq_power_on(struct rknpu_devfreq *df)
{
	struct dev_pm_opp *opp;
	int ret;

	if (!df)
		return;
	mutex_lock(&df->lock);
	df->on = true;
	opp = dev_pm_opp_find_freq_exact(df->node->dev, df->rate, true);
	ret = IS_ERR(opp) ? PTR_ERR(opp) : set_opp(df, opp);
	if (!IS_ERR(opp))
		dev_pm_opp_put(opp);
	mutex_unlock(&df->lock);
	if (ret)
		dev_warn(df->node->dev, "can't set the clock to %lu Hz: %pe\n", df->rate,
			 ERR_PTR(ret));
	df->seen = ktime_get_ns();
	devfreq_resume_device(df->devfreq);
}

/**
 * rknpu_devfreq_power_off() - power is about to go
 * @df: the NPU's scaling, or NULL
 */
void rknpu_devfreq_power_off(struct rknpu_devfreq *df)
{
	if (!df)
		return;
	devfreq_suspend_device(df->devfreq);
	mutex_lock(&df->lock);
	if (clk_get_rate(df->node->core_clk) > RKNPU_DEVFREQ_OFF_HZ)
		clk_set_rate(df->node->core_clk, RKNPU_DEVFREQ_OFF_HZ);
	df->on = false;
	mutex_unlock(&df->lock);
}

/**
 * rknpu_devfreq_rate() - clock rate of the cores
 * @df: the NPU's scaling
 *
 * Needs no power: without, it is the rate that jobs will run at.
 *
 * Return: Hz.
 */
u32 rknpu_devfreq_rate(struct rknpu_devfreq *df)
{
	guard(mutex)(&df->lock);
	return df->on ? clk_get_rate(df->node->core_clk) : df->rate;
}

/**
 * rknpu_devfreq_pin() - stay at one rate
 * @df: the NPU's scaling
 * @rate: Hz, taken to the lowest operating point that is not below it, or else the highest one; 0:
 *        let the governor decide again
 *
 * Context: may sleep.
 * Return: 0 or a negative errno.
 */
int rknpu_devfreq_pin(struct rknpu_devfreq *df, u32 rate)
{
	s32 lowest = 0, highest = PM_QOS_MAX_FREQUENCY_DEFAULT_VALUE;
	unsigned long freq = rate;
	struct dev_pm_opp *opp;
	int ret;

	if (rate) {
		opp = dev_pm_opp_find_freq_ceil(df->node->dev, &freq);
		if (IS_ERR(opp)) {
			freq = ULONG_MAX;
			opp = dev_pm_opp_find_freq_floor(df->node->dev, &freq);
		}
		if (IS_ERR(opp))
			return PTR_ERR(opp);
		dev_pm_opp_put(opp);
		lowest = freq / HZ_PER_KHZ;
		highest = DIV_ROUND_UP(freq, HZ_PER_KHZ);
	}
	ret = dev_pm_qos_update_request(&df->highest, highest);
	if (ret >= 0)
		ret = dev_pm_qos_update_request(&df->lowest, lowest);
	return min(ret, 0);
}

/* Voltages for how many supplies an operating point has, and its limits to certain chips */
static int look_at_points(struct device *dev, unsigned int *num_voltages, unsigned int *num_limits)
{
	struct device_node *table = dev_pm_opp_of_get_opp_desc_node(dev);
	struct device_node *point = table ? of_get_next_available_child(table, NULL) : NULL;
	int num;

	of_node_put(table);
	if (!point)
		return -ENODEV;
	num = of_property_count_u32_elems(point, "opp-microvolt");
	/* One value or three for each. */
	*num_voltages = num <= 0 ? 0 : num % 3 ? num : num / 3;
	num = of_property_count_u32_elems(point, "opp-supported-hw");
	*num_limits = max(num, 0);
	of_node_put(point);
	return 0;
}

static int add_points(struct rknpu_devfreq *df)
{
	/* Of chips sorted by quality this is the first kind, whose points all others have. */
	static const unsigned int first_kind[] = { BIT(0), BIT(0) };
	struct rknpu_node *node = df->node;
	const char *names[RKNPU_NUM_SUPPLIES + 1] = {};
	struct dev_pm_opp_config config = {};
	unsigned int num_voltages, num_limits, i;
	int ret;

	ret = look_at_points(node->dev, &num_voltages, &num_limits);
	if (ret)
		return ret;
	if (num_voltages > RKNPU_NUM_SUPPLIES || num_limits > ARRAY_SIZE(first_kind))
		return -EINVAL;
	if (node->supplies[0]) {
		for (i = 0; i < num_voltages; i++)
			names[i] = node->supply_names[i];
		df->num_supplies = num_voltages;
	}
	if (df->num_supplies)
		config.regulator_names = names;
	if (num_limits) {
		config.supported_hw = first_kind;
		config.supported_hw_count = num_limits;
	}
	if (config.regulator_names || config.supported_hw) {
		ret = devm_pm_opp_set_config(node->dev, &config);
		if (ret)
			return ret;
	}
	return devm_pm_opp_of_add_table(node->dev);
}

/* Nobody can raise the voltage: nothing that needs more than the rate that the clock has now. */
static void stay_at_voltage(struct rknpu_devfreq *df, unsigned long rate)
{
	struct device *dev = df->node->dev;
	struct dev_pm_opp *opp = dev_pm_opp_find_freq_ceil(dev, &rate);
	unsigned int num = 0;
	unsigned long uv;

	if (IS_ERR(opp))
		return;
	uv = dev_pm_opp_get_voltage(opp);
	dev_pm_opp_put(opp);
	for (rate = 0; !IS_ERR(opp = dev_pm_opp_find_freq_ceil(dev, &rate)); rate++) {
		bool more = dev_pm_opp_get_voltage(opp) > uv;

		dev_pm_opp_put(opp);
		if (more && !dev_pm_opp_disable(dev, rate))
			num++;
	}
	if (num)
		dev_info(dev, "no supply to raise: %u operating points above %lu uV are not used\n",
			 num, uv);
}

static int start(struct rknpu_devfreq *df)
{
	struct device *dev = df->node->dev;
	struct dev_pm_opp *opp;
	int ret;

	if (!df->node->core_clk)
		return -ENOENT;
	ret = add_points(df);
	if (ret)
		return ret;
	df->rate = clk_get_rate(df->node->core_clk);
	if (!df->num_supplies)
		stay_at_voltage(df, df->rate);
	opp = devfreq_recommended_opp(dev, &df->rate, 0);
	if (IS_ERR(opp))
		return PTR_ERR(opp);
	df->on = true;
	mutex_lock(&df->lock);
	ret = set_opp(df, opp);
	mutex_unlock(&df->lock);
	dev_pm_opp_put(opp);
	if (ret)
		return ret;

	df->ondemand.upthreshold = RKNPU_DEVFREQ_UP;
	df->ondemand.downdifferential = RKNPU_DEVFREQ_DOWN;
	df->profile.polling_ms = RKNPU_DEVFREQ_POLL_MS;
	df->profile.timer = DEVFREQ_TIMER_DELAYED;
	df->profile.initial_freq = df->rate;
	df->profile.target = target;
	df->profile.get_dev_status = get_dev_status;
	df->profile.get_cur_freq = get_cur_freq;
	df->profile.is_cooling_device = of_property_present(dev->of_node, "#cooling-cells");
	df->seen = ktime_get_ns();

	ret = dev_pm_qos_add_request(dev, &df->highest, DEV_PM_QOS_MAX_FREQUENCY,
				     PM_QOS_MAX_FREQUENCY_DEFAULT_VALUE);
	if (ret < 0)
		return ret;
	ret = dev_pm_qos_add_request(dev, &df->lowest, DEV_PM_QOS_MIN_FREQUENCY, 0);
	if (ret < 0)
		goto err_highest;
	df->node->devfreq = df;
	df->devfreq = devfreq_add_device(dev, &df->profile, DEVFREQ_GOV_SIMPLE_ONDEMAND,
					 &df->ondemand);
	if (!IS_ERR(df->devfreq))
		return 0;

	df->node->devfreq = NULL;
	ret = PTR_ERR(df->devfreq);
	dev_pm_qos_remove_request(&df->lowest);
err_highest:
	dev_pm_qos_remove_request(&df->highest);
	return ret;
}

/**
 * rknpu_devfreq_init() - scale frequency and voltage, if the device tree tells how
 * @rknpu: the device; power is on and stays so meanwhile
 */
void rknpu_devfreq_init(struct rknpu_device *rknpu)
{
	struct rknpu_node *node = rknpu->nodes[0];
	struct rknpu_devfreq *df = devm_kzalloc(node->dev, sizeof(*df), GFP_KERNEL);
	int ret = -ENOMEM;

	if (df) {
		df->rknpu = rknpu;
		df->node = node;
		mutex_init(&df->lock);
		ret = start(df);
	}
	if (ret)
		dev_info(node->dev, "the clock stays as it is: no operating points (%pe)\n",
			 ERR_PTR(ret));
}

/**
 * rknpu_devfreq_fini() - leave frequency and voltage alone
 * @rknpu: the device; its power may be on or off, and nobody but its delay switches it
 */
void rknpu_devfreq_fini(struct rknpu_device *rknpu)
{
	struct rknpu_node *node = rknpu->nodes[0];
	struct rknpu_devfreq *df = node->devfreq;

	if (!df)
		return;
	/* No change from here on, and none under way. */
	pm_runtime_get_noresume(node->dev);
	pm_runtime_barrier(node->dev);
	if (df->on)
		rknpu_devfreq_power_off(df);
	devfreq_remove_device(df->devfreq);
	dev_pm_qos_remove_request(&df->lowest);
	dev_pm_qos_remove_request(&df->highest);
	node->devfreq = NULL;
	mutex_destroy(&df->lock);
	pm_runtime_put_noidle(node->dev);
}
