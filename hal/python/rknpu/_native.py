# SPDX-License-Identifier: MIT
"""The C interface (rknpu.h) as ctypes sees it. Not for programs: use the package's classes."""

import ctypes as c
import errno as _errno
import os as _os
import pathlib as _pathlib

_FIRST_STATUS = -10000
_STATUS_NAMES = ("", "invalid argument", "not found", "not permitted", "wrong device", "unsupported", "bad layout",
                 "too small", "bad command", "timeout", "device reset", "NPU fault", "hardware error", "device lost",
                 "internal", "cancelled")


class Error(Exception):
    """A call that failed. `code`: a name such as "timeout" or "ENOMEM"; the text says what to do."""

    def __init__(self, code, message):
        super().__init__(message or code)
        self.code = code


def _code_name(code):
    if code < _FIRST_STATUS:
        number = _FIRST_STATUS - code
        return _STATUS_NAMES[number] if number < len(_STATUS_NAMES) else str(code)
    return _errno.errorcode.get(-code, str(code))


class DeviceInfo(c.Structure):
    _fields_ = [("sram_size", c.c_uint64), ("driver_version", c.c_uint32), ("hardware_version", c.c_uint32),
                ("abi_level", c.c_uint32), ("cores", c.c_uint32), ("core_masks", c.c_uint32),
                ("domains", c.c_uint32), ("tasks_a_start", c.c_uint32), ("features", c.c_uint32)]


class MemoryStatistics(c.Structure):
    _fields_ = [(name, c.c_uint64) for name in ("buffers", "allocated", "imported", "allocated_sram", "sram_total",
                                                "sram_free")]


class ImageDescriptor(c.Structure):
    _fields_ = [("plane_offset", c.c_uint64 * 2), ("format", c.c_uint32), ("width", c.c_uint32),
                ("height", c.c_uint32), ("width_stride", c.c_uint32), ("height_stride", c.c_uint32),
                ("buffers", c.c_uint32)]


class ImagePlane(c.Structure):
    _fields_ = [("offset", c.c_uint64), ("row_bytes", c.c_uint32), ("row_stride", c.c_uint32), ("rows", c.c_uint32),
                ("buffer", c.c_uint32)]


class TaskCommands(c.Structure):
    _fields_ = [("commands", c.POINTER(c.c_uint64)), ("count", c.c_size_t), ("blocks", c.c_uint32)]


class TaskChain(c.Structure):
    _fields_ = [("tasks", c.POINTER(TaskCommands)), ("count", c.c_size_t)]


class BufferUse(c.Structure):
    _fields_ = [("buffer", c.c_void_p), ("access", c.c_uint32), ("reserved", c.c_uint32)]


class SubmitOptions(c.Structure):
    _fields_ = [("cores", c.c_uint32), ("timeout_ms", c.c_uint32), ("priority", c.c_int32), ("reserved", c.c_uint32),
                ("wait_for", c.POINTER(c.c_int)), ("wait_for_count", c.c_size_t),
                ("after", c.POINTER(c.c_void_p)), ("after_count", c.c_size_t),
                ("keep", c.POINTER(BufferUse)), ("keep_count", c.c_size_t)]


class RunResult(c.Structure):
    _fields_ = [("hardware_ns", c.c_uint64), ("tasks", c.c_uint32), ("cores", c.c_uint32)]


class TensorDesc(c.Structure):
    _fields_ = [("type", c.c_uint32), ("order", c.c_uint32), ("batch", c.c_uint32), ("channels", c.c_uint32),
                ("height", c.c_uint32), ("width", c.c_uint32), ("c2", c.c_uint32), ("scale", c.c_float),
                ("zero", c.c_int32)]


class MatrixDesc(c.Structure):
    _fields_ = [("soc", c.c_char_p), ("type", c.c_uint32), ("role", c.c_uint32), ("order", c.c_uint32),
                ("rows", c.c_uint32), ("columns", c.c_uint32), ("scale", c.c_float), ("zero", c.c_int32)]


class KernelsDesc(c.Structure):
    _fields_ = [("soc", c.c_char_p), ("type", c.c_uint32), ("out_channels", c.c_uint32), ("in_channels", c.c_uint32),
                ("height", c.c_uint32), ("width", c.c_uint32), ("zero", c.c_int32)]


class TaskEntry(c.Structure):
    _fields_ = [("address", c.c_uint64), ("int_mask", c.c_uint32), ("amount", c.c_uint32)]


class CommandMemory(c.Structure):
    _fields_ = [("bytes", c.c_void_p), ("size", c.c_size_t), ("address", c.c_uint32)]


class AddressRange(c.Structure):
    _fields_ = [("size", c.c_uint64), ("address", c.c_uint32)]


class Program(c.Structure):
    _fields_ = [("soc", c.c_char_p), ("tasks", c.POINTER(TaskEntry)), ("task_count", c.c_size_t),
                ("commands", c.POINTER(CommandMemory)), ("command_count", c.c_size_t),
                ("buffers", c.POINTER(AddressRange)), ("buffer_count", c.c_size_t)]


class Finding(c.Structure):
    _fields_ = [("problem", c.c_char_p), ("fatal", c.c_int), ("task", c.c_size_t), ("command", c.c_size_t),
                ("message", c.c_char_p)]


class NativeLayout(c.Structure):
    _fields_ = [("c2", c.c_uint32), ("kernel_group", c.c_uint32), ("channel_group", c.c_uint32),
                ("segment", c.c_uint32)]


class Requantisation(c.Structure):
    _fields_ = [("multiplier", c.c_uint32), ("shift", c.c_uint32)]


class MatmulShape(c.Structure):
    _fields_ = [(name, c.c_uint32) for name in ("type", "m", "k", "n")] + [("requantisation", Requantisation),
                                                                          ("out_zero", c.c_int32)]


class Quantisation(c.Structure):
    _fields_ = [("scale", c.c_float), ("zero", c.c_int32)]


class MapShape(c.Structure):
    _fields_ = [(name, c.c_uint32) for name in ("channels", "height", "width")]


class ConvolutionShape(c.Structure):
    _fields_ = ([("activation_bound", c.c_double)] +
                [(name, c.c_uint32) for name in (
                    "in_channels", "in_height", "in_width", "out_channels", "kernel_height", "kernel_width", "stride_y",
                    "stride_x", "dilation_y", "dilation_x", "pad_top", "pad_left", "pad_bottom", "pad_right", "groups",
                    "input", "row_pixels", "output", "activation")] +
                [(name, c.c_int32) for name in ("in_zero", "weight_zero", "out_zero")] +
                [("requantisation", Requantisation)])


class ConvolutionChannels(c.Structure):
    _fields_ = [(name, c.c_void_p) for name in ("bias", "multipliers", "weight_zeros")]


class PoolingShape(c.Structure):
    _fields_ = [(name, c.c_uint32) for name in (
        "kind", "type", "channels", "in_height", "in_width", "kernel_height", "kernel_width", "stride_y", "stride_x",
        "pad_top", "pad_left", "pad_bottom", "pad_right")] + [("zero", c.c_int32)]


class ElementwiseShape(c.Structure):
    _fields_ = [(name, c.c_uint32) for name in ("kind", "type", "channels", "height", "width", "relu")] + [
        (name, Quantisation) for name in ("a", "b", "out")]


VISIT_NODE = c.CFUNCTYPE(c.c_int, c.c_char_p, c.c_char_p, c.c_char_p, c.c_void_p)
VISIT_FINDING = c.CFUNCTYPE(None, c.POINTER(Finding), c.c_void_p)

_u32, _u64, _size, _handle, _text = c.c_uint32, c.c_uint64, c.c_size_t, c.c_void_p, c.c_char_p
_to = c.POINTER

# Functions that return 0 or a negative code, with their arguments.
_CALLS = {
    "device_open": (_text, _to(_handle)),
    "device_get_info": (_handle, _to(DeviceInfo), _size),
    "device_get_memory": (_handle, _to(MemoryStatistics), _size),
    "device_usable_cores": (_handle, _to(_u32)),
    "device_enumerate": (VISIT_NODE, _handle),
    "buffer_allocate_in": (_handle, _u64, _u32, _u32, _to(_handle)),
    "buffer_import_in": (_handle, c.c_int, _u64, _u32, _u32, _to(_handle)),
    "buffer_from_physical": (_handle, _u64, _u64, _handle, _to(_handle)),
    "buffer_export": (_handle, _to(c.c_int)),
    "buffer_begin": (_handle, _u32, _u64, _u64, _to(_handle)),
    "buffer_end": (_handle,),
    "dmabuf_fence": (c.c_int, _u32, _to(c.c_int)),
    "dmabuf_new_memfd": (_u64, _to(c.c_int)),
    "dmabuf_from_heap": (_u64, _text, _to(c.c_int)),
    "dmabuf_from_memfd": (c.c_int, _u64, _u64, _to(c.c_int)),
    "v4l2_export": (c.c_int, _u32, _u32, _u32, _to(c.c_int)),
    "v4l2_describe": (c.c_int, _u32, _to(ImageDescriptor)),
    "v4l2_format_of": (_u32, _to(_u32)),
    "image_get_layout": (_to(ImageDescriptor), _to(ImagePlane), _to(_u32), _to(_u64)),
    "image_import_planes_in": (_handle, _to(c.c_int), c.c_size_t, _to(ImageDescriptor), _u32, _u32, _to(_handle)),
    "image_view_planes": (_to(_handle), c.c_size_t, _to(ImageDescriptor), _to(_handle)),
    "image_allocate": (_handle, _to(ImageDescriptor), _u32, _to(_handle)),
    "image_plane_at": (_handle, _u32, _to(ImagePlane)),
    "image_plane_buffer": (_handle, _u32, _to(_handle)),
    "job_create_gang": (_handle, _to(TaskChain), _size, _u32, _to(_handle)),
    "job_keep": (_handle, _handle, _u32),
    "job_run": (_handle, _u32, _u32, _to(_u64)),
    "queue_create": (_handle, _to(_handle)),
    "queue_submit": (_handle, _handle, _to(SubmitOptions), _to(_handle)),
    "queue_submit_batch": (_handle, _to(_handle), _size, _to(SubmitOptions), _to(_handle)),
    "queue_cancel": (_handle,),
    "queue_wait_idle": (_handle,),
    "submission_wait_for": (_handle, _u64, _to(c.c_int)),
    "submission_wait": (_handle, _to(RunResult), _size),
    "submission_fence": (_handle, _to(c.c_int)),
    "submission_cancel": (_handle,),
    "get_native_layout": (_text, _u32, _to(NativeLayout)),
    "tensor_bytes": (_to(TensorDesc), _to(_u64)),
    "tensor_convert": (_to(TensorDesc), _handle, _size, _to(TensorDesc), _handle, _size),
    "matrix_bytes": (_to(MatrixDesc), _to(_u64)),
    "matrix_convert": (_to(MatrixDesc), _handle, _size, _to(MatrixDesc), _handle, _size),
    "kernels_bytes": (_to(KernelsDesc), _to(_u64)),
    "kernels_to_native": (_to(KernelsDesc), _handle, _size, _handle, _size),
    "validate": (_to(Program), VISIT_FINDING, _handle, _to(_size)),
    "disassemble": (_handle, _size, _handle, _size, _to(_size)),
    "assemble": (_text, _handle, _size, _to(_size)),
    "matmul_create_shape": (_handle, _to(MatmulShape), _to(_handle)),
    "matmul_set_b": (_handle, _handle, _size),
    "matmul_run": (_handle, _handle, _size, _handle, _size, _u32, _to(_u64)),
    "matmul_run_in_place": (_handle, _handle, _u64, _handle, _u64, _u32, _u32, _to(_u64)),
    "requantisation_from_scale": (c.c_double, _to(Requantisation)),
    "requantisation_from_scales": (_handle, _size, _handle, _to(Requantisation)),
    "convolution_create": (_handle, _to(ConvolutionShape), _handle, _size, _to(ConvolutionChannels), _to(_handle)),
    "convolution_create_half": (_handle, _to(ConvolutionShape), _handle, _size, _handle, _to(_handle)),
    "convolution_run": (_handle, _handle, _u64, _handle, _u64, _u32, _u32, _to(_u64)),
    "pooling_create": (_handle, _to(PoolingShape), _to(_handle)),
    "pooling_run": (_handle, _handle, _u64, _handle, _u64, _u32, _u32, _to(_u64)),
    "elementwise_create": (_handle, _to(ElementwiseShape), _to(_handle)),
    "elementwise_run": (_handle, _handle, _u64, _handle, _u64, _handle, _u64, _u32, _u32, _to(_u64)),
    "elementwise_submit": (_handle, _handle, _handle, _u64, _handle, _u64, _handle, _u64, _to(SubmitOptions),
                           _to(_handle)),
}
_CALLS.update((name + "_submit", (_handle, _handle, _handle, _u64, _handle, _u64, _to(SubmitOptions), _to(_handle)))
              for name in ("convolution", "matmul", "pooling"))
_FREES = ("device_close", "buffer_free", "image_free", "job_free", "queue_free", "submission_free", "matmul_free",
          "convolution_free", "pooling_free", "elementwise_free")
_VALUES = {
    "device_node": _text,
    "device_soc": _text,
    "buffer_size": _u64,
    "buffer_dma_address": _u32,
    "buffer_domain": _u32,
    "buffer_sram_size": _u64,
    "buffer_accessed": _u64,
    "buffer_imported": c.c_int,
    "image_planes": _u32,
    "matmul_a_pitch": _u32,
    "matmul_c_pitch": _u32,
    "convolution_in_bytes": _u64,
    "convolution_out_bytes": _u64,
    "pooling_in_bytes": _u64,
    "pooling_out_bytes": _u64,
    "elementwise_bytes": _u64,
}


def _load(name):
    """The library where the system finds it, or in the prefix in which this package is installed."""
    try:
        return c.CDLL(name)
    except OSError:
        for pattern in (name, "*/" + name):
            for beside in _pathlib.Path(__file__).resolve().parents[3].glob(pattern):
                return c.CDLL(str(beside))
        raise


_library = _load("librknpu.so.0")
_library.rknpu_last_error.restype = c.c_char_p
for _name, _arguments in _CALLS.items():
    _function = getattr(_library, "rknpu_" + _name)
    _function.argtypes, _function.restype = _arguments, c.c_int
for _name in _FREES:
    _function = getattr(_library, "rknpu_" + _name)
    _function.argtypes, _function.restype = (_handle,), None
for _name, _result in _VALUES.items():
    _function = getattr(_library, "rknpu_" + _name)
    _function.argtypes, _function.restype = (_handle,), _result
for _name in ("convolution", "pooling"):
    _function = getattr(_library, f"rknpu_{_name}_out_shape")
    _function.argtypes, _function.restype = (_handle, _to(MapShape)), None

_library.rknpu_soc_name.argtypes, _library.rknpu_soc_name.restype = (_u32,), _text
_library.rknpu_image_row_alignment.argtypes, _library.rknpu_image_row_alignment.restype = (_text,), _u32
_library.rknpu_v4l2_fourcc_of.argtypes, _library.rknpu_v4l2_fourcc_of.restype = (_u32, _u32), _u32
_library.rknpu_device_check_accesses.argtypes = (_handle, c.c_int)
_library.rknpu_device_check_accesses.restype = None

TOO_SMALL = _FIRST_STATUS - 7
BEHIND = 2**64 - 1  # as an offset of a plane


def raw(name, *arguments):
    """A call as it is."""
    return getattr(_library, "rknpu_" + name)(*arguments)


def call(name, *arguments):
    """A call that raises Error when it fails."""
    code = raw(name, *arguments)
    if code != 0:
        raise Error(_code_name(code), _library.rknpu_last_error().decode(errors="replace"))


def created(name, *arguments):
    """A call that gives a handle."""
    handle = c.c_void_p()
    call(name, *arguments, c.byref(handle))
    return handle


class Handle:
    """Something of the library that is freed with this object, or by close(), or at the end of a `with`."""

    _free = ""

    def __init__(self, handle):
        self._handle = handle

    @property
    def handle(self):
        if not self._handle:
            raise ValueError("it is closed")
        return self._handle

    def close(self):
        handle, self._handle = getattr(self, "_handle", None), None
        if handle:
            raw(self._free, handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        self.close()


class File:
    """A file descriptor that is closed with this object; poll(), os.read() and so on take it by fileno()."""

    def __init__(self, number):
        self._number = number

    def fileno(self):
        if self._number < 0:
            raise ValueError("it is closed")
        return self._number

    def close(self):
        number, self._number = getattr(self, "_number", -1), -1
        if number >= 0:
            _os.close(number)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        self.close()


def given_file(name, *arguments):
    """A call that gives a file descriptor."""
    number = c.c_int(-1)
    call(name, *arguments, c.byref(number))
    return File(number.value)


def fileno(file):
    """The descriptor of a number or of an object that has one."""
    return file if isinstance(file, int) else file.fileno()
