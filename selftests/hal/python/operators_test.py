# SPDX-License-Identifier: MIT
"""Operators of the Python package on the simulator, against numpy."""

import unittest

import numpy as np

import rknpu
from rknpu import (Access, Buffer, Convolution, DataType, Device, Elementwise, Matmul, Pooling, Queue, Tensor,
                   TensorOrder)

TYPES = {np.dtype(np.int8): DataType.INT8, np.dtype(np.int32): DataType.INT32, np.dtype(np.float16): DataType.HALF}


def descriptions(shape, dtype):
    """Of a map [channel][y][x] as numpy has it and as the NPU has it."""
    data_type = TYPES[np.dtype(dtype)]
    c2 = 16 // np.dtype(dtype).itemsize
    return (Tensor(data_type, TensorOrder.NCHW, 1, *shape), Tensor(data_type, TensorOrder.NC1HWC2, 1, *shape, c2=c2))


def rounded(sums, multiplier, shift, zero):
    """saturate(round(sum * multiplier * 2^-shift + zero)), ties to even; exact, as the numbers are small enough."""
    scaled = sums.astype(np.float64) * multiplier / 2.0**shift + zero
    return np.clip(np.rint(scaled), -128, 127).astype(np.int8)


def windows(array, height, width, stride, dilation=1):
    """[channel][y][x][window's y][window's x]"""
    span = ((height - 1) * dilation + 1, (width - 1) * dilation + 1)
    view = np.lib.stride_tricks.sliding_window_view(array, span, axis=(1, 2))
    return view[:, ::stride, ::stride, ::dilation, ::dilation]


class Test(unittest.TestCase):
    def setUp(self):
        self.device = Device("sim:rk3588")
        self.random = np.random.default_rng(1)

    def integers(self, *shape):
        return self.random.integers(-128, 128, shape, dtype=np.int8)

    def upload(self, array):
        plain, npu = descriptions(array.shape, array.dtype)
        buffer = Buffer(self.device, npu.bytes)
        with buffer.access(Access.WRITE, array.dtype, npu.shape) as memory:
            rknpu.convert(plain, array[np.newaxis], npu, memory)
        return buffer

    def download(self, buffer, shape, dtype):
        plain, npu = descriptions(shape, dtype)
        with buffer.access(Access.READ, dtype, npu.shape) as memory:
            return rknpu.convert(npu, memory, plain)[0]

    def run_map(self, operator, array, dtype, **options):
        target = Buffer(self.device, operator.out_bytes)
        self.assertGreater(operator(self.upload(array), target, **options), 0)
        return self.download(target, operator.out_shape, dtype)

    def test_convolution(self):
        image, weights = self.integers(20, 9, 13), self.integers(24, 20, 3, 3)
        bias = self.random.integers(-1000, 1000, 24, dtype=np.int32)
        zeros, scales = self.integers(24), self.random.uniform(0.0005, 0.002, 24)
        multipliers, (multiplier, shift) = rknpu.channel_requantisation(scales)
        conv = Convolution(self.device, weights, (9, 13), stride=2, padding=(1, 2), in_zero=5, out_zero=-7,
                           scale=(multiplier, shift), bias=bias, multipliers=multipliers, weight_zeros=zeros,
                           activation=rknpu.Activation.RELU)
        padded = np.pad(image.astype(np.int64) - 5, ((0, 0), (1, 1), (2, 2)))
        sums = np.einsum("cyxij,ocij->oyx", windows(padded, 3, 3, 2), weights - zeros.astype(np.int64)[:, None, None, None])
        sums += bias[:, None, None]
        sums = np.maximum(np.rint(sums * multipliers[:, None, None].astype(np.float64) / 2**14), 0)
        self.assertEqual(conv.out_shape, sums.shape)
        np.testing.assert_array_equal(self.run_map(conv, image, np.int8, cores=7), rounded(sums, multiplier, shift, -7))

    def test_convolution_in_groups(self):
        image, weights = self.integers(32, 8, 8), self.integers(32, 1, 3, 3)
        conv = Convolution(self.device, weights, (8, 8), dilation=2, padding=(2, 1, 0, 3), groups=32, scale=0.01)
        padded = np.pad(image.astype(np.int64), ((0, 0), (2, 0), (1, 3)))
        sums = np.einsum("cyxij,cij->cyx", windows(padded, 3, 3, 1, 2), weights[:, 0].astype(np.int64))
        np.testing.assert_array_equal(self.run_map(conv, image, np.int8), rounded(sums, *rknpu.requantisation(0.01), 0))
        wide = Convolution(self.device, weights, (8, 8), groups=32, output=rknpu.ConvolutionOutput.INT32)
        sums = np.einsum("cyxij,cij->cyx", windows(image.astype(np.int64), 3, 3, 1), weights[:, 0].astype(np.int64))
        np.testing.assert_array_equal(self.run_map(wide, image, np.int32), sums)

    def test_convolution_of_a_picture(self):
        picture, weights = self.random.integers(0, 256, (6, 16, 3), dtype=np.uint8), self.integers(4, 3, 1, 1)
        conv = Convolution(self.device, weights, (6, 16), input=rknpu.ConvolutionInput.RGB888,
                           output=rknpu.ConvolutionOutput.INT32)
        source, target = Buffer(self.device, 32 + conv.in_bytes), Buffer(self.device, conv.out_bytes)
        with source.access(Access.WRITE, np.uint8, picture.shape, offset=32) as memory:
            memory[:] = picture
        conv((source, 32), target)
        sums = np.einsum("yxc,oc->oyx", picture.astype(np.int64) - 128, weights[:, :, 0, 0].astype(np.int64))
        np.testing.assert_array_equal(self.download(target, conv.out_shape, np.int32), sums)

    def test_convolution_of_halves(self):
        # Whole numbers, whose sums are exact.
        image = self.random.integers(-8, 9, (10, 7, 5)).astype(np.float16)
        weights = self.random.integers(-3, 4, (6, 10, 2, 2)).astype(np.float16)
        bias = self.random.integers(-9, 10, 6).astype(np.float32)
        conv = Convolution(self.device, weights, (7, 5), bias=bias)
        sums = np.einsum("cyxij,ocij->oyx", windows(image.astype(np.float64), 2, 2, 1), weights.astype(np.float64))
        np.testing.assert_array_equal(self.run_map(conv, image, np.float16), sums + bias[:, None, None])

    def test_pooling(self):
        image = self.integers(20, 11, 9)
        largest = Pooling(self.device, rknpu.PoolingKind.MAX, image.shape, (3, 2), stride=2)
        np.testing.assert_array_equal(self.run_map(largest, image, np.int8), windows(image, 3, 2, 2).max(axis=(3, 4)))
        image = self.integers(5, 40, 33)
        whole = Pooling(self.device, rknpu.PoolingKind.AVERAGE, image.shape)
        self.assertEqual(whole.out_shape, (5, 1, 1))
        expected = rounded(image.sum(axis=(1, 2), dtype=np.int64), *rknpu.requantisation(1 / (40 * 33)), 0)
        np.testing.assert_array_equal(self.run_map(whole, image, np.int8)[:, 0, 0], expected)

    def test_elementwise(self):
        for kind, function in ((rknpu.ElementwiseKind.ADD, np.add), (rknpu.ElementwiseKind.MAXIMUM, np.maximum),
                               (rknpu.ElementwiseKind.MULTIPLY, np.multiply)):
            a, b = self.integers(20, 6, 7), self.integers(20, 6, 7)
            operator = Elementwise(self.device, kind, a.shape, relu=True, a=(1.0, 3), b=(1.0, -2), out=(1.0, 1))
            target = Buffer(self.device, operator.bytes)
            self.assertGreater(operator(self.upload(a), self.upload(b), target), 0)
            exact = np.maximum(function(a.astype(np.int64) - 3, b.astype(np.int64) + 2), 0)
            np.testing.assert_array_equal(self.download(target, a.shape, np.int8), np.clip(exact + 1, -128, 127))
            halves = [array.astype(np.float16) for array in (a, b)]
            operator = Elementwise(self.device, kind, a.shape, data_type=DataType.HALF)
            target = Buffer(self.device, operator.bytes)
            operator(self.upload(halves[0]), self.upload(halves[1]), target)
            np.testing.assert_array_equal(self.download(target, a.shape, np.float16), function(*halves))

    def test_operators_are_queued(self):
        """A chain, all of which but its ends is closed while it is under way, on a second queue behind a fence."""
        image, weights = self.integers(20, 8, 8), self.integers(20, 20, 1, 1)
        scale = rknpu.requantisation(0.002)
        conv = Convolution(self.device, weights, (8, 8), scale=scale)
        larger = Elementwise(self.device, rknpu.ElementwiseKind.MAXIMUM, image.shape)
        pool = Pooling(self.device, rknpu.PoolingKind.MAX, image.shape, 2, stride=2)
        between = [Buffer(self.device, size) for size in (conv.out_bytes + 32, larger.bytes)]
        pooled = Buffer(self.device, pool.out_bytes)
        b = self.integers(pool.in_bytes // 4, 5)  # the pooled map as one row, atom after atom
        product = Matmul(self.device, 1, b)
        self.assertEqual(product.a_pitch, b.shape[0])
        out = Buffer(self.device, product.c_pitch)

        queue, other = Queue(self.device), Queue(self.device)
        source = self.upload(image)
        one = conv.submit(queue, source, (between[0], 32), cores=2)
        two = larger.submit(queue, source, (between[0], 32), between[1], after=[one], cores=3)
        three = pool.submit(queue, between[1], pooled, after=[two], timeout=2, priority=1)
        with three.fence() as fence:
            four = product.submit(other, pooled, out, wait_for=[fence])
        for thing in (conv, larger, pool, product, source, *between):
            thing.close()
        self.assertGreater(four.wait().hardware_ns, 0)
        self.assertEqual((one.wait().cores, two.wait().cores), (2, 3))
        self.assertEqual(pooled.accessed, 0)

        sums = np.einsum("cyx,oc->oyx", image.astype(np.int64), weights[:, :, 0, 0].astype(np.int64))
        expected = windows(np.maximum(image, rounded(sums, *scale, 0)), 2, 2, 2).max(axis=(3, 4))
        np.testing.assert_array_equal(self.download(pooled, expected.shape, np.int8), expected)
        self.assertGreater(pooled.accessed, 0)
        row = np.zeros((2, 4, 4, 16), np.int64)
        row[0], row[1, :, :, :4] = expected[:16].transpose(1, 2, 0), expected[16:].transpose(1, 2, 0)
        with out.access(Access.READ, np.int32, (5,)) as result:
            np.testing.assert_array_equal(result, row.ravel() @ b.astype(np.int64))

    def test_passes_are_one_job(self):
        """The last of poolings that wait for each other, each of three passes."""
        queue = Queue(self.device)
        pool = Pooling(self.device, rknpu.PoolingKind.MAX, (16, 300, 17), (300, 17))
        source, target = Buffer(self.device, pool.in_bytes), Buffer(self.device, pool.out_bytes)
        for _ in range(20):
            jobs = [pool.submit(queue, source, target)]
            for _ in range(20):
                jobs.append(pool.submit(queue, source, target, after=jobs[-1:]))
            jobs[-1].cancel()
            self.assertGreaterEqual(jobs[0].wait().tasks, 3)
            try:
                jobs[-1].wait()  # it came too late
            except rknpu.Error as error:
                self.assertEqual(error.code, "cancelled")
                return
        self.fail("never in time")

    def test_what_cannot_be_queued_is_refused(self):
        queue = Queue(self.device)
        deep = Matmul(self.device, 1, np.zeros((8193, 32), np.int8))
        with self.assertRaises(rknpu.Error) as raised:
            deep.submit(queue, Buffer(self.device, deep.a_pitch), Buffer(self.device, deep.c_pitch))
        self.assertEqual(raised.exception.code, "unsupported")
        with self.assertRaises(TypeError):
            deep.submit(queue, Buffer(self.device, 1), Buffer(self.device, 1), core=1)

    def test_what_is_wrong_is_told(self):
        weights = self.integers(4, 3, 3, 3)
        with self.assertRaises(rknpu.Error) as raised:
            Convolution(self.device, weights, (2, 2))
        self.assertEqual(raised.exception.code, "invalid argument")
        for options in ({"bias": [1, 2]}, {"multipliers": np.ones(5)}):
            with self.assertRaises(ValueError):
                Convolution(self.device, weights, (8, 8), **options)
        with self.assertRaises(ValueError):
            Convolution(self.device, weights.astype(np.float32), (8, 8))
        with self.assertRaises(ValueError):
            Convolution(self.device, weights.astype(np.float16), (8, 8), weight_zeros=[0] * 4)
        conv = Convolution(self.device, weights, (8, 8))
        small = Buffer(self.device, conv.in_bytes - 1)
        with self.assertRaises(rknpu.Error) as raised:
            conv(small, Buffer(self.device, conv.out_bytes))
        self.assertEqual(raised.exception.code, "too small")
        conv.close()
        with self.assertRaises(ValueError):
            conv(small, small)


if __name__ == "__main__":
    unittest.main()
