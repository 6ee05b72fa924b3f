// SPDX-License-Identifier: MIT
#include "ops/global_average.hpp"

#include "base/format.hpp"
#include "buffer_state.hpp"
#include "ops/bound_jobs.hpp"
#include "ops/pooling_plan.hpp"
#include "ops/requantise.hpp"

#include <rknpu/half.hpp>
#include <rknpu/layout.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace rknpu::detail {
namespace {

constexpr std::uint32_t kMostSide = 31; // of a convolution's kernel

// Pieces of equal size that cover a side; what they are too long is padding.
struct Pieces {
    std::uint32_t count, size, padding;
};

Pieces pieces_of(std::uint32_t side) {
    const std::uint32_t count = (side + kMostSide - 1) / kMostSide, size = (side + count - 1) / count;
    const std::uint32_t needed = (side + size - 1) / size;
    return {needed, size, needed * size - side};
}

bool in_pieces(const PoolingShape& s) {
    return std::max(s.in_height, s.in_width) > kMostSide;
}

double pixels_of(const PoolingShape& s) {
    return double{1} * s.in_height * s.in_width;
}

ConvolutionShape convolution_of(const PoolingShape& s) {
    const Pieces rows = pieces_of(s.in_height), columns = pieces_of(s.in_width);
    ConvolutionShape c;
    c.in_channels = c.out_channels = c.groups = s.channels;
    c.in_height = s.in_height;
    c.in_width = s.in_width;
    c.kernel_height = c.stride_y = rows.size;
    c.kernel_width = c.stride_x = columns.size;
    c.pad_bottom = rows.padding;
    c.pad_right = columns.padding;
    const bool sums = in_pieces(s);
    if (s.type == DataType::Half) {
        c.input = ConvolutionInput::Half;
        c.output = sums ? ConvolutionOutput::Float : ConvolutionOutput::Half;
        return c;
    }
    c.in_zero = s.zero;
    if (sums) {
        c.output = ConvolutionOutput::Int32;
    } else {
        c.out_zero = s.zero;
        c.requantisation = *Requantisation::from_scale(1 / pixels_of(s));
    }
    return c;
}

Result<Convolution> make_convolution(const Device& device, const PoolingShape& s) {
    const ConvolutionShape c = convolution_of(s);
    const std::size_t count = std::size_t{s.channels} * c.kernel_height * c.kernel_width;
    if (s.type == DataType::Half) {
        const float weight = in_pieces(s) ? 1.0f : static_cast<float>(1 / pixels_of(s));
        return Convolution::create(device, c, std::vector<Half>(count, to_half(weight)));
    }
    return Convolution::create(device, c, std::vector<std::int8_t>(count, 1));
}

// Sum of what each channel has in a map [channel][y][x], made to a number of the output by `finish`.
template <class Part, class Sum, class T, class Finish>
Result<void> finish_channels(const layout::MapShape& pieces, const CpuAccess& from, const CpuAccess& to,
                             Finish&& finish) {
    const std::size_t each = std::size_t{pieces.height} * pieces.width;
    std::vector<Part> parts(pieces.channels * each);
    if (auto r = layout::map_from_native<Part>(pieces, layout::MapOrder::Chw, from.bytes(), std::span(parts)); !r)
        return r;
    std::vector<T> results;
    for (std::size_t c = 0; c < pieces.channels; ++c) {
        Sum sum{};
        for (std::size_t i = 0; i < each; ++i)
            sum += parts[c * each + i];
        results.push_back(finish(sum));
    }
    return layout::map_to_native<T>({pieces.channels, 1, 1}, layout::MapOrder::Chw, results, to.bytes());
}

} // namespace

GlobalAverage::GlobalAverage(const PoolingShape& shape, Convolution convolution) noexcept
    : shape_(shape), convolution_(std::move(convolution)) {}

Result<GlobalAverage> GlobalAverage::create(const Device& device, const PoolingShape& shape) {
    auto convolution = make_convolution(device, shape);
    if (!convolution)
        return std::move(convolution).error();
    GlobalAverage average(shape, *std::move(convolution));
    if (in_pieces(shape)) {
        auto sums = Buffer::allocate(device, average.convolution_.out_bytes());
        if (!sums)
            return std::move(sums).error();
        average.sums_ = *std::move(sums);
    }
    return average;
}

Result<void> GlobalAverage::add_up(const BufferView& out) const {
    const auto from = sums_->access(Access::Read);
    if (!from)
        return from.error();
    auto to = out.buffer.access(Access::Write, out.offset, out_bytes());
    if (!to)
        return std::move(to).error();
    const double pixels = pixels_of(shape_);
    Result<void> done;
    if (shape_.type == DataType::Half) {
        done = finish_channels<float, double, Half>(convolution_.out_shape(), *from, *to, [pixels](double sum) {
            return to_half(static_cast<float>(sum / pixels));
        });
    } else {
        const Requantisation scale = *Requantisation::from_scale(1 / pixels);
        done = finish_channels<std::int32_t, std::int64_t, std::int8_t>(
            convolution_.out_shape(), *from, *to,
            [&](std::int64_t sum) { return requantise(sum, scale, shape_.zero); });
    }
    if (!done)
        return done;
    return to->end();
}

Result<RunResult> GlobalAverage::run(const BufferView& in, const BufferView& out, const RunOptions& options) {
    if (!sums_)
        return convolution_.run(in, out, options);
    if (const auto place = locate(out, out_bytes(), "output of a pooling"); !place)
        return place.error();
    auto run = convolution_.run(in, *sums_, options);
    if (run) {
        if (auto added = add_up(out); !added)
            return std::move(added).error();
    }
    return run;
}

Result<Submission> GlobalAverage::submit(const Queue& queue, const BufferView& in, const BufferView& out,
                                         const SubmitOptions& options) {
    if (sums_)
        return Error(Errc::Unsupported,
                     format("pooling: the CPU adds the sums of an average of %u x %u pixels, which a queue can't wait "
                            "for; use run()",
                            shape_.in_height, shape_.in_width));
    return convolution_.submit(queue, in, out, options);
}

std::uint64_t GlobalAverage::out_bytes() const noexcept {
    return sums_ ? pooled_bytes(shape_, {shape_.channels, 1, 1}) : convolution_.out_bytes();
}

} // namespace rknpu::detail
