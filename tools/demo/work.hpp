// SPDX-License-Identifier: MIT
#pragma once

#include "frame.hpp"
#include "picture.hpp"
#include "report.hpp"

#include <rknpu/device.hpp>
#include <rknpu/result.hpp>

#include <string>
#include <vector>

namespace demo {

/**
 * Filters the picture on the NPU, which reads `frame` where it lies, and checks every byte: a blur, edges of the
 * blurred picture (from the blur's result in the NPU's own order), and the gradient as exact sums. Leaves blur.ppm,
 * edges.pgm and gradient.pgm in the folder `out`.
 */
rknpu::Result<void> filter_picture(const rknpu::Device& device, const Picture& picture, const Frame& frame,
                                   const std::string& out, std::vector<Operation>& done);

/// Multiplies matrices, int8 and half precision, made from the bytes of the picture.
rknpu::Result<void> multiply_matrices(const rknpu::Device& device, const Picture& picture,
                                      std::vector<Operation>& done);

} // namespace demo
