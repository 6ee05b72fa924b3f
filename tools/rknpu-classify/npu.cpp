// SPDX-License-Identifier: MIT
#include "npu.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

namespace classify {
namespace {

using rknpu::Buffer;
using rknpu::Convolution;
using rknpu::ConvolutionShape;
using rknpu::Device;
using rknpu::Result;

constexpr std::uint32_t kPicturePitch = 16; // bytes from row to row, as the NPU wants it

ConvolutionShape shape(std::uint32_t in, std::uint32_t out, std::uint32_t side, std::uint32_t kernel,
                       std::uint32_t groups) {
    ConvolutionShape s;
    s.in_channels = in;
    s.out_channels = out;
    s.groups = groups;
    s.in_height = s.in_width = side;
    s.kernel_height = s.kernel_width = kernel;
    s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = kernel / 2;
    s.in_zero = s.out_zero = kZero;
    s.activation = rknpu::Activation::Relu;
    return s;
}

Result<Convolution> convolution(const Device& device, const Layer& layer, ConvolutionShape s) {
    s.requantisation = layer.requantisation;
    return Convolution::create(device, s, layer.weights, {layer.bias, layer.multipliers, {}});
}

// Takes the value of a result, or keeps its error for the end.
class Steps {
  public:
    template <class T>
    std::optional<T> take(Result<T> result) {
        if (result)
            return *std::move(result);
        if (!error_)
            error_ = std::move(result).error();
        return std::nullopt;
    }
    const std::optional<rknpu::Error>& error() const { return error_; }

  private:
    std::optional<rknpu::Error> error_;
};

} // namespace

Result<NpuNetwork> NpuNetwork::create(const Device& device, const Network& n) {
    ConvolutionShape picture = shape(1, kNarrow, kSide, 3, 1);
    picture.input = rknpu::ConvolutionInput::Gray8;
    picture.row_pixels = kPicturePitch;
    ConvolutionShape last_shape = shape(kWide, kDigits, 1, 1, 1);
    last_shape.output = rknpu::ConvolutionOutput::Int32;
    last_shape.activation = rknpu::Activation::None;

    rknpu::PoolingShape maximum_shape;
    maximum_shape.channels = kWide;
    maximum_shape.in_height = maximum_shape.in_width = kSide;
    maximum_shape.kernel_height = maximum_shape.kernel_width = 2;
    maximum_shape.stride_y = maximum_shape.stride_x = 2;
    rknpu::ElementwiseShape sum_shape;
    sum_shape.channels = kWide;
    sum_shape.height = sum_shape.width = kPooledSide;
    sum_shape.a = {n.pointwise_scale, kZero};
    sum_shape.b = {n.grouped_scale, kZero};
    sum_shape.out = {n.sum_scale, kZero};

    Steps steps;
    auto first = steps.take(convolution(device, n.first, picture));
    auto depthwise = steps.take(convolution(device, n.depthwise, shape(kNarrow, kNarrow, kSide, 3, kNarrow)));
    auto pointwise = steps.take(convolution(device, n.pointwise, shape(kNarrow, kWide, kSide, 1, 1)));
    auto maximum = steps.take(rknpu::Pooling::create(device, maximum_shape));
    auto grouped = steps.take(convolution(device, n.grouped, shape(kWide, kWide, kPooledSide, 3, kGroups)));
    auto sum = steps.take(rknpu::Elementwise::create(device, sum_shape));
    auto average = steps.take(
        rknpu::Pooling::create(device, rknpu::PoolingShape::global(rknpu::PoolingKind::Average, rknpu::DataType::Int8,
                                                                   {kWide, kPooledSide, kPooledSide})));
    auto last = steps.take(convolution(device, n.last, last_shape));
    if (steps.error())
        return *steps.error();

    const auto buffer = [&](std::uint64_t bytes) { return steps.take(Buffer::allocate(device, bytes)); };
    auto bytes = buffer(std::uint64_t{kSide} * kPicturePitch);
    auto narrow = buffer(first->out_bytes()), narrow2 = buffer(depthwise->out_bytes());
    auto wide = buffer(pointwise->out_bytes()), pooled = buffer(maximum->out_bytes());
    auto pooled2 = buffer(grouped->out_bytes()), added = buffer(sum->bytes());
    auto means = buffer(average->out_bytes()), scores = buffer(last->out_bytes());
    if (steps.error())
        return *steps.error();
    return NpuNetwork(Parts{*std::move(first), *std::move(depthwise), *std::move(pointwise), *std::move(maximum),
                            *std::move(grouped), *std::move(sum), *std::move(average), *std::move(last),
                            *std::move(bytes), *std::move(narrow), *std::move(narrow2), *std::move(wide),
                            *std::move(pooled), *std::move(pooled2), *std::move(added), *std::move(means),
                            *std::move(scores)});
}

Result<Scores> NpuNetwork::run(const Picture& picture, rknpu::CoreMask cores) {
    Parts& p = parts_;
    {
        auto access = p.picture.access(rknpu::Access::Write);
        if (!access)
            return std::move(access).error();
        for (std::uint32_t y = 0; y < kSide; ++y)
            std::memcpy(access->bytes().data() + y * kPicturePitch, picture.data() + y * kSide, kSide);
        if (auto r = access->end(); !r)
            return std::move(r).error();
    }
    rknpu::RunOptions options;
    options.cores = cores;
    Steps steps;
    const bool done = steps.take(p.first.run(p.picture, p.narrow, options)) &&
                      steps.take(p.depthwise.run(p.narrow, p.narrow2, options)) &&
                      steps.take(p.pointwise.run(p.narrow2, p.wide, options)) &&
                      steps.take(p.maximum.run(p.wide, p.pooled, options)) &&
                      steps.take(p.grouped.run(p.pooled, p.pooled2, options)) &&
                      steps.take(p.sum.run(p.pooled, p.pooled2, p.added, options)) &&
                      steps.take(p.average.run(p.added, p.means, options)) &&
                      steps.take(p.last.run(p.means, p.scores, options));
    if (!done)
        return *steps.error();

    auto access = p.scores.access(rknpu::Access::Read);
    if (!access)
        return std::move(access).error();
    Scores scores;
    auto read = rknpu::layout::map_from_native<std::int32_t>({kDigits, 1, 1}, rknpu::layout::MapOrder::Chw,
                                                             access->bytes(), scores);
    if (!read)
        return std::move(read).error();
    return scores;
}

} // namespace classify
