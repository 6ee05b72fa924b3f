# SPDX-License-Identifier: MIT
"""The Python package on the simulator, against numpy."""

import ctypes
import gc
import mmap
import os
import select
import unittest
import unittest.mock

import numpy as np

import rknpu
from rknpu import Access, Buffer, DataType, Device, Image, Job, PixelFormat, Queue, Tensor, TensorOrder

ROW_BYTES = 128


def row_commands(a, b, c):
    """c[32] = a[32] * B[32][32], int8 to int32: the text of one task."""
    with open(os.path.join(os.path.dirname(__file__), "row.txt"), encoding="ascii") as file:
        text = file.read()
    return rknpu.assemble(text.format(a=a, b=b, c=c))


BLOCKS = rknpu.Block.CNA | rknpu.Block.CORE | rknpu.Block.DPU


class Test(unittest.TestCase):
    def setUp(self):
        self.device = Device("sim:rk3588")

    def rows(self, value):
        """Memory for a task, and the job."""
        a, b, c = (Buffer(self.device, 4096) for _ in range(3))
        with a.access(Access.WRITE, np.int8) as array:
            array[:] = value
        with b.access(Access.WRITE, np.int8) as array:
            array[:] = 2
        job = Job(self.device, [[(row_commands(a.dma_address, b.dma_address, c.dma_address), BLOCKS)]])
        for buffer in (a, b, c):
            job.keep(buffer)
        return job, c

    def check(self, c, value):
        with c.access(Access.READ, np.int32, (32,)) as array:
            np.testing.assert_array_equal(array, 32 * 2 * value)

    def test_device(self):
        self.assertEqual(self.device.node, "sim:rk3588")
        self.assertEqual(self.device.soc, "rk3588")
        self.assertEqual(self.device.info.cores, 3)
        self.assertTrue(self.device.has_fences)
        self.assertEqual(self.device.usable_cores(), 7)
        buffer = Buffer(self.device, 5000)
        self.assertEqual(self.device.memory().buffers, 1)
        self.assertEqual(self.device.memory().allocated, 8192)
        buffer.close()
        self.assertEqual(self.device.memory().buffers, 0)
        self.assertIsInstance(rknpu.enumerate_devices(), list)
        with self.assertRaises(rknpu.Error) as raised:
            Device("/dev/null")
        self.assertEqual(raised.exception.code, "wrong device")
        self.assertIn("/dev/null", str(raised.exception))

    def test_arrays_are_the_memory(self):
        buffer = Buffer(self.device, 1 << 20)
        with buffer.access(Access.WRITE, np.float32, (256, 1024)) as array:
            address = array.ctypes.data
            array[:] = np.arange(256 * 1024, dtype=np.float32).reshape(256, 1024)
            self.assertFalse(array.flags.owndata)
        # The same bytes at the same place, for another view, type and range.
        with buffer.access(Access.READ, np.float32, (1024,), offset=4096) as array:
            self.assertEqual(array.ctypes.data, address + 4096)
            np.testing.assert_array_equal(array, np.arange(1024, 2048, dtype=np.float32))
            with self.assertRaises(ValueError):
                array[0] = 1
        # And another device sees them through a dma-buf.
        with buffer.export_dmabuf() as file:
            there = Buffer.import_dmabuf(Device("sim:rk3588"), file)
            with self.assertRaises(rknpu.Error) as raised:  # the simulator's are files
                rknpu.dmabuf_fence(file, Access.READ)
            self.assertEqual(raised.exception.code, "unsupported")
        with buffer.access(Access.READ_WRITE) as array:
            array[99] = 123
        with there.access(Access.READ) as array:
            self.assertEqual(array[99], 123)
        self.assertEqual(buffer.accessed, (1 << 20) + 4096 + (1 << 20))
        with self.assertRaises(rknpu.Error) as raised:
            with buffer.access(Access.READ, shape=(1 << 20,), offset=1):
                pass
        self.assertEqual(raised.exception.code, "too small")
        self.assertIn("1 bytes are missing", str(raised.exception))

    def test_arrays_keep_their_memory(self):
        buffer = Buffer(self.device, 4096)
        with buffer.access(Access.WRITE) as array:
            array[:] = 7
        kept = array
        del buffer, array
        gc.collect()
        self.assertEqual(int(kept.sum()), 7 * 4096)

    def test_planes_apart(self):
        image = Image(self.device, PixelFormat.NV12, 64, 40, buffers=2)
        self.assertEqual([plane.buffer for plane in image.planes], [0, 1])
        self.assertEqual([image.plane_buffer(i).size for i in (0, 1)], [64 * 40, 64 * 20])
        with image.plane_buffer(0).export_dmabuf() as luma, image.plane_buffer(1).export_dmabuf() as chroma:
            same = Image((self.device, luma, chroma), PixelFormat.NV12, 64, 40)
            with self.assertRaises(rknpu.Error) as raised:
                Image((self.device, chroma, luma), PixelFormat.NV12, 64, 40)
            self.assertIn("plane 0 of a NV12 image", str(raised.exception))
        with same.access(Access.WRITE, 1) as rows:
            self.assertEqual(rows.shape, (20, 64))
            rows[:] = 9
        view = Image([image.plane_buffer(0), image.plane_buffer(1)], PixelFormat.NV12, 64, 40)
        with view.access(Access.READ, 1) as rows, view.access(Access.READ, 0) as luma:
            self.assertTrue((rows == 9).all() and (luma == 0).all())

    def new_dmabuf(self, size):
        """Memory of another device."""
        return Buffer(Device("sim:rk3588"), size).export_dmabuf()

    def test_images_have_a_place(self):
        with self.new_dmabuf(4096) as luma, self.new_dmabuf(4096) as chroma:
            image = Image((self.device, luma, chroma), PixelFormat.NV12, 64, 40, domain=2)
            self.assertEqual([image.plane_buffer(i).domain for i in (0, 1)], [2, 2])
            self.assertTrue(image.buffer.imported)
            again = Image((self.device, luma), PixelFormat.GRAY8, 64, 64, any_domain=True)
            self.assertEqual(again.buffer.domain, 2)  # where it is already
            with self.assertRaises(rknpu.Error) as raised:
                Image((self.device, luma), PixelFormat.GRAY8, 64, 64, domain=16)
            self.assertEqual(raised.exception.code, "invalid argument")
        self.assertFalse(Buffer(self.device, 1).imported)
        filler = Buffer(self.device, 3 << 30)
        with self.new_dmabuf(2 << 30) as large:
            with self.assertRaises(rknpu.Error) as raised:
                Image((self.device, large), PixelFormat.GRAY8, 64, 64)
            self.assertEqual(raised.exception.code, "ENOMEM")
            image = Image((self.device, large), PixelFormat.GRAY8, 64, 64, any_domain=True)
            self.assertEqual((filler.domain, image.buffer.domain), (0, 1))
        for source in (self.device, filler, [filler]):
            with self.assertRaises(ValueError):
                Image(source, PixelFormat.GRAY8, 64, 64, domain=1)

    def test_layouts_of_images(self):
        layout = rknpu.image_layout(PixelFormat.NV12, 60, 40, width_stride=64)
        self.assertEqual([(p.offset, p.row_bytes, p.row_stride, p.rows, p.buffer) for p in layout.planes],
                         [(0, 60, 64, 40, 0), (64 * 40, 60, 64, 20, 0)])
        self.assertEqual(layout.bytes, [64 * 60 - 4])
        layout = rknpu.image_layout(PixelFormat.NV12, 64, 40, offsets=(16, 32), buffers=2)
        self.assertEqual([(p.offset, p.buffer) for p in layout.planes], [(16, 0), (32, 1)])
        self.assertEqual(layout.bytes, [16 + 64 * 40, 32 + 64 * 20])
        layout = rknpu.image_layout(PixelFormat.RGB888, 5, 3)
        self.assertEqual((len(layout.planes), layout.bytes), (1, [45]))
        with self.assertRaises(rknpu.Error) as raised:
            rknpu.image_layout(PixelFormat.GRAY8, 5, 3, width_stride=4)
        self.assertEqual(raised.exception.code, "bad layout")

    def test_physical_memory_is_for_devices_without_an_iommu(self):
        with mmap.mmap(-1, 8192) as mapped:
            for memory in (None, mapped):
                with self.assertRaises(rknpu.Error) as raised:
                    Buffer.from_physical(self.device, 4096, 8192, memory)
                self.assertEqual(raised.exception.code, "unsupported")
            del raised  # its frames have hold of the memory
            with self.assertRaises(ValueError):
                Buffer.from_physical(self.device, 4096, 8193, mapped)

    def test_mapped_physical_memory_is_kept(self):
        mapped = mmap.mmap(-1, 8192)
        # The simulator has an IOMMU: what the library would get.
        with unittest.mock.patch("rknpu._native.created", return_value=None) as created:
            buffer = Buffer.from_physical(self.device, 4096, 8192, mapped)
        name, _, address, size, at = created.call_args.args
        self.assertEqual((name, address, size), ("buffer_from_physical", 4096, 8192))
        mapped[100] = 77
        self.assertEqual(ctypes.c_uint8.from_address(at + 100).value, 77)
        with self.assertRaises(BufferError):
            mapped.close()
        del buffer
        gc.collect()
        mapped.close()

    def test_names_of_socs(self):
        names = rknpu.soc_names()
        self.assertEqual((names[0], names[-1], len(names), len(set(names))), ("rk3562", "rv1126b", 11, 11))
        self.assertIn(self.device.soc, names)

    def test_images(self):
        image = Image(self.device, PixelFormat.RGB888, 50, 40)
        plane = image.planes[0]
        self.assertEqual((plane.rows, plane.row_bytes, plane.row_stride), (40, 150, 192))
        with image.access(Access.WRITE) as rows:
            rows[:] = np.arange(40 * 150).reshape(40, 150) % 251
        with image.buffer.access(Access.READ) as flat:
            self.assertEqual(flat[39 * 192 + 149], (40 * 150 - 1) % 251)
        buffer = Buffer(self.device, 1000)
        with self.assertRaises(rknpu.Error) as raised:
            Image(buffer, PixelFormat.GRAY8, 32, 32)
        self.assertIn("24 bytes are missing", str(raised.exception))

    def test_jobs(self):
        job, c = self.rows(3)
        self.assertGreater(job.run(), 0)
        self.check(c, 3)
        self.assertGreater(job.run(cores=4, timeout=1), 0)

    def test_queues(self):
        queue = Queue(self.device)
        first, c_first = self.rows(5)
        second, c_second = self.rows(6)
        a = queue.submit(first, cores=1, keep=[(Buffer(self.device, 4096), Access.WRITE)])
        with a.fence() as fence:
            b = queue.submit(second, wait_for=[fence], after=[a], priority=1)
            self.assertGreater(b.wait().hardware_ns, 0)
            self.assertTrue(a.done())
            self.assertEqual(select.select([fence], [], [], 0)[0], [fence])
        self.check(c_first, 5)
        self.check(c_second, 6)
        batch = queue.submit_batch([first, second, first])
        first.close()
        second.close()
        self.assertEqual(batch[2].wait().tasks, 1)
        queue.wait_idle()
        batch[0].cancel()  # has ended
        batch[0].wait()
        with self.assertRaises(rknpu.Error) as raised:
            queue.submit(self.rows(1)[0], cores=8)
        self.assertEqual(raised.exception.code, "invalid argument")

    def test_tensors(self):
        layout = rknpu.native_layout("rk3588", DataType.INT8)
        self.assertEqual(layout.c2, 16)
        values = np.linspace(-3, 3, 2 * 20 * 3 * 5, dtype=np.float32).reshape(2, 20, 3, 5)
        camera = Tensor(DataType.FLOAT, TensorOrder.NCHW, 2, 20, 3, 5)
        npu = Tensor(DataType.INT8, TensorOrder.NC1HWC2, 2, 20, 3, 5, c2=16, scale=0.03125, zero=-3)
        buffer = Buffer(self.device, npu.bytes)
        with buffer.access(Access.WRITE, np.int8, npu.shape) as memory:
            self.assertIs(rknpu.convert(camera, values, npu, memory), memory)
            expected = np.clip(np.rint(values / np.float32(0.03125)) - 3, -128, 127).astype(np.int8)
            for channel in range(20):
                np.testing.assert_array_equal(memory[:, channel // 16, :, :, channel % 16], expected[:, channel])
            np.testing.assert_array_equal(memory[:, 1, :, :, 4:], 0)
        with self.assertRaises(ValueError):
            rknpu.convert(camera, values.transpose(1, 0, 2, 3), npu)

    def test_matrices(self):
        values = np.arange(-105, 105, dtype=np.int8).reshape(70, 3)
        kinds = {order: rknpu.Matrix("rk3588", DataType.INT8, rknpu.MatrixRole.B, order, 70, 3)
                 for order in rknpu.MatrixOrder}
        normal, transposed, own = (kinds[order] for order in rknpu.MatrixOrder)
        np.testing.assert_array_equal(rknpu.convert(normal, values, transposed), values.T)
        npu = rknpu.convert(normal, values, own)
        self.assertEqual(npu.nbytes, own.bytes)
        # [N/32][K/32][32][32]
        np.testing.assert_array_equal(npu.reshape(3, 32, 32)[:, :3].transpose(0, 2, 1).reshape(96, 3)[:70], values)
        np.testing.assert_array_equal(rknpu.convert(own, npu, normal), values)
        halves = rknpu.Matrix("rk3588", DataType.HALF, rknpu.MatrixRole.B, rknpu.MatrixOrder.NORMAL, 70, 3)
        np.testing.assert_array_equal(rknpu.convert(normal, values, halves), values.astype(np.float16))

    def test_weights(self):
        random = np.random.default_rng(3)
        for dtype, kernels, atom, zero in ((np.int8, 32, 16, -7), (np.float16, 16, 8, 0)):
            weights = random.integers(-100, 100, (35, 41, 2, 3)).astype(dtype)
            filled = np.pad(weights, ((0, 0), (0, -41 % atom), (0, 0), (0, 0)), constant_values=zero)
            # Groups of kernels, in them of 32 channels, in them [y][x][kernel][channel].
            expected = [filled[k:k + kernels, ch:ch + 32].transpose(2, 3, 0, 1).ravel()
                        for k in range(0, 35, kernels) for ch in range(0, filled.shape[1], 32)]
            expected = np.concatenate(expected)
            result = rknpu.kernels_to_native("rk3588", weights, zero)
            self.assertEqual(result.dtype, dtype)
            np.testing.assert_array_equal(result, expected)
            buffer = Buffer(self.device, expected.nbytes)
            with buffer.access(Access.WRITE, dtype) as memory:
                reversed_twice = np.ascontiguousarray(weights[::-1])[::-1]
                self.assertIs(rknpu.kernels_to_native("rk3588", reversed_twice, zero, memory), memory)
                np.testing.assert_array_equal(memory, expected)
            with self.assertRaises(rknpu.Error) as raised:
                rknpu.kernels_to_native("rk3588", weights, zero, np.empty(expected.size - 1, dtype))
            self.assertEqual(raised.exception.code, "too small")
        with self.assertRaises(rknpu.Error) as raised:
            rknpu.kernels_to_native("rk3568", weights)
        self.assertEqual(raised.exception.code, "unsupported")
        for wrong in (weights[0], weights.astype(np.float32)):
            with self.assertRaises(ValueError):
                rknpu.kernels_to_native("rk3588", wrong)

    def test_int4(self):
        np.testing.assert_array_equal(rknpu.pack_int4([[1, -2, -8, 7], [0, 0, 3, -1]]), [[0xe1, 0x78], [0x00, 0xf3]])
        np.testing.assert_array_equal(rknpu.unpack_int4(np.array([0xe1, 0x78], np.uint8)), [1, -2, -8, 7])
        for wrong in ([1, 2, 3], [8, 0], [0, -9], [1.0, 2.0], 5):
            with self.assertRaises(ValueError):
                rknpu.pack_int4(wrong)
        with self.assertRaises(ValueError):
            rknpu.unpack_int4([1, 2])

        random = np.random.default_rng(4)
        b, a = (random.integers(-8, 8, shape, dtype=np.int8) for shape in ((600, 70), (5, 600)))
        b[:, 3], a[2] = -8, -8  # 64 * 600 is more than C has
        exact = np.clip(a.astype(np.int64) @ b.astype(np.int64), -2**15, 2**15 - 1)
        self.assertEqual(exact[2, 3], 2**15 - 1)
        matmul = rknpu.Matmul(self.device, 5, b, result=np.int16)
        product = matmul(a)
        self.assertEqual(product.dtype, np.int16)
        np.testing.assert_array_equal(product, exact)
        np.testing.assert_array_equal(self.in_place(matmul, rknpu.pack_int4(a), 70, np.int16), exact)
        with self.assertRaises(ValueError):
            matmul(a + 8)
        with self.assertRaises(rknpu.Error) as raised:
            rknpu.Matmul(self.device, 5, b[:, :69], result=np.int16)
        self.assertEqual(raised.exception.code, "invalid argument")

    def in_place(self, matmul, a, columns, dtype, **options):
        """C of A, both as rows in buffers, behind something else."""
        source = Buffer(self.device, 32 + len(a) * matmul.a_pitch)
        target = Buffer(self.device, 48 + len(a) * matmul.c_pitch)
        with source.access(Access.WRITE, np.uint8, (len(a), matmul.a_pitch), offset=32) as rows:
            rows[:, :a.shape[1]] = a.view(np.uint8)
        self.assertGreater(matmul.run_in_place((source, 32), (target, 48), **options), 0)
        with target.access(Access.READ, np.uint8, (len(a), matmul.c_pitch), offset=48) as rows:
            return rows[:, :columns * np.dtype(dtype).itemsize].copy().view(dtype)

    def test_matmul_in_place(self):
        random = np.random.default_rng(5)
        b, a = (random.integers(-128, 128, shape, dtype=np.int8) for shape in ((70, 33), (9, 70)))
        exact = a.astype(np.int32) @ b.astype(np.int32)
        matmul = rknpu.Matmul(self.device, 9, b)
        for cores in (0, 2, 7):
            np.testing.assert_array_equal(self.in_place(matmul, a, 33, np.int32, cores=cores), exact)
        small = Buffer(self.device, 9 * matmul.a_pitch - 1)
        large = Buffer(self.device, 8 + 9 * max(matmul.a_pitch, matmul.c_pitch))
        for source, target, code in ((small, large, "too small"), ((large, 8), large, "bad layout")):
            with self.assertRaises(rknpu.Error) as raised:
                matmul.run_in_place(source, target)
            self.assertEqual(raised.exception.code, code)

    def test_matmul_results(self):
        random = np.random.default_rng(2)
        b, a = (random.integers(-128, 128, shape, dtype=np.int8) for shape in ((64, 5), (3, 64)))
        multiplier, shift = rknpu.requantisation(0.002)
        product = rknpu.Matmul(self.device, 3, b, result=np.int8, scale=(multiplier, shift), out_zero=4)(a)
        exact = np.rint(a.astype(np.int32) @ b.astype(np.int32) * (multiplier / 2**shift) + 4)
        np.testing.assert_array_equal(product, np.clip(exact, -128, 127))
        ones = np.ones((64, 5), np.float16)
        product = rknpu.Matmul(self.device, 3, ones, result=np.float16)(np.full((3, 64), 0.5, np.float16))
        self.assertEqual(product.dtype, np.float16)
        self.assertTrue((product == 32).all())
        with self.assertRaises(ValueError):
            rknpu.Matmul(self.device, 3, ones, result=np.int8)

    def test_validate(self):
        commands = rknpu.assemble("cna.DMA_CON2 surf_stride=-3\nbarrier\nnop\nnop\n")
        found = rknpu.validate("rk3588", [(0x1000, 0x300, 0)], [(0x1000, commands)], [])
        self.assertEqual([(one.problem, one.fatal, one.task) for one in found], [("missing-enable", True, 0)])
        self.assertTrue(found[0].message)
        with self.assertRaises(rknpu.Error):
            rknpu.validate("rk1", [], [], [])

    def test_checks(self):
        self.device.check_accesses()
        buffer = Buffer(self.device, 4096)
        with buffer.export_dmabuf() as file:
            same = Buffer.import_dmabuf(self.device, file)
        with buffer.access(Access.WRITE):
            with self.assertRaises(rknpu.Error) as raised, same.access(Access.WRITE):
                pass
            self.assertEqual(raised.exception.code, "EBUSY")
        self.device.check_accesses(False)
        with buffer.access(Access.WRITE), same.access(Access.WRITE):
            pass

    def test_sources(self):
        self.assertEqual(rknpu.image_row_alignment("rk3588"), 16)
        self.assertEqual(rknpu.v4l2_fourcc_of(PixelFormat.NV12, 2).to_bytes(4, "little"), b"NM12")
        self.assertIs(rknpu.v4l2_format_of(int.from_bytes(b"NM12", "little")), PixelFormat.NV12)
        with self.assertRaises(rknpu.Error):
            rknpu.v4l2_format_of(0)
        with rknpu.dmabuf_new_memfd(100) as file:
            self.assertEqual(os.fstat(file.fileno()).st_size, 4096)

    def test_what_is_no_source_is_refused(self):
        with open("/dev/null") as file:
            for call in (lambda: rknpu.v4l2_export(file, 0), lambda: rknpu.v4l2_describe(file),
                         lambda: rknpu.v4l2_describe(file, rknpu.VideoQueue.CAPTURE_PLANES),
                         lambda: rknpu.dmabuf_from_heap(4096, "../null"),
                         lambda: rknpu.dmabuf_from_memfd(file, 1, 4096)):
                with self.assertRaises(rknpu.Error) as raised:
                    call()
                self.assertEqual(raised.exception.code, "invalid argument")

    def test_matmul(self):
        random = np.random.default_rng(1)
        b = random.integers(-128, 128, (70, 33), dtype=np.int8)
        a = random.integers(-128, 128, (9, 70), dtype=np.int8)
        product = rknpu.Matmul(self.device, 9, b)(a)
        np.testing.assert_array_equal(product, a.astype(np.int32) @ b.astype(np.int32))
        with self.assertRaises(ValueError):
            rknpu.Matmul(self.device, 9, b)(a.T)

    def test_text_of_commands(self):
        text = "cna.DATA_SIZE0 datain_width=64 datain_height=32\n"
        self.assertEqual(rknpu.disassemble(rknpu.assemble(text)), text)
        with self.assertRaises(rknpu.Error) as raised:
            rknpu.assemble("nop\nnonsense\n")
        self.assertEqual(raised.exception.code, "bad command")
        self.assertIn("line 2", str(raised.exception))


if __name__ == "__main__":
    unittest.main()
