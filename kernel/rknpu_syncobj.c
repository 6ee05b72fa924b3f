// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: Explicit fences
 *
 * The syncobjs that a job waits for and those that it signals, binary ones and timelines.
 */
#include <linux/dma-fence-chain.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <drm/drm_syncobj.h>
#include <drm/rknpu_drm.h>

#include "rknpu_drv.h"
#include "rknpu_fence.h"
#include "rknpu_syncobj.h"

static struct rknpu_syncobj *copy_list(u64 user, u32 num)
{
	struct rknpu_syncobj *list;
	u32 i;

	if (num > RKNPU_MAX_SYNCOBJS)
		return ERR_PTR(-EINVAL);
	list = vmemdup_user(u64_to_user_ptr(user), num * sizeof(*list));
	for (i = 0; !IS_ERR(list) && i < num; i++) {
		if (list[i].flags) {
			kvfree(list);
			return ERR_PTR(-EINVAL);
		}
	}
	return list;
}

static int add_wait(struct rknpu_file *file, struct rknpu_job *job,
		    const struct rknpu_syncobj *wait)
{
	struct dma_fence *fence;
	int ret;

	ret = drm_syncobj_find_fence(file->drm_file, wait->handle, wait->point, 0, &fence);
	return ret ? ret : rknpu_dep_add(job, fence, false);
}

/**
 * rknpu_syncobj_add_waits() - let a job wait for syncobjs
 * @file: where the handles are valid
 * @job: a job that has not been queued
 * @user: pointer of user space to &struct rknpu_syncobj
 * @num: how many of them
 *
 * Return: 0 or a negative errno.
 */
int rknpu_syncobj_add_waits(struct rknpu_file *file, struct rknpu_job *job, u64 user, u32 num)
{
	struct rknpu_syncobj *list;
	int ret = 0;
	u32 i;

	if (!num)
		return 0;
	list = copy_list(user, num);
	if (IS_ERR(list))
		return PTR_ERR(list);
	for (i = 0; !ret && i < num; i++)
		ret = add_wait(file, job, &list[i]);
	kvfree(list);
	return ret;
}

static int prepare(struct rknpu_signal *signal, struct rknpu_file *file,
		   const struct rknpu_syncobj *from)
{
	signal->syncobj = drm_syncobj_find(file->drm_file, from->handle);
	if (!signal->syncobj)
		return -ENOENT;
	signal->point = from->point;
	if (!from->point)
		return 0;
	signal->link = dma_fence_chain_alloc();
	return signal->link ? 0 : -ENOMEM;
}

/**
 * rknpu_signals_prepare() - look up syncobjs and allocate what it takes to give them a fence
 * @signals: zeroed; give it to rknpu_signals_free() whatever comes of it
 * @file: where the handles are valid
 * @user: pointer of user space to &struct rknpu_syncobj
 * @num: how many of them
 *
 * Return: 0 or a negative errno.
 */
int rknpu_signals_prepare(struct rknpu_signals *signals, struct rknpu_file *file, u64 user,
			  u32 num)
{
	struct rknpu_syncobj *list;
	int ret = 0;
	u32 i;

	if (!num)
		return 0;
	list = copy_list(user, num);
	if (IS_ERR(list))
		return PTR_ERR(list);
	signals->signal = kvcalloc(num, sizeof(*signals->signal), GFP_KERNEL);
	if (signals->signal)
		signals->num = num;
	else
		ret = -ENOMEM;
	for (i = 0; !ret && i < num; i++)
		ret = prepare(&signals->signal[i], file, &list[i]);
	kvfree(list);
	return ret;
}

/**
 * rknpu_signals_publish() - give the syncobjs their fence
 * @signals: prepared
 * @fence: the fence
 */
void rknpu_signals_publish(struct rknpu_signals *signals, struct dma_fence *fence)
{
	u32 i;

	for (i = 0; i < signals->num; i++) {
		struct rknpu_signal *signal = &signals->signal[i];

		if (signal->link)
			drm_syncobj_add_point(signal->syncobj, signal->link, fence, signal->point);
		else
			drm_syncobj_replace_fence(signal->syncobj, fence);
		signal->link = NULL;
	}
}

/**
 * rknpu_signals_free() - give back what was not used
 * @signals: published or not
 */
void rknpu_signals_free(struct rknpu_signals *signals)
{
	u32 i;

	for (i = 0; i < signals->num; i++) {
		struct rknpu_signal *signal = &signals->signal[i];

		dma_fence_chain_free(signal->link);
		if (signal->syncobj)
			drm_syncobj_put(signal->syncobj);
	}
	kvfree(signals->signal);
}
