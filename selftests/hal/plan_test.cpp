// SPDX-License-Identifier: MIT
//
// Whatever the shape: every task of a plan keeps to the limits of the hardware, and all tasks together write each
// result once. The model tolerates more than silicon does, so results alone don't show this.
#include "ops/convolution_plan.hpp"
#include "ops/matmul_plan.hpp"
#include "support/test.hpp"

#include <algorithm>
#include <vector>

using rknpu::ConvolutionInput;
using rknpu::ConvolutionOutput;
using rknpu::ConvolutionShape;
using rknpu::MatmulType;
using namespace rknpu::detail;

namespace {

std::uint32_t up(std::uint32_t a, std::uint32_t b) {
    return (a + b - 1) / b;
}

// Entries of 128 bytes that a row of pixels takes: whole ones for each 8 atoms; of a rest of 3 atoms, one each.
std::uint32_t row_entries(std::uint32_t atoms, std::uint32_t width) {
    const std::uint32_t rest = atoms % 8;
    return atoms / 8 * width + (rest == 3 ? width : up(rest * width, 8));
}

void check_task(const MacTask& t) {
    must(command_list(t).check()); // every number fits its field
    const std::uint32_t atoms = t.channels * bits_of(t.in) / 128;
    assert_int_equal(t.channels * bits_of(t.in) % 128, 0);
    const std::uint32_t data_banks = up(row_entries(atoms, t.in_width) * t.in_height, 256);
    const std::uint32_t weights = t.kernel_width * t.kernel_height * t.channels * bits_of(t.in) / 8 * t.kernels;
    const std::uint32_t weight_banks = up(weights, 32768) + 1;
    if (data_banks > t.data_banks || weight_banks > 12 - t.data_banks)
        print_error("%u x %u of %u atoms: %u of %u data banks, %u of %u weight banks\n", t.in_height, t.in_width, atoms,
                    data_banks, t.data_banks, weight_banks, 12 - t.data_banks);
    assert_true(data_banks <= t.data_banks);
    assert_true(weight_banks <= 12 - t.data_banks);
    assert_true(t.out_width >= 1 && t.out_height >= 1);
    assert_int_equal(t.feature_address % 16, 0);
    assert_int_equal(t.weight_address % 16, 0);
    assert_int_equal(t.out_address % 16, 0);
}

// Weights may be taken as loaded only from the task just before, with the same ones at the same place, and not across a
// start of the controller.
void check_reuse(const std::vector<MacTask>& tasks) {
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        if (!tasks[i].weights_loaded)
            continue;
        assert_true(i % 4095 != 0);
        assert_int_equal(tasks[i].weight_address, tasks[i - 1].weight_address);
        assert_int_equal(tasks[i].kernels, tasks[i - 1].kernels);
        assert_int_equal(tasks[i].channels, tasks[i - 1].channels);
        assert_int_equal(tasks[i].data_banks, tasks[i - 1].data_banks);
    }
}

// Counts how often each atom of the result is written, by the addresses that the hardware makes.
class Written {
  public:
    Written(std::uint64_t begin, std::uint64_t end) : begin_(begin), times_((end - begin) / 16) {}

    void add(const MacTask& t) {
        const std::uint32_t per_atom = 16 / bytes_of(t.out);
        for (std::uint32_t surface = 0; surface < up(t.real_out_channels, per_atom); ++surface) {
            for (std::uint32_t y = 0; y < t.out_height; ++y) {
                const std::uint64_t row =
                    std::uint64_t{surface} * t.out_surface_stride + std::uint64_t{y} * (t.out_width + t.out_row_gap);
                const std::uint64_t first = (t.out_address - begin_) / 16 + row;
                assert_true(t.out_address >= begin_ && first + t.out_width <= times_.size());
                for (std::uint32_t x = 0; x < t.out_width; ++x)
                    ++times_[first + x];
            }
        }
    }

    void must_be_once() const {
        assert_true(std::ranges::all_of(times_, [](unsigned times) { return times == 1; }));
    }

  private:
    const std::uint64_t begin_;
    std::vector<unsigned> times_;
};

void check_matmul(MatmulType type, std::uint32_t m, std::uint32_t k, std::uint32_t n) {
    const MatmulPlan plan = plan_matmul({type, m, k, n});
    const auto tasks = matmul_tasks(plan, 0x1000000, 0x2000000, 0x40000000);
    std::size_t counted = 0;
    for (const auto& segment : plan.segments)
        counted += task_count(plan, segment);
    assert_int_equal(tasks.size(), counted);
    Written written(0x40000000, 0x40000000 + result_bytes(plan) * plan.segments.size());
    for (const auto& task : tasks) {
        check_task(task);
        assert_true(task.in_height == 1 || task.in_height % 4 == 0);
        assert_true(task.channels <= 8192);
        written.add(task);
    }
    check_reuse(tasks);
    written.must_be_once();
}

void matmul_tasks_fit(void**) {
    Random random("matmul_tasks_fit");
    for (const auto type : {MatmulType::Int8ToInt32, MatmulType::HalfToFloat}) {
        for (int i = 0; i < 60; ++i)
            check_matmul(type, static_cast<std::uint32_t>(random.between(1, 300)),
                         static_cast<std::uint32_t>(random.between(1, 20000)),
                         static_cast<std::uint32_t>(random.between(1, 600)));
        check_matmul(type, 1, 4096, 20000);
        check_matmul(type, 3000, 32, 33);
        check_matmul(type, 5, 64, 40000);
    }
}

// More tasks than one start of the controller takes.
void long_chains_load_weights_again(void**) {
    const MatmulPlan plan = plan_matmul({MatmulType::Int8ToInt32, 9000, 64, 40000});
    const auto tasks = matmul_tasks(plan, 0, 0, 0);
    assert_true(tasks.size() > 4095);
    check_reuse(tasks);
}

// What cores do side by side: together the same pixels, each once.
void check_shared(const ConvolutionPlan& plan, std::uint32_t cores) {
    const auto chains = convolution_chains(plan, {0x1000000, 0x40000000, 0x2000000, 0x3000000}, cores);
    assert_true(!chains.empty() && chains.size() <= cores);
    Written written(0x40000000, 0x40000000 + 16ull * up(plan.shape.out_channels, 16 / bytes_of(plan.result)) *
                                                 plan.out.height * plan.out.width);
    for (const auto& chain : chains) {
        assert_true(!chain.empty());
        for (const auto& task : chain) {
            check_task(task);
            written.add(task);
        }
        check_reuse(chain);
    }
    written.must_be_once();
}

void check_convolution(const ConvolutionShape& shape, bool per_channel = false) {
    const ConvolutionPlan plan = must(plan_convolution(shape, {}, per_channel));
    check_shared(plan, shape.out_channels % 2 ? 2 : 3);
    const auto tasks = convolution_tasks(plan, {0x1000000, 0x40000000, 0x2000000, 0x3000000});
    assert_int_equal(tasks.size(), task_count(plan));
    const std::uint32_t per_atom = 16 / bytes_of(tasks[0].out);
    Written written(0x40000000,
                    0x40000000 + 16ull * up(shape.out_channels, per_atom) * plan.out.height * plan.out.width);
    for (const auto& task : tasks) {
        check_task(task);
        written.add(task);
        // What the hardware may write beyond the real channels stays inside what the caller must provide.
        const std::uint64_t surfaces = task.out_channels * bytes_of(task.out) / 16;
        const std::uint64_t end = task.out_address + 16ull * ((surfaces - 1) * task.out_surface_stride) +
                                  16ull * ((task.out_height - 1) * plan.out.width + task.out_width);
        assert_true(end <= 0x40000000 + output_bytes(plan));
        assert_true(task.bias_address + operand_bytes(task.out_channels, plan.per_channel) <=
                    0x3000000 + bias_bytes(plan));
        assert_true(task.weight_address +
                        task.kernels * task.kernel_width * task.kernel_height * task.channels * bits_of(task.in) / 8 <=
                    0x2000000 + weight_bytes(plan));
        // Input rows that are read exist.
        const std::uint64_t pitch = std::uint64_t{plan.row_pixels} * (plan.pixel_bytes ? plan.pixel_bytes : 16);
        const std::uint64_t first_row = (task.feature_address - 0x1000000) / pitch % shape.in_height;
        const std::uint64_t last_row = first_row + task.in_height - 1;
        assert_true(last_row < shape.in_height);
    }
    check_reuse(tasks);
    written.must_be_once();
}

void convolution_tasks_fit(void**) {
    Random random("convolution_tasks_fit");
    const auto number = [&random](int low, int high) { return static_cast<std::uint32_t>(random.between(low, high)); };
    for (int i = 0; i < 150; ++i) {
        ConvolutionShape s;
        s.in_channels = number(1, i % 3 ? 200 : 1200);
        s.out_channels = number(1, i % 4 ? 100 : 700);
        s.kernel_height = number(1, 4);
        s.kernel_width = number(1, 4);
        s.in_height = number(static_cast<int>(s.kernel_height), 60);
        s.in_width = number(static_cast<int>(s.kernel_width), i % 5 ? 60 : 2500);
        s.stride_y = number(1, 4);
        s.stride_x = number(1, 4);
        s.pad_top = number(0, static_cast<int>(s.kernel_height) - 1);
        s.pad_left = number(0, static_cast<int>(s.kernel_width) - 1);
        s.pad_bottom = number(0, static_cast<int>(s.kernel_height) - 1);
        s.pad_right = number(0, static_cast<int>(s.kernel_width) - 1);
        s.output = i % 2 ? ConvolutionOutput::Int8 : ConvolutionOutput::Int32;
        check_convolution(s);
    }
}

void grouped_tasks_fit(void**) {
    Random random("grouped_tasks_fit");
    const auto number = [&random](int low, int high) { return static_cast<std::uint32_t>(random.between(low, high)); };
    for (int i = 0; i < 60; ++i) {
        ConvolutionShape s;
        const bool depthwise = i % 2 != 0, half = i % 3 == 0;
        s.groups = number(2, depthwise ? 900 : 20);
        s.in_channels = s.groups * (depthwise ? 1 : number(1, 70));
        s.out_channels = s.groups * (depthwise ? 1 : number(1, 70));
        s.kernel_height = number(1, 5);
        s.kernel_width = number(1, 5);
        s.dilation_y = number(1, 4);
        s.dilation_x = number(1, 4);
        s.in_height = number(20, 70);
        s.in_width = number(20, i % 5 ? 70 : 2500);
        s.stride_y = number(1, 3);
        s.stride_x = number(1, 3);
        s.pad_top = s.pad_left = number(0, 1) ? s.kernel_height / 2 : 0;
        s.pad_left = std::min(s.pad_left, s.kernel_width - 1);
        s.input = half ? ConvolutionInput::Half : ConvolutionInput::Native;
        s.output = half ? (i % 4 ? ConvolutionOutput::Half : ConvolutionOutput::Float)
                        : (i % 4 ? ConvolutionOutput::Int8 : ConvolutionOutput::Int32);
        check_convolution(s, !half && i % 5 == 0);
    }
}

void check_shared_matmul(const MatmulPlan& plan, std::uint32_t cores) {
    Written written(0x40000000, 0x40000000 + result_bytes(plan) * plan.segments.size());
    for (const auto& chain : matmul_chains(plan, 0x1000000, 0x2000000, 0x40000000, cores)) {
        assert_true(!chain.empty());
        for (const auto& task : chain) {
            check_task(task);
            written.add(task);
        }
        check_reuse(chain);
    }
    written.must_be_once();
}

void shared_products_are_whole(void**) {
    Random random("shared_products_are_whole");
    const auto number = [&random](int high) { return static_cast<std::uint32_t>(random.between(1, high)); };
    for (const auto type : {MatmulType::Int8ToInt32, MatmulType::HalfToFloat, MatmulType::Int8ToInt8,
                            MatmulType::HalfToHalf, MatmulType::Int4ToInt16}) {
        for (int i = 0; i < 8; ++i) {
            const MatmulPlan plan =
                plan_matmul({type, number(60), number(type == MatmulType::Int4ToInt16 ? 4000 : 10000), number(400)});
            for (const std::uint32_t cores : {1u, 2u, 3u})
                check_shared_matmul(plan, cores);
        }
    }
}

void picture_tasks_fit(void**) {
    Random random("picture_tasks_fit");
    for (const auto input : {ConvolutionInput::Rgb888, ConvolutionInput::Gray8}) {
        for (int i = 0; i < 10; ++i) {
            ConvolutionShape s;
            s.input = input;
            s.in_channels = input == ConvolutionInput::Rgb888 ? 3 : 1;
            s.out_channels = static_cast<std::uint32_t>(random.between(1, 40));
            s.in_width = static_cast<std::uint32_t>(random.between(3, i % 2 ? 2047 : 200));
            s.in_height = static_cast<std::uint32_t>(random.between(3, 90));
            s.row_pixels = (s.in_width + 15) / 16 * 16;
            s.kernel_height = s.kernel_width = 3;
            s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = static_cast<std::uint32_t>(random.between(0, 2));
            s.stride_y = s.stride_x = static_cast<std::uint32_t>(random.between(1, 2));
            check_convolution(s);
        }
    }
}

const CMUnitTest kTests[] = {
    cmocka_unit_test(matmul_tasks_fit),          cmocka_unit_test(long_chains_load_weights_again),
    cmocka_unit_test(convolution_tasks_fit),     cmocka_unit_test(grouped_tasks_fit),
    cmocka_unit_test(shared_products_are_whole), cmocka_unit_test(picture_tasks_fit),
};

} // namespace

RUN_TESTS(kTests)
