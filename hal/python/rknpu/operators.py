# SPDX-License-Identifier: MIT
"""
Operators on buffers: convolutions, poolings, element-wise operations. What they compute, and their limits, are described
in rknpu/convolution.hpp, pooling.hpp and elementwise.hpp.

Inputs and outputs are Buffers, or pairs of a Buffer and an offset, in the NPU's order NC1HWC2 (see Tensor and convert),
or pictures. A call runs the operator, with cores and timeout as Job.run has them, and gives the time on the hardware in
seconds. cores may also be 3 or 7, which share the work.

submit() gives the operator to a queue and returns at once, with the options of Queue.submit. Buffers and weights are
kept until the end. What the CPU has to add up is unsupported: averages of whole maps beyond 31 x 31.
"""

import ctypes as c
import enum

import numpy as np

from . import _native as native
from .jobs import QueuedOperator
from .tensors import DataType


class ConvolutionInput(enum.IntEnum):
    NATIVE = 0
    RGB888 = 1
    GRAY8 = 2
    HALF = 3


class ConvolutionOutput(enum.IntEnum):
    INT8 = 0
    INT32 = 1
    HALF = 2
    FLOAT = 3


class Activation(enum.IntEnum):
    NONE = 0
    RELU = 1
    CLAMP = 2


class PoolingKind(enum.IntEnum):
    MAX = 0
    AVERAGE = 1


class ElementwiseKind(enum.IntEnum):
    ADD = 0
    MULTIPLY = 1
    MAXIMUM = 2


def requantisation(scale):
    """multiplier and shift of the factor that is nearest to a scale."""
    result = native.Requantisation()
    native.call("requantisation_from_scale", scale, c.byref(result))
    return result.multiplier, result.shift


def channel_requantisation(scales):
    """The nearest factors to the scales of channels: an array of multipliers of 2^-14, and what is common to all."""
    scales = np.ascontiguousarray(scales, dtype=np.float64)
    multipliers = np.empty(scales.size, dtype=np.uint16)
    common = native.Requantisation()
    native.call("requantisation_from_scales", scales.ctypes.data, scales.size, multipliers.ctypes.data, c.byref(common))
    return multipliers, (common.multiplier, common.shift)


def _pair(value):
    return value if isinstance(value, tuple) else (value, value)


def _padding(value):
    """top, left, bottom, right, of one number, or rows and columns, or all four."""
    value = _pair(value)
    return value if len(value) == 4 else value * 2


class _Operator(QueuedOperator):
    def _shape(self):
        shape = native.MapShape()
        native.raw(self._name + "_out_shape", self.handle, c.byref(shape))
        return shape.channels, shape.height, shape.width

    def _bytes(self, what):
        return native.raw(f"{self._name}_{what}", self.handle)


class _MapOperator(_Operator):
    """One input, one output."""

    @property
    def out_shape(self):
        """channels, height, width."""
        return self._shape()

    @property
    def in_bytes(self):
        return self._bytes("in_bytes")

    @property
    def out_bytes(self):
        """That may be written; the map is at their start."""
        return self._bytes("out_bytes")

    def __call__(self, source, target, cores=0, timeout=6.0):
        return self._run(self._name + "_run", (source, target), cores, timeout)

    def submit(self, queue, source, target, **options):
        return self._submit(queue, (source, target), **options)


class Convolution(_MapOperator):
    """
    weights: an array [out][in / groups][y][x] of int8, or of float16 for input HALF. in_size: height and width.
    stride, dilation: a number, or rows and columns. padding: a number, rows and columns, or top, left, bottom, right.
    scale: of int8 output, a number or a pair of multiplier and shift. Of int8 channels each may have its own bias (int32),
    multiplier (uint16, of 2^-14) and zero point of its weights (int8); float16 channels have a bias (float32).
    """

    _name, _free = "convolution", "convolution_free"

    def __init__(self, device, weights, in_size, *, stride=1, dilation=1, padding=0, groups=1,
                 input=None, row_pixels=0, output=None, in_zero=0, weight_zero=0, out_zero=0, scale=(1, 0),
                 activation=Activation.NONE, activation_bound=0.0, bias=None, multipliers=None, weight_zeros=None):
        if weights.dtype not in (np.int8, np.float16) or weights.ndim != 4:
            raise ValueError("weights: int8 or float16 numbers [out][in][y][x]")
        half = weights.dtype == np.float16
        if input is None:
            input = ConvolutionInput.HALF if half else ConvolutionInput.NATIVE
        if output is None:
            output = ConvolutionOutput.HALF if half else ConvolutionOutput.INT8
        if not isinstance(scale, tuple):
            scale = requantisation(scale)
        outs, ins, kernel_height, kernel_width = weights.shape
        top, left, bottom, right = _padding(padding)
        shape = native.ConvolutionShape(
            activation_bound=activation_bound, in_channels=ins * groups, in_height=in_size[0], in_width=in_size[1],
            out_channels=outs, kernel_height=kernel_height, kernel_width=kernel_width, stride_y=_pair(stride)[0],
            stride_x=_pair(stride)[1], dilation_y=_pair(dilation)[0], dilation_x=_pair(dilation)[1], pad_top=top,
            pad_left=left, pad_bottom=bottom, pad_right=right, groups=groups, input=int(input), row_pixels=row_pixels,
            output=int(output), activation=int(activation), in_zero=in_zero, weight_zero=weight_zero, out_zero=out_zero,
            requantisation=native.Requantisation(*scale))
        weights = np.ascontiguousarray(weights)

        def each(values, dtype, what):
            if values is None:
                return None
            values = np.ascontiguousarray(values, dtype=dtype)
            if values.shape != (outs,):
                raise ValueError(f"{what}: a number for each of {outs} output channels")
            return values

        def address(values):
            return None if values is None else values.ctypes.data

        bias = each(bias, np.float32 if half else np.int32, "bias")
        if half:
            if multipliers is not None or weight_zeros is not None:
                raise ValueError("multipliers and weight_zeros are for int8")
            handle = native.created("convolution_create_half", device.handle, c.byref(shape), weights.ctypes.data,
                                    weights.size, address(bias))
        else:
            multipliers = each(multipliers, np.uint16, "multipliers")
            weight_zeros = each(weight_zeros, np.int8, "weight_zeros")
            channels = native.ConvolutionChannels(address(bias), address(multipliers), address(weight_zeros))
            handle = native.created("convolution_create", device.handle, c.byref(shape), weights.ctypes.data,
                                    weights.size, c.byref(channels))
        super().__init__(handle)


class Pooling(_MapOperator):
    """in_shape: channels, height, width. kernel None: the whole map. The rest as Convolution has it."""

    _name, _free = "pooling", "pooling_free"

    def __init__(self, device, kind, in_shape, kernel=None, *, stride=1, padding=0, data_type=DataType.INT8, zero=0):
        channels, height, width = in_shape
        kernel = (height, width) if kernel is None else _pair(kernel)
        top, left, bottom, right = _padding(padding)
        shape = native.PoolingShape(
            kind=int(kind), type=int(data_type), channels=channels, in_height=height, in_width=width,
            kernel_height=kernel[0], kernel_width=kernel[1], stride_y=_pair(stride)[0], stride_x=_pair(stride)[1],
            pad_top=top, pad_left=left, pad_bottom=bottom, pad_right=right, zero=zero)
        super().__init__(native.created("pooling_create", device.handle, c.byref(shape)))


class Elementwise(_Operator):
    """shape: channels, height, width of all three maps. a, b, out: scale and zero point of int8 numbers."""

    _name, _free = "elementwise", "elementwise_free"

    def __init__(self, device, kind, shape, *, data_type=DataType.INT8, relu=False, a=(1.0, 0), b=(1.0, 0),
                 out=(1.0, 0)):
        native_shape = native.ElementwiseShape(int(kind), int(data_type), *shape, int(relu), native.Quantisation(*a),
                                               native.Quantisation(*b), native.Quantisation(*out))
        super().__init__(native.created("elementwise_create", device.handle, c.byref(native_shape)))

    @property
    def bytes(self):
        """Of each map."""
        return self._bytes("bytes")

    def __call__(self, a, b, target, cores=0, timeout=6.0):
        return self._run("elementwise_run", (a, b, target), cores, timeout)

    def submit(self, queue, a, b, target, **options):
        return self._submit(queue, (a, b, target), **options)
