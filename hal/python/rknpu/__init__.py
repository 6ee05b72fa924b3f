# SPDX-License-Identifier: MIT
"""
Rockchip NPUs from Python: librknpu by its C interface, memory as numpy arrays without a copy.

    import numpy as np, rknpu
    device = rknpu.Device("sim")
    matmul = rknpu.Matmul(device, 3, np.full((64, 5), 3, np.int8))
    print(matmul(np.full((3, 64), 2, np.int8)))

Calls that fail raise rknpu.Error. The library must be where the loader finds it, or in the same prefix.
"""

from ._native import Error
from .jobs import Block, Finding, Job, Queue, Submission, assemble, disassemble, validate
from .memory import (Access, Buffer, BufferFlag, Device, Image, ImageLayout, PixelFormat, enumerate_devices,
                     image_layout, image_row_alignment, soc_names)
from .operators import (Activation, Convolution, ConvolutionInput, ConvolutionOutput, Elementwise, ElementwiseKind,
                        Pooling, PoolingKind, channel_requantisation, requantisation)
from .sources import (VideoQueue, dmabuf_fence, dmabuf_from_heap, dmabuf_from_memfd, dmabuf_new_memfd, v4l2_describe,
                      v4l2_export, v4l2_format_of, v4l2_fourcc_of)
from .tensors import (DataType, Matmul, Matrix, MatrixOrder, MatrixRole, Tensor, TensorOrder, convert, kernels_to_native,
                      native_layout, pack_int4, unpack_int4)

__all__ = ["Access", "Activation", "Block", "Buffer", "BufferFlag", "Convolution", "ConvolutionInput",
           "ConvolutionOutput", "DataType", "Device", "Elementwise", "ElementwiseKind", "Error", "Finding", "Image",
           "ImageLayout", "Job", "Matmul", "Matrix", "MatrixOrder", "MatrixRole", "PixelFormat", "Pooling",
           "PoolingKind", "Queue", "Submission", "Tensor", "TensorOrder", "VideoQueue", "assemble",
           "channel_requantisation", "convert", "disassemble", "dmabuf_fence", "dmabuf_from_heap", "dmabuf_from_memfd",
           "dmabuf_new_memfd", "enumerate_devices", "image_layout", "image_row_alignment", "kernels_to_native",
           "native_layout", "pack_int4", "requantisation", "soc_names", "unpack_int4", "v4l2_describe", "v4l2_export",
           "v4l2_format_of", "v4l2_fourcc_of", "validate"]
