# SPDX-License-Identifier: MIT
"""What the further Python of docs/hal-guide.md finds around it. There is no camera, so its fence is that of a job."""
import numpy as np
import rknpu

device = rknpu.Device("sim")
height = width = 16
weights = np.ones((16, 3, 3, 3), np.int8)
bias = np.arange(16, dtype=np.int32)
frame = rknpu.Image(device, rknpu.PixelFormat.RGB888, width, height)
pool = rknpu.Pooling(device, rknpu.PoolingKind.MAX, (16, height, width), 2, stride=2)
pooled = rknpu.Buffer(device, pool.out_bytes)
_copy = rknpu.Pooling(device, rknpu.PoolingKind.MAX, (16, height, width), 1)
_map = rknpu.Buffer(device, _copy.in_bytes)
_queue = rknpu.Queue(device)
camera = _copy.submit(_queue, _map, _map)
rknpu.dmabuf_fence = lambda camera, access: camera.fence()
