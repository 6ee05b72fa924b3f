# SPDX-License-Identifier: MIT
"""Jobs, and queues in which they run meanwhile."""

import collections
import ctypes as c
import enum
import math

import numpy as np

from . import _native as native
from .memory import Access, places


class Block(enum.IntFlag):
    CNA = 1
    CORE = 4
    DPU = 8
    DPU_RDMA = 16
    PPU = 32
    PPU_RDMA = 64


class Job(native.Handle):
    """
    Command lists, ready to be run any number of times.

    chains: for each core a list of tasks, each a pair of commands (an array of uint64, as assemble() gives) and blocks to
    start. Buffers that the commands name must live while the job runs, or be given to keep().
    """

    _free = "job_free"

    def __init__(self, device, chains, domain=0):
        arrays = [[(np.ascontiguousarray(commands, dtype=np.uint64), int(blocks)) for commands, blocks in tasks]
                  for tasks in chains]
        lists = [(native.TaskCommands * len(tasks))(*(native.TaskCommands(
            commands.ctypes.data_as(c.POINTER(c.c_uint64)), commands.size, blocks) for commands, blocks in tasks))
                 for tasks in arrays]
        native_chains = (native.TaskChain * len(lists))(*(native.TaskChain(tasks, len(tasks)) for tasks in lists))
        super().__init__(native.created("job_create_gang", device.handle, native_chains, len(lists), domain))

    def keep(self, buffer, access=Access.READ_WRITE):
        native.call("job_keep", self.handle, buffer.handle, int(access))

    def run(self, cores=0, timeout=6.0):
        """Runs the job and waits for its end; timeout in seconds. Gives the time on the hardware in seconds."""
        nanoseconds = c.c_uint64()
        native.call("job_run", self.handle, cores, milliseconds(timeout), c.byref(nanoseconds))
        return nanoseconds.value * 1e-9


def milliseconds(seconds):
    return max(1, math.ceil(seconds * 1000))


class Submission(native.Handle):
    """A job or an operator that was given to a queue."""

    _free = "submission_free"

    def done(self):
        return self.wait_for(0)

    def wait_for(self, seconds):
        """Whether it ended within that time."""
        ended = c.c_int()
        native.call("submission_wait_for", self.handle, int(seconds * 1e9), c.byref(ended))
        return bool(ended.value)

    def wait(self):
        """Waits for the end; gives hardware_ns, tasks and cores, or raises what went wrong."""
        result = native.RunResult()
        native.call("submission_wait", self.handle, c.byref(result), c.sizeof(result))
        return result

    def fence(self):
        """A new sync file that signals at the end."""
        return native.given_file("submission_fence", self.handle)

    def cancel(self):
        native.call("submission_cancel", self.handle)


class Queue(native.Handle):
    """Jobs that run side by side, as cores become free. Closing it cancels what has not ended."""

    _free = "queue_free"

    def __init__(self, device):
        super().__init__(native.created("queue_create", device.handle))

    def submit(self, job, *, cores=0, timeout=6.0, priority=0, wait_for=(), after=(), keep=()):
        """
        cores, timeout: as Job.run has them. wait_for: sync files; after: submissions of this queue; keep: pairs of a
        Buffer that the submission uses, beside those given to Job.keep, and an Access.
        """
        options = _options(cores, timeout, priority, wait_for, after, keep)
        return Submission(native.created("queue_submit", self.handle, job.handle, c.byref(options)))

    def submit_batch(self, jobs, *, timeout=6.0, priority=0, wait_for=(), after=(), keep=()):
        """Jobs that run one after the other."""
        jobs = list(jobs)
        handles = (c.c_void_p * len(jobs))(*(job.handle for job in jobs))
        submitted = (c.c_void_p * len(jobs))()
        options = _options(0, timeout, priority, wait_for, after, keep)
        native.call("queue_submit_batch", self.handle, handles, len(jobs), c.byref(options), submitted)
        return [Submission(c.c_void_p(handle)) for handle in submitted]

    def cancel(self):
        native.call("queue_cancel", self.handle)

    def wait_idle(self):
        native.call("queue_wait_idle", self.handle)


def _options(cores, timeout, priority, wait_for, after, keep):
    uses = [native.BufferUse(buffer.handle, int(access)) for buffer, access in keep]
    fences = [native.fileno(file) for file in wait_for]
    before = [submission.handle for submission in after]
    return native.SubmitOptions(cores=cores, timeout_ms=milliseconds(timeout), priority=priority,
                                wait_for=(c.c_int * len(fences))(*fences), wait_for_count=len(fences),
                                after=(c.c_void_p * len(before))(*before), after_count=len(before),
                                keep=(native.BufferUse * len(uses))(*uses), keep_count=len(uses))


class QueuedOperator(native.Handle):
    """An operator that is run at once, or that queues take."""

    _name = ""

    def _run(self, call, views, cores, timeout):
        nanoseconds = c.c_uint64()
        native.call(call, self.handle, *places(views), cores, milliseconds(timeout), c.byref(nanoseconds))
        return nanoseconds.value * 1e-9

    def _submit(self, queue, views, *, cores=0, timeout=6.0, priority=0, wait_for=(), after=(), keep=()):
        options = _options(cores, timeout, priority, wait_for, after, keep)
        return Submission(native.created(self._name + "_submit", self.handle, queue.handle, *places(views),
                                         c.byref(options)))


def assemble(text):
    """Commands of a text, as an array of uint64; see rknpu/regcmd.hpp."""
    needed = c.c_size_t()
    code = native.raw("assemble", text.encode(), None, 0, c.byref(needed))
    commands = np.zeros(needed.value if code == native.TOO_SMALL else 0, dtype=np.uint64)
    native.call("assemble", text.encode(), commands.ctypes.data, commands.size, c.byref(needed))
    return commands


Finding = collections.namedtuple("Finding", "problem fatal task command message")


def validate(soc, tasks, commands, buffers):
    """
    What would hang or hurt if one core ran the tasks: a list of Findings, see rknpu/validate.hpp.

    tasks: triples of the list's address, interrupt mask and amount of commands without the tail; commands: pairs of an
    address and an array of uint64; buffers: pairs of an address and a size.
    """
    arrays = [(address, np.ascontiguousarray(array, dtype=np.uint64)) for address, array in commands]
    entries = (native.TaskEntry * len(tasks))(*(native.TaskEntry(*task) for task in tasks))
    memory = (native.CommandMemory * len(arrays))(*(native.CommandMemory(array.ctypes.data, array.nbytes, address)
                                                    for address, array in arrays))
    ranges = (native.AddressRange * len(buffers))(*(native.AddressRange(size, address) for address, size in buffers))
    program = native.Program(soc.encode(), entries, len(tasks), memory, len(arrays), ranges, len(buffers))
    found = []

    def visit(finding, _):
        one = finding.contents
        found.append(Finding(one.problem.decode(), bool(one.fatal), one.task, one.command, one.message.decode()))

    fatal = c.c_size_t()
    native.call("validate", c.byref(program), native.VISIT_FINDING(visit), None, c.byref(fatal))
    return found


def disassemble(commands):
    """The text of commands."""
    commands = np.ascontiguousarray(commands, dtype=np.uint64)
    needed = c.c_size_t()
    native.raw("disassemble", commands.ctypes.data, commands.size, None, 0, c.byref(needed))
    text = c.create_string_buffer(needed.value)
    native.call("disassemble", commands.ctypes.data, commands.size, text, len(text), c.byref(needed))
    return text.value.decode()
