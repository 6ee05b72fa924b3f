// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: Implicit fences
 *
 * Buffers carry the fences of those who use them, in a reservation object that all drivers share. A
 * job that names its buffers waits for what it finds there and leaves its own fence. All of them
 * are locked while that happens and the job is queued, so two jobs that use the same buffers see
 * each other in one order.
 */
#include <linux/dma-resv.h>
#include <linux/mm.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <drm/drm_gem.h>
#include <drm/rknpu_drm.h>

#include "rknpu_drv.h"
#include "rknpu_fence.h"
#include "rknpu_implicit.h"
#include "rknpu_job.h"

/* A buffer and how it is used */
struct use {
	struct drm_gem_object *obj;
	bool write;
};

static int compare_uses(const void *a, const void *b)
{
	const struct use *first = a, *second = b;

	if (first->obj->resv == second->obj->resv)
		return 0;
	return first->obj->resv < second->obj->resv ? -1 : 1;
}

static void put_uses(struct use *uses, u32 num)
{
	while (num--)
		drm_gem_object_put(uses[num].obj);
	kvfree(uses);
}

static struct use *look_up(struct rknpu_file *file, const struct rknpu_buffer *list, u32 num)
{
	struct use *uses = kvmalloc_array(num, sizeof(*uses), GFP_KERNEL);
	int ret = 0;
	u32 i;

	if (!uses)
		return ERR_PTR(-ENOMEM);
	for (i = 0; i < num; i++) {
		if (!list[i].flags || list[i].flags & ~(RKNPU_BUFFER_READ | RKNPU_BUFFER_WRITE)) {
			ret = -EINVAL;
			break;
		}
		uses[i].obj = drm_gem_object_lookup(file->drm_file, list[i].handle);
		if (!uses[i].obj) {
			ret = -ENOENT;
			break;
		}
		uses[i].write = list[i].flags & RKNPU_BUFFER_WRITE;
	}
	if (ret) {
		put_uses(uses, i);
		return ERR_PTR(ret);
	}
	return uses;
}

/*
 * Hands the buffers to the job: first one for each reservation object, as that can be locked once
 * only; then the others.
 */
static int take_over(struct rknpu_implicit *implicit, struct rknpu_job *job, struct use *uses,
		     u32 num)
{
	u32 i, first = 0, last = num;

	implicit->write = kvmalloc_array(num, sizeof(*implicit->write), GFP_KERNEL);
	job->num_buffers = 0;
	job->buffers = kvmalloc_array(num, sizeof(*job->buffers), GFP_KERNEL);
	if (!implicit->write || !job->buffers)
		return -ENOMEM;

	sort(uses, num, sizeof(*uses), compare_uses, NULL);
	for (i = 0; i < num; i++) {
		if (first && job->buffers[first - 1]->resv == uses[i].obj->resv) {
			implicit->write[first - 1] |= uses[i].write;
			job->buffers[--last] = uses[i].obj;
		} else {
			implicit->write[first] = uses[i].write;
			job->buffers[first++] = uses[i].obj;
		}
	}
	job->num_buffers = num;
	implicit->objs = job->buffers;
	implicit->num = first;
	return 0;
}

/**
 * rknpu_implicit_prepare() - look up the buffers that a job uses
 * @implicit: zeroed; give it to rknpu_implicit_free() whatever comes of it
 * @file: where the handles are valid
 * @job: a job that has not been queued; keeps the buffers from now on
 * @user: pointer of user space to &struct rknpu_buffer
 * @num: how many of them
 *
 * Return: 0 or a negative errno.
 */
int rknpu_implicit_prepare(struct rknpu_implicit *implicit, struct rknpu_file *file,
			   struct rknpu_job *job, u64 user, u32 num)
{
	struct rknpu_buffer *list;
	struct use *uses;
	int ret;

	if (!num)
		return 0;
	if (num > RKNPU_MAX_BUFFERS)
		return -EINVAL;
	list = vmemdup_user(u64_to_user_ptr(user), num * sizeof(*list));
	if (IS_ERR(list))
		return PTR_ERR(list);
	uses = look_up(file, list, num);
	kvfree(list);
	if (IS_ERR(uses))
		return PTR_ERR(uses);

	ret = take_over(implicit, job, uses, num);
	if (ret)
		put_uses(uses, num);
	else
		kvfree(uses);
	return ret;
}

/* Lets the job wait for who uses the buffer, and makes room for its own fence. */
static int order(struct rknpu_job *job, struct dma_resv *resv, bool write)
{
	struct dma_resv_iter cursor;
	struct dma_fence *fence;
	int ret;

	ret = dma_resv_reserve_fences(resv, 1);
	if (ret)
		return ret;
	dma_resv_for_each_fence(&cursor, resv, dma_resv_usage_rw(write), fence) {
		if (dma_fence_is_signaled(fence))
			continue;
		ret = rknpu_dep_add(job, dma_fence_get(fence), true);
		if (ret)
			return ret;
	}
	return 0;
}

/**
 * rknpu_implicit_lock() - lock the buffers and let a job wait for those who use them
 * @implicit: prepared
 * @job: the job
 *
 * Return: 0, or a negative errno with nothing locked; -ERESTARTSYS after a signal.
 */
int rknpu_implicit_lock(struct rknpu_implicit *implicit, struct rknpu_job *job)
{
	int ret;
	u32 i;

	if (!implicit->num)
		return 0;
	ret = drm_gem_lock_reservations(implicit->objs, implicit->num, &implicit->ctx);
	if (ret)
		return ret;
	for (i = 0; !ret && i < implicit->num; i++)
		ret = order(job, implicit->objs[i]->resv, implicit->write[i]);
	if (ret)
		rknpu_implicit_unlock(implicit);
	return ret;
}

/**
 * rknpu_implicit_publish() - leave the fence of a job on its buffers
 * @implicit: locked
 * @fence: the fence
 */
void rknpu_implicit_publish(struct rknpu_implicit *implicit, struct dma_fence *fence)
{
	u32 i;

	for (i = 0; i < implicit->num; i++)
		dma_resv_add_fence(implicit->objs[i]->resv, fence,
				   implicit->write[i] ? DMA_RESV_USAGE_WRITE : DMA_RESV_USAGE_READ);
}

/**
 * rknpu_implicit_unlock() - undo rknpu_implicit_lock()
 * @implicit: locked
 */
void rknpu_implicit_unlock(struct rknpu_implicit *implicit)
{
	if (implicit->num)
		drm_gem_unlock_reservations(implicit->objs, implicit->num, &implicit->ctx);
}

/**
 * rknpu_implicit_free() - undo rknpu_implicit_prepare(), but for what the job keeps
 * @implicit: not locked
 */
void rknpu_implicit_free(struct rknpu_implicit *implicit)
{
	kvfree(implicit->write);
}

/**
 * rknpu_implicit_put_buffers() - give back the buffers that a job keeps
 * @job: a job that is being freed
 */
void rknpu_implicit_put_buffers(struct rknpu_job *job)
{
	u32 i;

	for (i = 0; i < job->num_buffers; i++)
		drm_gem_object_put(job->buffers[i]);
	kvfree(job->buffers);
}
