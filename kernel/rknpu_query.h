/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _RKNPU_QUERY_H_
#define _RKNPU_QUERY_H_

struct rknpu_file;
struct rknpu_get_param;
struct rknpu_mem_info;

int rknpu_get_param(struct rknpu_file *file, struct rknpu_get_param *args);
int rknpu_mem_info(struct rknpu_file *file, struct rknpu_mem_info *args);

#endif
