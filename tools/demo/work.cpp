// SPDX-License-Identifier: MIT
#include "work.hpp"

#include "reference.hpp"

#include <rknpu/rknpu.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace demo {
namespace {

using rknpu::Access;
using rknpu::Buffer;
using rknpu::Convolution;
using rknpu::ConvolutionInput;
using rknpu::ConvolutionOutput;
using rknpu::ConvolutionShape;
using rknpu::Device;
using rknpu::Result;
using rknpu::layout::MapOrder;

constexpr int kBlack = -128; // the NPU counts a byte b as b - 128

// Taps of one channel, and of a channel that doesn't count.
constexpr Filter::Taps kNone{};
constexpr Filter::Taps kGauss = {1, 2, 1, 2, 4, 2, 1, 2, 1};
constexpr Filter::Taps kLaplace = {-1, -1, -1, -1, 8, -1, -1, -1, -1};
constexpr Filter::Taps kSobelX = {-1, 0, 1, -2, 0, 2, -1, 0, 1};
constexpr Filter::Taps kSobelY = {-1, -2, -1, 0, 0, 0, 1, 2, 1};

Filter blur() {
    return {"blur 3x3", {{kGauss, kNone, kNone}, {kNone, kGauss, kNone}, {kNone, kNone, kGauss}}, 4};
}
Filter edges() {
    return {"edges 3x3", {{kLaplace, kLaplace, kLaplace}}, 1};
}
Filter gradient() {
    return {"gradient 3x3", {{kSobelX, kSobelX, kSobelX}, {kSobelY, kSobelY, kSobelY}}, 0};
}

ConvolutionShape shape_of(const Filter& filter, std::uint32_t width, std::uint32_t height) {
    ConvolutionShape s;
    s.in_channels = static_cast<std::uint32_t>(filter.taps[0].size());
    s.in_height = height;
    s.in_width = width;
    s.out_channels = static_cast<std::uint32_t>(filter.taps.size());
    s.kernel_height = s.kernel_width = 3;
    s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = 1;
    s.in_zero = s.out_zero = kBlack;
    s.requantisation = {1, static_cast<std::uint8_t>(filter.shift)};
    return s;
}

std::vector<std::int8_t> weights_of(const Filter& filter) {
    std::vector<std::int8_t> weights;
    for (const auto& kernel : filter.taps) {
        for (const auto& taps : kernel)
            weights.insert(weights.end(), taps.begin(), taps.end());
    }
    return weights;
}

// A filter that has run on the NPU.
struct Filtered {
    Convolution convolution;
    Buffer out;
};

Result<Filtered> run_filter(const Device& device, const Filter& filter, const ConvolutionShape& shape, const Buffer& in,
                            Operation& operation) {
    auto convolution = Convolution::create(device, shape, weights_of(filter));
    if (!convolution)
        return std::move(convolution).error();
    auto out = Buffer::allocate(device, convolution->out_bytes());
    if (!out)
        return std::move(out).error();
    auto run = convolution->run(in, *out);
    if (!run)
        return std::move(run).error();
    operation.name = filter.name;
    operation.shape = std::to_string(shape.in_channels) + " x " + std::to_string(shape.in_height) + " x " +
                      std::to_string(shape.in_width) + " -> " + std::to_string(shape.out_channels) + " x " +
                      std::to_string(convolution->out_shape().height) + " x " +
                      std::to_string(convolution->out_shape().width);
    operation.run = *run;
    return Filtered{*std::move(convolution), *std::move(out)};
}

template <class T>
Result<std::vector<T>> read_map(const Filtered& filtered, MapOrder order) {
    const auto& shape = filtered.convolution.out_shape();
    const auto access = filtered.out.access(Access::Read);
    if (!access)
        return access.error();
    std::vector<T> map(std::size_t{shape.channels} * shape.height * shape.width);
    auto converted = rknpu::layout::map_from_native<T>(shape, order, access->bytes(), std::span(map));
    if (!converted)
        return std::move(converted).error();
    return map;
}

// The result as a picture, checked against the bytes that it should have.
Result<Picture> check_bytes(const Filtered& filtered, const std::vector<std::uint8_t>& expected, Operation& operation) {
    const auto map = read_map<std::int8_t>(filtered, MapOrder::Hwc);
    if (!map)
        return map.error();
    const auto& shape = filtered.convolution.out_shape();
    Picture picture{shape.width, shape.height, shape.channels, {}};
    for (const std::int8_t value : *map)
        picture.pixels.push_back(static_cast<std::uint8_t>(value - kBlack));
    compare<std::uint8_t>(operation, picture.pixels, expected);
    return picture;
}

// Length of the gradient as a picture: the sum of both directions, scaled down.
Picture gradient_picture(const std::vector<std::int32_t>& sums, std::uint32_t width, std::uint32_t height) {
    Picture picture{width, height, 1, {}};
    const std::size_t pixels = std::size_t{width} * height;
    for (std::size_t i = 0; i < pixels; ++i)
        picture.pixels.push_back(
            static_cast<std::uint8_t>(std::min((std::abs(sums[i]) + std::abs(sums[pixels + i])) / 6, 255)));
    return picture;
}

// Bytes of the picture, from its start again where it ends.
std::vector<std::int8_t> matrix_of(const Picture& picture, std::size_t elements, std::size_t start) {
    std::vector<std::int8_t> matrix(elements);
    for (std::size_t i = 0; i < elements; ++i)
        matrix[i] = static_cast<std::int8_t>(picture.pixels[(start + i) % picture.pixels.size()] + kBlack);
    return matrix;
}

std::string product_shape(const rknpu::MatmulShape& s) {
    return std::to_string(s.m) + " x " + std::to_string(s.k) + " x " + std::to_string(s.n);
}

// A, B: elements as the NPU takes them, C: as it gives them; Plain: those of the reference.
template <class A, class C, class Plain>
Result<Operation> multiply(const Device& device, const char* name, const rknpu::MatmulShape& shape,
                           const std::vector<A>& a, const std::vector<A>& b, const std::vector<Plain>& plain_a,
                           const std::vector<Plain>& plain_b) {
    auto matmul = rknpu::Matmul::create(device, shape);
    if (!matmul)
        return std::move(matmul).error();
    if (auto set = matmul->set_b(b); !set)
        return std::move(set).error();
    std::vector<C> c(std::size_t{shape.m} * shape.n);
    auto run = matmul->run(a, c);
    if (!run)
        return std::move(run).error();
    Operation operation{name, product_shape(shape), *run};
    const auto expected = reference::product<Plain, C>(shape.m, shape.k, shape.n, plain_a, plain_b);
    compare<C>(operation, c, expected);
    return operation;
}

} // namespace

Result<void> filter_picture(const Device& device, const Picture& picture, const Frame& frame, const std::string& out,
                            std::vector<Operation>& done) {
    const std::uint32_t width = picture.width, height = picture.height;
    // No copy: the NPU gets to see the memory that the frame lies in.
    const auto in = Buffer::import_dmabuf(device, frame.fd.get());
    if (!in)
        return in.error();

    Operation blur_op;
    ConvolutionShape shape = shape_of(blur(), width, height);
    shape.input = ConvolutionInput::Rgb888;
    shape.row_pixels = frame.row_pixels;
    const auto blurred = run_filter(device, blur(), shape, *in, blur_op);
    if (!blurred)
        return blurred.error();
    const auto blur_bytes =
        reference::bytes(blur(), width, height, reference::sums(blur(), width, height, picture.pixels));
    const auto blur_picture = check_bytes(*blurred, blur_bytes, blur_op);
    if (!blur_picture)
        return blur_picture.error();
    done.push_back(blur_op);

    // The blur's result is read as it lies: it never leaves the NPU's order.
    Operation edge_op;
    const auto edged = run_filter(device, edges(), shape_of(edges(), width, height), blurred->out, edge_op);
    if (!edged)
        return edged.error();
    const auto edge_bytes =
        reference::bytes(edges(), width, height, reference::sums(edges(), width, height, blur_bytes));
    const auto edge_picture = check_bytes(*edged, edge_bytes, edge_op);
    if (!edge_picture)
        return edge_picture.error();
    done.push_back(edge_op);

    Operation gradient_op;
    shape = shape_of(gradient(), width, height);
    shape.input = ConvolutionInput::Rgb888;
    shape.row_pixels = frame.row_pixels;
    shape.output = ConvolutionOutput::Int32;
    const auto graded = run_filter(device, gradient(), shape, *in, gradient_op);
    if (!graded)
        return graded.error();
    const auto sums = read_map<std::int32_t>(*graded, MapOrder::Chw);
    if (!sums)
        return sums.error();
    compare<std::int32_t>(gradient_op, *sums, reference::sums(gradient(), width, height, picture.pixels));
    done.push_back(gradient_op);

    return save_picture(*blur_picture, out + "/blur.ppm")
        .and_then([&] { return save_picture(*edge_picture, out + "/edges.pgm"); })
        .and_then([&] { return save_picture(gradient_picture(*sums, width, height), out + "/gradient.pgm"); });
}

Result<void> multiply_matrices(const Device& device, const Picture& picture, std::vector<Operation>& done) {
    const rknpu::MatmulShape int8{rknpu::MatmulType::Int8ToInt32, 512, 512, 512};
    const auto a = matrix_of(picture, std::size_t{int8.m} * int8.k, 0);
    const auto b = matrix_of(picture, std::size_t{int8.k} * int8.n, 12345);
    auto product = multiply<std::int8_t, std::int32_t>(device, "matmul int8 -> int32", int8, a, b, a, b);
    if (!product)
        return std::move(product).error();
    done.push_back(*std::move(product));

    // Sixteenths from -1 to 1: all sums are exact, in whichever order the NPU makes them.
    const rknpu::MatmulShape half{rknpu::MatmulType::HalfToFloat, 64, 512, 256};
    std::vector<rknpu::Half> ha, hb;
    std::vector<float> fa, fb;
    for (std::size_t i = 0; i < std::size_t{half.m} * half.k; ++i) {
        fa.push_back(static_cast<float>(a[i] / 8) / 16);
        ha.push_back(rknpu::to_half(fa.back()));
    }
    for (std::size_t i = 0; i < std::size_t{half.k} * half.n; ++i) {
        fb.push_back(static_cast<float>(b[i] / 8) / 16);
        hb.push_back(rknpu::to_half(fb.back()));
    }
    product = multiply<rknpu::Half, float>(device, "matmul half -> float", half, ha, hb, fa, fb);
    if (!product)
        return std::move(product).error();
    done.push_back(*std::move(product));
    return {};
}

} // namespace demo
