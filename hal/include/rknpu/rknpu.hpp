// SPDX-License-Identifier: MIT
#pragma once

// Everything of the library.
#include <rknpu/access.hpp>
#include <rknpu/buffer.hpp>
#include <rknpu/command_list.hpp>
#include <rknpu/convolution.hpp>
#include <rknpu/device.hpp>
#include <rknpu/dmabuf.hpp>
#include <rknpu/elementwise.hpp>
#include <rknpu/error.hpp>
#include <rknpu/flags.hpp>
#include <rknpu/half.hpp>
#include <rknpu/image.hpp>
#include <rknpu/job.hpp>
#include <rknpu/layout.hpp>
#include <rknpu/matmul.hpp>
#include <rknpu/matrix.hpp>
#include <rknpu/pooling.hpp>
#include <rknpu/queue.hpp>
#include <rknpu/regcmd.hpp>
#include <rknpu/requantisation.hpp>
#include <rknpu/result.hpp>
#include <rknpu/soc.hpp>
#include <rknpu/tensor.hpp>
#include <rknpu/unique_fd.hpp>
#include <rknpu/v4l2.hpp>
#include <rknpu/validate.hpp>
