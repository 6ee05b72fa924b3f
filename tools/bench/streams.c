// SPDX-License-Identifier: MIT
#include <errno.h>
#include <pthread.h>
#include <unistd.h>
#include <sys/wait.h>

#include "measure.h"
#include "npu_client.h"
#include "npu_control.h"
#include "npu_matmul.h"
#include "npu_soc.h"
#include "streams.h"

#define JOBS 200
/* What a job takes, in nanoseconds */
#define JOB_NS 100000

struct stream {
	unsigned int core;
	int go[2];   /* pipe on which it waits for the start */
	int told[2]; /* pipe on which it tells that it is ready, and that it has ended */
	pthread_t thread;
	pid_t process;
};

static void tell(int fd)
{
	if (write(fd, "", 1) != 1)
		die("a stream's pipe", -errno);
}

static void hear(int fd)
{
	char byte;

	if (read(fd, &byte, 1) != 1)
		die("a stream ended early", 0);
}

static void *run_stream(void *arg)
{
	struct stream *s = arg;
	struct rknpu_submit job;
	struct npu_matmul mm;
	unsigned int i;
	int fd = npu_open();

	must("a stream's device", fd < 0 ? fd : 0);
	must("a stream's buffers", npu_matmul_create(&mm, fd, 1, 64, 32, s->core));
	tell(s->told[1]);
	hear(s->go[0]);
	for (i = 0; i < JOBS; i++) {
		npu_matmul_job(&mm, &job, 1 << s->core, 0, 1);
		must("a stream's job", npu_submit(fd, &job));
	}
	tell(s->told[1]);
	if (npu_matmul_wrong(&mm, 0, 1))
		die("a stream has computed something wrong", 0);
	npu_matmul_destroy(&mm);
	close(fd);
	return NULL;
}

static void start_stream(struct stream *s, bool process)
{
	if (pipe(s->go) || pipe(s->told))
		die("a stream's pipe", -errno);
	if (!process) {
		must("a stream's thread", -pthread_create(&s->thread, NULL, run_stream, s));
		return;
	}
	s->process = fork();
	if (s->process < 0)
		die("a stream's process", -errno);
	if (!s->process) {
		run_stream(s);
		_exit(0);
	}
}

static void end_stream(struct stream *s, bool process)
{
	int status = 0;

	if (!process)
		pthread_join(s->thread, NULL);
	else if (waitpid(s->process, &status, 0) != s->process || status)
		die("a stream's process", 0);
	close(s->go[0]);
	close(s->go[1]);
	close(s->told[0]);
	close(s->told[1]);
}

__u32 run_streams(unsigned int number, bool processes)
{
	struct stream stream[NPU_MAX_CORES] = {};
	unsigned int i;
	__u32 start;

	npu_instant(false);
	for (i = 0; i < number; i++) {
		npu_fault(i, VNPU_FAULT_SLOW, JOB_NS);
		stream[i].core = i;
		start_stream(&stream[i], processes);
		hear(stream[i].told[0]);
	}
	start = now();
	for (i = 0; i < number; i++)
		tell(stream[i].go[1]);
	for (i = 0; i < number; i++)
		hear(stream[i].told[0]);
	start = now() - start;
	for (i = 0; i < number; i++)
		end_stream(&stream[i], processes);
	npu_fault_none();
	return start;
}
