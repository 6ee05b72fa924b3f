# SPDX-License-Identifier: MIT
"""Devices, and memory that the NPU and numpy share."""

import collections
import ctypes as c
import enum
import itertools

import numpy as np

from . import _native as native


def soc_names():
    """All SoCs that the library knows, "rk3588" and so on."""
    names = (native.raw("soc_name", number) for number in itertools.count())
    return [name.decode() for name in itertools.takewhile(lambda name: name is not None, names)]


class BufferFlag(enum.IntFlag):
    WRITE_COMBINED = 1
    UNCACHED = 2
    CONTIGUOUS = 4
    PREFER_SRAM = 8
    TASK_ARRAY = 16
    ANY_DOMAIN = 32


class Access(enum.IntEnum):
    READ = 1
    WRITE = 2
    READ_WRITE = 3


class Device(native.Handle):
    """An open NPU. name: as Device::open of the C++ library takes it; None: $RKNPU_DEVICE, else the first one."""

    _free = "device_close"

    def __init__(self, name=None):
        super().__init__(native.created("device_open", name.encode() if name is not None else None))
        self._info = native.DeviceInfo()
        native.call("device_get_info", self.handle, c.byref(self._info), c.sizeof(self._info))

    @property
    def node(self):
        return native.raw("device_node", self.handle).decode()

    @property
    def soc(self):
        return native.raw("device_soc", self.handle).decode()

    @property
    def info(self):
        """cores, core_masks, domains, sram_size, abi_level and so on, as rknpu_device_info has them."""
        return self._info

    @property
    def has_fences(self):
        return bool(self._info.features & 2)

    def memory(self):
        """What memory is in use: a rknpu_memory_statistics."""
        result = native.MemoryStatistics()
        native.call("device_get_memory", self.handle, c.byref(result), c.sizeof(result))
        return result

    def check_accesses(self, on=True):
        """Whether a second access() that writes the same bytes, or a job that uses what is being written, is an error."""
        native.raw("device_check_accesses", self.handle, int(on))

    def usable_cores(self):
        mask = c.c_uint32()
        native.call("device_usable_cores", self.handle, c.byref(mask))
        return mask.value


def enumerate_devices():
    """Pairs of each node that may be an NPU: its name, and its SoC or None; and why it can't be used."""
    found = []

    def visit(node, soc, reason, _):
        found.append((node.decode(), soc.decode() if soc else None, (reason or b"").decode()))
        return 0

    native.call("device_enumerate", native.VISIT_NODE(visit), None)
    return found


class _View:
    """The time in which the CPU uses a range of a buffer; gives the array."""

    def __init__(self, buffer, access, dtype, shape, offset):
        self._arguments = (buffer, access, np.dtype(dtype), shape, offset)

    def __enter__(self):
        buffer, access, dtype, shape, offset = self._arguments
        if shape is None:
            size = (buffer.size - offset) // dtype.itemsize * dtype.itemsize
        else:
            size = int(np.prod(shape, dtype=np.uint64)) * dtype.itemsize
        address = c.c_void_p()
        native.call("buffer_begin", buffer.handle, int(access), offset, size, c.byref(address))
        memory = (c.c_uint8 * size).from_address(address.value)
        memory.owner = buffer  # an array that is kept keeps the mapping
        array = np.frombuffer(memory, dtype=dtype)
        if shape is not None:
            array = array.reshape(shape)
        array.flags.writeable = access != Access.READ
        return array

    def __exit__(self, *_):
        native.call("buffer_end", self._arguments[0].handle)


class Buffer(native.Handle):
    """
    Memory of the NPU.

        with buffer.access(Access.WRITE, np.int8, (64, 64)) as array:
            array[:] = data

    `array` is the memory itself. Don't use it behind the `with`: there it is the NPU's.
    """

    _free = "buffer_free"

    def __init__(self, device, size, flags=0, domain=0):
        super().__init__(native.created("buffer_allocate_in", device.handle, size, int(flags), domain))

    @classmethod
    def import_dmabuf(cls, device, file, needed=1, domain=0, any_domain=False):
        """The memory of a dma-buf, without a copy; file stays the caller's."""
        return cls._of(native.created("buffer_import_in", device.handle, native.fileno(file), needed,
                                      int(BufferFlag.ANY_DOMAIN) if any_domain else 0, domain))

    @classmethod
    def from_physical(cls, device, address, size, mapped=None):
        """
        Memory of the caller at a physical address, for NPUs without an IOMMU. mapped: where the caller has mapped it for
        the CPU, for example a mmap.mmap that can be written; it is kept as long as this object, and None means that
        access() can't be used. Cache maintenance is the caller's.
        """
        mapping = None
        if mapped is not None:
            mapping = (c.c_uint8 * memoryview(mapped).nbytes).from_buffer(mapped)
            if len(mapping) < size:
                raise ValueError(f"mapped: {len(mapping)} bytes of {size}")
        buffer = cls._of(native.created("buffer_from_physical", device.handle, address, size,
                                        None if mapping is None else c.addressof(mapping)))
        buffer._mapping = mapping
        return buffer

    @classmethod
    def _of(cls, handle):
        buffer = cls.__new__(cls)
        native.Handle.__init__(buffer, handle)
        return buffer

    def export_dmabuf(self):
        """A new file of the memory as a dma-buf."""
        return native.given_file("buffer_export", self.handle)

    def access(self, access=Access.READ_WRITE, dtype=np.uint8, shape=None, offset=0):
        """For a `with`: lets the CPU use the memory, as an array. shape None: one dimension, to the end."""
        return _View(self, Access(access), dtype, shape, offset)

    @property
    def size(self):
        return native.raw("buffer_size", self.handle)

    @property
    def dma_address(self):
        return native.raw("buffer_dma_address", self.handle)

    @property
    def domain(self):
        return native.raw("buffer_domain", self.handle)

    @property
    def sram_size(self):
        return native.raw("buffer_sram_size", self.handle)

    @property
    def accessed(self):
        """Bytes that access() has covered so far, through all Buffers of the memory: 0 where it only passes through."""
        return native.raw("buffer_accessed", self.handle)

    @property
    def imported(self):
        """Whether the memory is not this device's."""
        return bool(native.raw("buffer_imported", self.handle))


def places(views):
    """Handles and offsets, as the library takes them, of Buffers or pairs of a Buffer and an offset."""
    pairs = ((view, 0) if isinstance(view, Buffer) else view for view in views)
    return [argument for buffer, offset in pairs for argument in (buffer.handle, offset)]


def image_row_alignment(soc):
    """Pixels that rows of an image for the NPU of this SoC ("rk3588") begin at a multiple of."""
    return native.raw("image_row_alignment", soc.encode())


class PixelFormat(enum.IntEnum):
    GRAY8 = 0
    RGB888 = 1
    BGR888 = 2
    RGBA8888 = 3
    BGRA8888 = 4
    NV12 = 5
    NV21 = 6
    NV16 = 7
    NV61 = 8
    YUYV = 9
    UYVY = 10


def _image_descriptor(format, width, height, width_stride, height_stride, offsets, buffers):
    descriptor = native.ImageDescriptor(format=int(format), width=width, height=height, width_stride=width_stride,
                                        height_stride=height_stride, buffers=buffers or 0)
    for i, offset in enumerate(offsets):
        descriptor.plane_offset[i] = native.BEHIND if offset is None else offset
    return descriptor


ImageLayout = collections.namedtuple("ImageLayout", ("planes", "bytes"))


def image_layout(format, width, height, width_stride=0, height_stride=0, offsets=(0, None), buffers=1):
    """
    Where the planes of an image lie, for any reader: planes, each with offset, row_bytes, row_stride, rows and buffer;
    and the bytes that each of the buffers must have.
    """
    descriptor = _image_descriptor(format, width, height, width_stride, height_stride, offsets, buffers)
    planes, count, sizes = (native.ImagePlane * 2)(), c.c_uint32(), (c.c_uint64 * 2)()
    native.call("image_get_layout", c.byref(descriptor), planes, c.byref(count), sizes)
    return ImageLayout(list(planes[:count.value]), list(sizes[:buffers or 1]))


class Image(native.Handle):
    """A picture in memory that the NPU reads in place, checked against the memory."""

    _free = "image_free"

    def __init__(self, source, format, width, height, width_stride=0, height_stride=0, offsets=(0, None), flags=0,
                 buffers=None, domain=0, any_domain=False):
        """
        source: a Device for new memory, a Buffer, or a Device and the file of a dma-buf. Where each plane lies in memory
        of its own: a Device with buffers=2, a list of Buffers, or a Device and the files of several dma-bufs. domain,
        any_domain: of dma-bufs, as Buffer.import_dmabuf has them.
        """
        descriptor = _image_descriptor(format, width, height, width_stride, height_stride, offsets, buffers)
        files = () if isinstance(source, (Device, Buffer)) or isinstance(source[0], Buffer) else source[1:]
        if (domain or any_domain) and not files:
            raise ValueError("domain, any_domain: for dma-bufs")
        if isinstance(source, Device):
            handle = native.created("image_allocate", source.handle, c.byref(descriptor), int(flags))
        elif isinstance(source, Buffer) or isinstance(source[0], Buffer):
            handles = [one.handle for one in ([source] if isinstance(source, Buffer) else source)]
            descriptor.buffers = buffers or len(handles)
            handle = native.created("image_view_planes", (c.c_void_p * len(handles))(*handles), len(handles),
                                    c.byref(descriptor))
        else:
            descriptor.buffers = buffers or len(files)
            handle = native.created("image_import_planes_in", source[0].handle,
                                    (c.c_int * len(files))(*(native.fileno(file) for file in files)), len(files),
                                    c.byref(descriptor), int(BufferFlag.ANY_DOMAIN) if any_domain else 0, domain)
        super().__init__(handle)
        self._buffers = [Buffer._of(native.created("image_plane_buffer", self.handle, i))
                         for i in range(len(self.planes))]

    @property
    def buffer(self):
        """What the first plane lies in, and the others unless they have memory of their own."""
        return self._buffers[0]

    def plane_buffer(self, plane):
        return self._buffers[plane]

    @property
    def planes(self):
        """offset, row_bytes, row_stride, rows and buffer of each plane."""
        result = []
        for i in range(native.raw("image_planes", self.handle)):
            plane = native.ImagePlane()
            native.call("image_plane_at", self.handle, i, c.byref(plane))
            result.append(plane)
        return result

    def access(self, access=Access.READ_WRITE, plane=0):
        """For a `with`: the bytes of a plane's rows, as an array [rows][row_bytes] of the memory itself."""
        return _Rows(self._buffers[plane], access, self.planes[plane])


class _Rows(_View):
    def __init__(self, buffer, access, plane):
        # From the first pixel to the last: the last row may end before its stride does.
        self._plane = plane
        size = plane.row_stride * (plane.rows - 1) + plane.row_bytes
        super().__init__(buffer, Access(access), np.uint8, (size,), plane.offset)

    def __enter__(self):
        plane = self._plane
        flat = super().__enter__()
        return np.lib.stride_tricks.as_strided(flat, (plane.rows, plane.row_bytes), (plane.row_stride, 1),
                                               writeable=flat.flags.writeable)
