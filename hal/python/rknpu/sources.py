# SPDX-License-Identifier: MIT
"""Memory that cameras, decoders and the NPU share: dma-heaps, udmabuf, V4L2. See rknpu/dmabuf.hpp and v4l2.hpp."""

import ctypes as c
import enum

from . import _native as native
from .memory import PixelFormat


class VideoQueue(enum.IntEnum):
    """Kinds of queues, as V4L2 numbers them."""
    CAPTURE = 1
    CAPTURE_PLANES = 9


def dmabuf_fence(file, access):
    """
    A new sync file that signals when a device may use the memory of a dma-buf: READ after all who write it now, others
    after all who read it, too. For wait_for of a submission.
    """
    return native.given_file("dmabuf_fence", native.fileno(file), int(access))


def dmabuf_from_heap(size, heap="system"):
    """New memory of a dma-heap, as a file."""
    return native.given_file("dmabuf_from_heap", size, heap.encode())


def dmabuf_new_memfd(size):
    """A memfd for dmabuf_from_memfd."""
    return native.given_file("dmabuf_new_memfd", size)


def dmabuf_from_memfd(memfd, offset, size):
    """Pages of a memfd that can't shrink, in place, as the file of a dma-buf."""
    return native.given_file("dmabuf_from_memfd", native.fileno(memfd), offset, size)


def v4l2_export(video, index, plane=0, queue=VideoQueue.CAPTURE):
    """The memory of a buffer of a camera's queue, or of one of its planes, as the file of a dma-buf."""
    return native.given_file("v4l2_export", native.fileno(video), int(queue), index, plane)


def v4l2_describe(video, queue=VideoQueue.CAPTURE):
    """How a camera's frames lie in their buffers: arguments of Image."""
    d = native.ImageDescriptor()
    native.call("v4l2_describe", native.fileno(video), int(queue), c.byref(d))
    offsets = tuple(None if offset == native.BEHIND else offset for offset in d.plane_offset)
    return {"format": PixelFormat(d.format), "width": d.width, "height": d.height, "width_stride": d.width_stride,
            "height_stride": d.height_stride, "offsets": offsets, "buffers": d.buffers}


def v4l2_fourcc_of(format, buffers=1):
    """V4L2's code of a PixelFormat whose planes lie in so many buffers; 0: there is none."""
    return native.raw("v4l2_fourcc_of", int(format), buffers)


def v4l2_format_of(fourcc):
    """The PixelFormat of a code of V4L2."""
    format = c.c_uint32()
    native.call("v4l2_format_of", fourcc, c.byref(format))
    return PixelFormat(format.value)
