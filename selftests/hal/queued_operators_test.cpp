// SPDX-License-Identifier: MIT
//
// Operators through a queue, against plain loops: each waits for the one before, and nothing that they use is held by
// the test while they run.
#include "support/convolution_case.hpp"
#include "support/reference.hpp"
#include "support/row_job.hpp"
#include "support/test.hpp"
#include "support/test_device.hpp"

#include <rknpu/rknpu.hpp>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include <poll.h>

using rknpu::Access;
using rknpu::Buffer;
using rknpu::Convolution;
using rknpu::ConvolutionShape;
using rknpu::Device;
using rknpu::Elementwise;
using rknpu::Errc;
using rknpu::Matmul;
using rknpu::Pooling;
using rknpu::Queue;
using rknpu::Submission;
using rknpu::UniqueFd;

namespace {

// Keeps a core busy for long enough that what waits for it can be looked at.
rknpu::Job long_job(const Device& device, const RowMemory& rows) {
    std::vector<rknpu::CommandList> many;
    for (std::size_t i = 0; i < kLong; ++i)
        many.push_back(rows.list());
    return must(rknpu::Job::create(device, many));
}

using Bytes = std::vector<std::int8_t>;

Bytes random_bytes(Random& random, std::size_t count, int low = -128, int high = 127) {
    Bytes values(count);
    random.fill<std::int8_t>(values, low, high);
    return values;
}

ConvolutionShape small_convolution(std::uint32_t side) {
    ConvolutionShape s;
    s.in_channels = 5;
    s.out_channels = 20;
    s.in_height = s.in_width = side;
    s.kernel_height = s.kernel_width = 3;
    s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = 1;
    s.requantisation = convolution_case::spread(s);
    return s;
}

Bytes convolved(const ConvolutionShape& s, std::uint32_t height, std::uint32_t width, const Bytes& in,
                const Bytes& weights) {
    Bytes result;
    for (const std::int64_t sum : reference::convolution(s, height, width, in, weights, {}))
        result.push_back(reference::requantise(sum, s.requantisation.multiplier, s.requantisation.shift, s.out_zero));
    return result;
}

// The same of one that keeps the size of its input.
Bytes convolved(const ConvolutionShape& s, const Bytes& in, const Bytes& weights) {
    return convolved(s, s.in_height, s.in_width, in, weights);
}

rknpu::ElementwiseShape larger_of(const rknpu::layout::MapShape& map) {
    rknpu::ElementwiseShape s;
    s.kind = rknpu::ElementwiseKind::Maximum;
    s.channels = map.channels;
    s.height = map.height;
    s.width = map.width;
    return s;
}

Bytes read_map(const rknpu::layout::MapShape& shape, const Buffer& buffer) {
    Bytes values(std::size_t{shape.channels} * shape.height * shape.width);
    const auto access = must(buffer.access(Access::Read));
    must(rknpu::layout::map_from_native<std::int8_t>(shape, rknpu::layout::MapOrder::Chw, access.bytes(),
                                                     std::span(values)));
    return values;
}

// A convolution, the larger of its result and that of another one, and the maximum of the whole map, which takes
// passes.
void operators_follow_each_other(void**) {
    Random random("operators_follow_each_other");
    const Device device = test_device();
    const Queue queue = must(Queue::create(device));
    const ConvolutionShape s = small_convolution(40);
    const std::size_t pixels = std::size_t{s.in_height} * s.in_width;
    const Bytes in = random_bytes(random, s.in_channels * pixels);
    const Bytes weights[] = {random_bytes(random, std::size_t{s.out_channels} * s.in_channels * 9),
                             random_bytes(random, std::size_t{s.out_channels} * s.in_channels * 9)};
    const rknpu::layout::MapShape map{s.out_channels, s.in_height, s.in_width};

    std::optional<Buffer> maxima;
    std::vector<Submission> last;
    for (int round = 0; round < 3; ++round) { // all under way at once
        auto first = must(Convolution::create(device, s, weights[0])),
             second = must(Convolution::create(device, s, weights[1]));
        auto larger = must(Elementwise::create(device, larger_of(map)));
        auto pool = must(
            Pooling::create(device, rknpu::PoolingShape::global(rknpu::PoolingKind::Max, rknpu::DataType::Int8, map)));
        assert_true(pool.tasks() > 1);
        const Buffer input = convolution_case::make_input(device, first, s, in);
        const Buffer a = must(Buffer::allocate(device, first.out_bytes()));
        const Buffer b = must(Buffer::allocate(device, second.out_bytes()));
        const Buffer c = must(Buffer::allocate(device, larger.bytes()));
        if (!maxima)
            maxima = must(Buffer::allocate(device, pool.out_bytes()));
        const Submission one = must(first.submit(queue, input, a)), two = must(second.submit(queue, input, b));
        const Submission* const both[] = {&one, &two};
        const Submission three = must(larger.submit(queue, a, b, c, {.after = both}));
        const Submission* const all[] = {&three};
        last.push_back(must(pool.submit(queue, c, *maxima, {.after = all})));
    }
    for (const Submission& one : last)
        must(one.wait());

    Bytes expected(s.out_channels, -128);
    for (const Bytes& w : weights) {
        const Bytes result = convolved(s, in, w);
        for (std::size_t i = 0; i < result.size(); ++i)
            expected[i / pixels] = std::max(expected[i / pixels], result[i]);
    }
    check_equal<std::int8_t>(read_map({s.out_channels, 1, 1}, *maxima), expected);
}

// Two under way at once, each with a padded copy of its own.
void padding_is_each_submissions_own(void**) {
    Random random("padding_is_each_submissions_own");
    const Device device = test_device();
    const Queue queue = must(Queue::create(device));
    ConvolutionShape s = small_convolution(20);
    s.pad_left = 18;
    s.pad_bottom = 5;
    s.in_zero = 7;
    const std::uint32_t height = s.in_height + 4, width = s.in_width + 17;
    const Bytes weights = random_bytes(random, std::size_t{s.out_channels} * s.in_channels * 9);
    std::vector<Bytes> in;
    std::vector<Buffer> outputs;
    std::vector<Submission> jobs;
    auto conv = must(Convolution::create(device, s, weights));
    for (int i = 0; i < 4; ++i) {
        in.push_back(random_bytes(random, std::size_t{s.in_channels} * s.in_height * s.in_width));
        const Buffer input = convolution_case::make_input(device, conv, s, in.back());
        outputs.push_back(must(Buffer::allocate(device, conv.out_bytes())));
        jobs.push_back(must(conv.submit(queue, input, outputs.back())));
    }
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        must(jobs[i].wait());
        check_equal<std::int8_t>(read_map(conv.out_shape(), outputs[i]), convolved(s, height, width, in[i], weights));
    }
}

// A pooling in passes that waits, and what waits for it.
void passes_are_cancelled_together(void**) {
    const Device device = test_device();
    const Queue queue = must(Queue::create(device));
    const rknpu::layout::MapShape map{16, 300, 17};
    auto pool =
        must(Pooling::create(device, rknpu::PoolingShape::global(rknpu::PoolingKind::Max, rknpu::DataType::Int8, map)));
    auto larger = must(Elementwise::create(device, larger_of(pool.out_shape())));
    const Buffer in = must(Buffer::allocate(device, pool.in_bytes()));
    const Buffer maxima = must(Buffer::allocate(device, std::max(pool.out_bytes(), larger.bytes())));
    const Buffer out = must(Buffer::allocate(device, larger.bytes()));
    auto write = must(in.access(Access::Write));
    std::memset(write.bytes().data(), 7, write.bytes().size());
    must(write.end());
    const Bytes sevens(map.channels, 7), zeros(map.channels, 0);

    const RowMemory rows(device);
    const rknpu::Job slow_job = long_job(device, rows);
    in_time([&] {
        const Submission slow = must(queue.submit(slow_job));
        const Submission* const after[] = {&slow};
        const Submission pooled = must(pool.submit(queue, in, maxima, {.after = after}));
        const Submission* const after_passes[] = {&pooled};
        const Submission last = must(larger.submit(queue, maxima, maxima, out, {.after = after_passes}));
        must(pooled.cancel());
        if (must(slow.done()))
            return false;
        must_fail(pooled.wait(), Errc::Cancelled);
        must_fail(last.wait(), Errc::Cancelled);
        must(slow.wait());
        must(queue.wait_idle());
        check_equal<std::int8_t>(read_map(pool.out_shape(), maxima), zeros);
        check_equal<std::int8_t>(read_map(pool.out_shape(), out), zeros);
        return true;
    });

    const Submission pooled = must(pool.submit(queue, in, maxima));
    const Submission* const after_passes[] = {&pooled};
    must(must(larger.submit(queue, maxima, maxima, out, {.after = after_passes})).wait());
    assert_int_equal(must(pooled.wait()).tasks, pool.tasks());
    check_equal<std::int8_t>(read_map(pool.out_shape(), out), sevens);
}

// As a pipeline does it: the frame's fence goes in, that of the result comes out, and cores share the work.
void fences_go_in_and_out(void**) {
    Random random("fences_go_in_and_out");
    const Device device = test_device();
    const Queue queue = must(Queue::create(device));
    const ConvolutionShape s = small_convolution(24);
    const Bytes in = random_bytes(random, std::size_t{s.in_channels} * s.in_height * s.in_width);
    const Bytes first_weights = random_bytes(random, std::size_t{s.out_channels} * s.in_channels * 9);
    ConvolutionShape next = s;
    next.in_channels = s.out_channels;
    next.requantisation = convolution_case::spread(next);
    const Bytes next_weights = random_bytes(random, std::size_t{next.out_channels} * next.in_channels * 9);

    auto first = must(Convolution::create(device, s, first_weights));
    auto second = must(Convolution::create(device, next, next_weights));
    const Buffer input = convolution_case::make_input(device, first, s, in);
    const Buffer between = must(Buffer::allocate(device, first.out_bytes()));
    const Buffer output = must(Buffer::allocate(device, second.out_bytes()));
    const Queue other = must(Queue::create(device));
    const UniqueFd written =
        must(must(first.submit(queue, input, between, {.run = {.cores = rknpu::Core::Core1}})).fence());
    const int fences[] = {written.get()};
    const auto cores = rknpu::CoreMask(rknpu::Core::Core0) | rknpu::Core::Core1;
    const auto result =
        must(must(second.submit(other, between, output, {.run = {.cores = cores}, .wait_for = fences})).wait());
    assert_true(result.cores == cores);
    check_equal<std::int8_t>(read_map(second.out_shape(), output),
                             convolved(next, convolved(s, in, first_weights), next_weights));
}

void products_are_queued(void**) {
    Random random("products_are_queued");
    const Device device = test_device();
    const Queue queue = must(Queue::create(device));
    constexpr std::uint32_t m = 9, k = 64, n = 32;
    const Bytes a = random_bytes(random, m * k), b = random_bytes(random, k * n);
    const Buffer output = must(Buffer::allocate(device, m * n * 4));
    std::optional<Submission> job;
    {
        Matmul matmul = must(Matmul::create(device, {rknpu::MatmulType::Int8ToInt32, m, k, n}));
        assert_int_equal(matmul.a_pitch(), k);
        assert_int_equal(matmul.c_pitch(), n * 4);
        must(matmul.set_b(b));
        const Buffer input = must(Buffer::allocate(device, m * k));
        auto write = must(input.access(Access::Write));
        std::memcpy(write.bytes().data(), a.data(), a.size());
        must(write.end());
        job = must(matmul.submit(queue, input, output));
    }
    must(job->wait());
    const auto read = must(output.access(Access::Read));
    check_equal<std::int32_t>(read.as<std::int32_t>(), reference::matmul(m, k, n, a, b));

    Matmul deep = must(Matmul::create(device, {rknpu::MatmulType::Int8ToInt32, 1, 8193, 32}));
    const Buffer row = must(Buffer::allocate(device, deep.a_pitch() + 16));
    must_fail(deep.submit(queue, row, output), Errc::Unsupported);
    must_fail(deep.submit(queue, {row, 8}, output), Errc::BadLayout);
    must_fail(deep.submit(queue, {row, 32}, output), Errc::TooSmall);
}

// Memory in which a job still writes has a fence that tells; the simulator's memory is no dma-buf of the kernel's.
void memory_tells_when_it_is_ready(void**) {
    Random random("memory_tells_when_it_is_ready");
    const Device device = test_device();
    const Queue queue = must(Queue::create(device));
    const ConvolutionShape s = small_convolution(40);
    const Bytes in = random_bytes(random, std::size_t{s.in_channels} * s.in_height * s.in_width);
    const Bytes weights = random_bytes(random, std::size_t{s.out_channels} * s.in_channels * 9);
    auto conv = must(Convolution::create(device, s, weights));
    const Buffer input = convolution_case::make_input(device, conv, s, in);
    const Buffer output = must(Buffer::allocate(device, conv.out_bytes()));
    const UniqueFd dmabuf = must(output.export_dmabuf());
    const auto written = rknpu::dmabuf::fence(dmabuf.get(), Access::Read);
    if (device.info().node.starts_with("sim:")) {
        must_fail(written, Errc::Unsupported);
        return;
    }
    assert_true(written.ok()); // nobody has written yet
    const RowMemory rows(device);
    const Submission slow = must(queue.submit(long_job(device, rows)));
    const Submission* const after[] = {&slow};
    const Submission job = must(conv.submit(queue, input, output, {.after = after}));
    const UniqueFd ready = must(rknpu::dmabuf::fence(dmabuf.get(), Access::Read));
    pollfd poll{.fd = ready.get(), .events = POLLIN, .revents = 0};
    assert_int_equal(::poll(&poll, 1, 60000), 1);
    assert_true(must(job.done()));
    check_equal<std::int8_t>(read_map(conv.out_shape(), output), convolved(s, in, weights));
}

const CMUnitTest kTests[] = {
    cmocka_unit_test(operators_follow_each_other),   cmocka_unit_test(padding_is_each_submissions_own),
    cmocka_unit_test(passes_are_cancelled_together), cmocka_unit_test(fences_go_in_and_out),
    cmocka_unit_test(products_are_queued),           cmocka_unit_test(memory_tells_when_it_is_ready),
};

} // namespace

RUN_TESTS(kTests)
