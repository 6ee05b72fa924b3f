# SPDX-License-Identifier: MIT
"""Layouts of tensors, and operators on numpy arrays."""

import ctypes as c
import enum

import numpy as np

from . import _native as native
from .jobs import QueuedOperator, milliseconds


class DataType(enum.IntEnum):
    INT4 = 0
    INT8 = 1
    UINT8 = 2
    INT16 = 3
    HALF = 4
    INT32 = 5
    FLOAT = 6


class TensorOrder(enum.IntEnum):
    NCHW = 0
    NHWC = 1
    NC1HWC2 = 2


class MatrixRole(enum.IntEnum):
    A = 0
    B = 1
    C = 2


class MatrixOrder(enum.IntEnum):
    NORMAL = 0
    TRANSPOSED = 1
    NATIVE = 2


_DTYPES = {DataType.INT8: np.int8, DataType.UINT8: np.uint8, DataType.INT16: np.int16, DataType.HALF: np.float16,
           DataType.INT32: np.int32, DataType.FLOAT: np.float32}


def native_layout(soc, data_type):
    """c2, kernel_group, channel_group and segment of a SoC ("rk3588")."""
    layout = native.NativeLayout()
    native.call("get_native_layout", soc.encode(), int(data_type), c.byref(layout))
    return layout


class Tensor:
    """How a tensor lies in memory."""

    def __init__(self, data_type, order, batch, channels, height, width, c2=0, scale=1.0, zero=0):
        self.desc = native.TensorDesc(int(data_type), int(order), batch, channels, height, width, c2, scale, zero)

    @property
    def bytes(self):
        size = c.c_uint64()
        native.call("tensor_bytes", c.byref(self.desc), c.byref(size))
        return size.value

    @property
    def shape(self):
        """Of an array of its elements."""
        d = self.desc
        if d.order == TensorOrder.NCHW:
            return (d.batch, d.channels, d.height, d.width)
        if d.order == TensorOrder.NHWC:
            return (d.batch, d.height, d.width, d.channels)
        return (d.batch, -(-d.channels // d.c2), d.height, d.width, d.c2)


class Matrix:
    """How a matrix of a product lies in memory; its native order is that of a SoC ("rk3588")."""

    def __init__(self, soc, data_type, role, order, rows, columns, scale=1.0, zero=0):
        self.desc = native.MatrixDesc(soc.encode(), int(data_type), int(role), int(order), rows, columns, scale, zero)

    @property
    def bytes(self):
        size = c.c_uint64()
        native.call("matrix_bytes", c.byref(self.desc), c.byref(size))
        return size.value

    @property
    def shape(self):
        """Of an array of its elements; the native order is one of all of them, and of what fills it up."""
        d = self.desc
        if d.order == MatrixOrder.NATIVE:
            return (self.bytes // np.dtype(_DTYPES[DataType(d.type)]).itemsize,)
        return (d.rows, d.columns) if d.order == MatrixOrder.NORMAL else (d.columns, d.rows)


def convert(source, array, target, out=None):
    """
    Converts order and type. `array` and `out` (made if None) hold the tensors, or matrices, `source` and `target`; they
    may be memory of buffers, and are used in place.
    """
    if not array.flags.c_contiguous:
        raise ValueError("array: its elements must follow each other in memory")
    if out is None:
        data_type = DataType(target.desc.type)
        if data_type not in _DTYPES:
            out = np.zeros(target.bytes, dtype=np.uint8)
        else:
            out = np.zeros(target.shape, dtype=_DTYPES[data_type])
    if not out.flags.c_contiguous or not out.flags.writeable:
        raise ValueError("out: its elements must follow each other in memory that can be written")
    name = "matrix_convert" if isinstance(source, Matrix) else "tensor_convert"
    native.call(name, c.byref(source.desc), array.ctypes.data, array.nbytes, c.byref(target.desc),
                out.ctypes.data, out.nbytes)
    return out


_WEIGHTS = {np.dtype(np.int8): DataType.INT8, np.dtype(np.float16): DataType.HALF}


def kernels_to_native(soc, weights, zero=0, out=None):
    """
    Weights of a convolution, an array [out][in][y][x] of int8 or float16, in the order in which the NPU of a SoC
    ("rk3588") reads them. zero: of int8, the number that stands for 0. out (made if None): memory for them, which may be
    a buffer's.
    """
    if weights.dtype not in _WEIGHTS or weights.ndim != 4:
        raise ValueError("weights: int8 or float16 numbers [out][in][y][x]")
    desc = native.KernelsDesc(soc.encode(), int(_WEIGHTS[weights.dtype]), *weights.shape, zero)
    size = c.c_uint64()
    native.call("kernels_bytes", c.byref(desc), c.byref(size))
    if out is None:
        out = np.empty(size.value // weights.itemsize, dtype=weights.dtype)
    if not out.flags.c_contiguous or not out.flags.writeable:
        raise ValueError("out: its elements must follow each other in memory that can be written")
    weights = np.ascontiguousarray(weights)
    native.call("kernels_to_native", c.byref(desc), weights.ctypes.data, weights.nbytes, out.ctypes.data, out.nbytes)
    return out


def pack_int4(array):
    """Numbers from -8 to 7 as the NPU has INT4: two of the last axis in a byte (uint8), the even one in its low half."""
    array = np.asarray(array)
    if array.dtype.kind not in "iu" or array.ndim == 0 or array.shape[-1] % 2:
        raise ValueError("array: whole numbers, an even number of them in the last axis")
    if array.size and (array.min() < -8 or array.max() > 7):
        raise ValueError("array: INT4 are from -8 to 7")
    halves = array.astype(np.int8).view(np.uint8) & 15
    return halves[..., 0::2] | halves[..., 1::2] << 4


def unpack_int4(array):
    """The numbers of pack_int4, as int8."""
    array = np.asarray(array)
    if array.dtype != np.uint8 or array.ndim == 0:
        raise ValueError("array: uint8, each with two numbers")
    halves = np.stack((array & 15, array >> 4), axis=-1).reshape(*array.shape[:-1], -1)
    return ((halves ^ 8).view(np.int8) - 8).astype(np.int8)


class Matmul(QueuedOperator):
    """
    C[m][n] = A[m][k] * B[k][n], with a B that stays. B, and so A, is int8 or float16. result: of int8 int32 (the default)
    or int8, which scale (a pair of multiplier and shift, see requantisation()) and out_zero are for; of float16 float32
    (the default) or float16. int8 to int16 is the product of INT4: A and B are from -8 to 7, sums are saturated; in
    buffers A is as pack_int4() has it.
    """

    _name, _free = "matmul", "matmul_free"
    # Types of B and C, in the order of rknpu_matmul_type
    _KINDS = [(np.dtype(b), np.dtype(c)) for b, c in ((np.int8, np.int32), (np.float16, np.float32), (np.int8, np.int8),
                                                      (np.float16, np.float16), (np.int8, np.int16))]

    def __init__(self, device, m, b, *, result=None, scale=(1, 0), out_zero=0):
        if result is None:
            result = np.int32 if b.dtype == np.int8 else np.float32
        kind = (b.dtype, np.dtype(result))
        if kind not in self._KINDS or b.ndim != 2:
            raise ValueError("b: a matrix of int8 or float16, and result: a type that goes with it")
        self._a_dtype, self._c_dtype = kind
        self._m, (self._k, self._n) = m, b.shape
        shape = native.MatmulShape(self._KINDS.index(kind), m, self._k, self._n, native.Requantisation(*scale), out_zero)
        super().__init__(native.created("matmul_create_shape", device.handle, c.byref(shape)))
        b = self._operand(b)
        native.call("matmul_set_b", self.handle, b.ctypes.data, b.nbytes)

    def _operand(self, matrix):
        return np.ascontiguousarray(pack_int4(matrix) if self._c_dtype == np.int16 else matrix)

    def __call__(self, a, timeout=6.0):
        a = np.asarray(a)
        if a.dtype != self._a_dtype or a.shape != (self._m, self._k):
            raise ValueError(f"a: {self._a_dtype} of {self._m} x {self._k}, not {a.dtype} of {a.shape}")
        a = self._operand(a)
        result = np.empty((self._m, self._n), dtype=self._c_dtype)
        native.call("matmul_run", self.handle, a.ctypes.data, a.nbytes, result.ctypes.data, result.nbytes,
                    milliseconds(timeout), None)
        return result

    @property
    def a_pitch(self):
        """Bytes from a row of A to the next in buffers; what lies between is read and must be finite numbers."""
        return native.raw("matmul_a_pitch", self.handle)

    @property
    def c_pitch(self):
        """Bytes from a row of C to the next in buffers; what lies between is written."""
        return native.raw("matmul_c_pitch", self.handle)

    def run_in_place(self, a, c, cores=0, timeout=6.0):
        """
        Runs the product with A and C where they are: Buffers, or pairs of a Buffer and an offset. cores and timeout as
        Job.run has them; cores may also be 3 or 7, which share the work. Gives the time on the hardware in seconds.
        """
        return self._run("matmul_run_in_place", (a, c), cores, timeout)

    def submit(self, queue, a, c, **options):
        """
        Gives the product to a queue and returns at once: A and C are Buffers, or pairs of a Buffer and an offset, and are
        kept until the end, as B is. options: of Queue.submit. Products with k beyond 8192 are unsupported.
        """
        return self._submit(queue, (a, c), **options)
