// SPDX-License-Identifier: MIT
//
// What the validator objects to, on jobs that are right but for one thing, and what the virtual NPU does with them:
// what is told to be fatal does not end well, what nobody objects to does.
#include "backend/calls.hpp"
#include "buffer_state.hpp"
#include "chain.hpp"
#include "ops/convolution_plan.hpp"
#include "ops/elementwise_plan.hpp"
#include "ops/matmul_plan.hpp"
#include "ops/pooling_plan.hpp"
#include "regcmd/commands.hpp"
#include "support/row_job.hpp"
#include "support/test_device.hpp"
#include "support/vector_file.hpp"

#include <rknpu/job.hpp>
#include <rknpu/regcmd.hpp>
#include <rknpu/validate.hpp>

#include <drm/rknpu_drm.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

using namespace rknpu::regcmd;
using rknpu::Access;
using rknpu::Buffer;
using rknpu::Device;
using rknpu::Soc;

namespace {

constexpr std::size_t kTasks = 3, kTail = 4;
constexpr std::uint32_t kCommandBytes = 16384;

const Device& device() {
    static const Device the_device = test_device();
    return the_device;
}

/// A chain of three tasks as commands and task array, which a test then damages.
struct RawJob {
    RowMemory memory{device()};
    Buffer buffer = must(Buffer::allocate(device(), kCommandBytes));
    std::vector<std::uint64_t> words = std::vector<std::uint64_t>(kCommandBytes / 8);
    std::vector<TaskEntry> tasks;

    RawJob() {
        std::vector<rknpu::CommandList> lists;
        for (std::size_t i = 0; i < kTasks; ++i)
            lists.push_back(memory.list());
        const rknpu::detail::Chain chain(lists);
        chain.encode(lists, buffer.dma_address(), std::as_writable_bytes(std::span(words)));
        for (const auto& link : chain.links())
            tasks.push_back({0x300, link.amount, buffer.dma_address() + link.offset});
    }

    /// The words of a task's list from a place on; negative: counted from behind its tail.
    std::uint64_t& word(std::size_t task, int index) {
        const std::size_t first = (tasks[task].address - buffer.dma_address()) / 8;
        const std::size_t count = tasks[task].amount + kTail;
        return words.at(first +
                        (index < 0 ? count - static_cast<std::size_t>(-index) : static_cast<std::size_t>(index)));
    }
    /// The command of a task that writes a register.
    std::uint64_t& write_to(std::size_t task, std::uint16_t offset) {
        for (std::size_t i = 0; i < tasks[task].amount; ++i) {
            if ((word(task, static_cast<int>(i)) & 0xffff) == offset)
                return word(task, static_cast<int>(i));
        }
        assert_true(false);
        return words.front();
    }

    std::vector<AddressRange> ranges() const {
        std::vector<AddressRange> all;
        for (const Buffer* b : {&memory.a, &memory.b, &memory.c, &buffer})
            all.push_back({b->dma_address(), b->size()});
        return all;
    }
    std::vector<Finding> findings() const {
        const CommandMemory memory_of_lists{buffer.dma_address(), std::as_bytes(std::span(words))};
        const auto buffers = ranges();
        return must(validate({Soc::Rk3588, tasks, {&memory_of_lists, 1}, buffers}));
    }

    /// Runs it as it is. 0, or what the driver says.
    int run() const {
        must_write(buffer, std::as_bytes(std::span(words)));
        std::vector<rknpu_task> array;
        for (const TaskEntry& t : tasks) {
            rknpu_task entry{};
            entry.enable_mask = 0xd;
            entry.int_mask = t.int_mask;
            entry.int_clear = 0x1ffff;
            entry.regcfg_amount = t.amount;
            entry.regcmd_addr = t.address;
            array.push_back(entry);
        }
        const Buffer task_buffer = must(Buffer::allocate(device(), 4096, rknpu::BufferFlag::TaskArray));
        must_write(task_buffer, std::as_bytes(std::span(array)));
        rknpu_submit submit{};
        submit.flags = RKNPU_JOB_PC | RKNPU_JOB_PINGPONG;
        submit.timeout = 100;
        submit.task_obj_addr = task_buffer.state()->object();
        submit.task_number = static_cast<std::uint32_t>(array.size());
        submit.core_mask = 1;
        submit.fence_fd = -1;
        for (auto& range : submit.subcore_task)
            range = {0, submit.task_number};
        return rknpu::detail::calls::submit(device().state()->backend(), submit);
    }

  private:
    static void must_write(const Buffer& to, std::span<const std::byte> bytes) {
        auto access = must(to.access(Access::Write, 0, bytes.size()));
        std::memcpy(access.bytes().data(), bytes.data(), bytes.size());
        must(access.end());
    }
};

std::uint64_t command(std::uint16_t target, std::uint16_t offset, std::uint32_t value) {
    return rknpu::detail::Command{target, offset, value}.word();
}

struct Case {
    const char* name;
    Problem problem;
    std::size_t task, command; // where it must be told; kAny: not checked
    std::function<void(RawJob&)> damage;
};
constexpr std::size_t kAny = SIZE_MAX;

// Each of these hangs or faults.
const Case kFatal[] = {
    {"no enable", Problem::MissingEnable, 1, 108, [](RawJob& j) { j.word(1, -1) = 0; }},
    {"no barrier", Problem::MissingBarrier, 2, 107, [](RawJob& j) { j.word(2, -2) = 0; }},
    {"starts nothing", Problem::BadEnable, 0, 107, [](RawJob& j) { j.word(0, -1) = command(0x81, 8, 0); }},
    {"unknown block", Problem::BadEnable, 0, 107, [](RawJob& j) { j.word(0, -1) = command(0x81, 8, 0x8d); }},
    {"CNA alone", Problem::BadEnable, 0, 107, [](RawJob& j) { j.word(0, -1) = command(0x81, 8, 0x1); }},
    {"no CORE", Problem::BadEnable, 0, 107, [](RawJob& j) { j.word(0, -1) = command(0x81, 8, 0x9); }},
    {"no DPU", Problem::BadEnable, 0, 107, [](RawJob& j) { j.word(0, -1) = command(0x81, 8, 0x5); }},
    {"DPU alone", Problem::BadEnable, 0, 107, [](RawJob& j) { j.word(0, -1) = command(0x81, 8, 0x8); }},
    {"DPU_RDMA alone", Problem::BadEnable, 0, 107, [](RawJob& j) { j.word(0, -1) = command(0x81, 8, 0x10); }},
    {"PPU alone", Problem::BadEnable, 0, 107, [](RawJob& j) { j.word(0, -1) = command(0x81, 8, 0x20); }},
    {"PPU_RDMA alone", Problem::BadEnable, 0, 107, [](RawJob& j) { j.word(0, -1) = command(0x81, 8, 0x40); }},
    {"flying with CORE", Problem::BadEnable, 1, 107, [](RawJob& j) { j.write_to(1, 0x400c) |= 1ull << 16; }},
    {"not flying without CORE", Problem::BadEnable, 1, 107, [](RawJob& j) { j.word(1, -1) = command(0x81, 8, 0x18); }},
    {"wrong target", Problem::WrongTarget, 0, kAny,
     [](RawJob& j) { j.write_to(0, 0x4020) ^= std::uint64_t{0x1001 ^ 0x0201} << 48; }},
    {"unknown target", Problem::UnknownCommand, 0, 5, [](RawJob& j) { j.word(0, 5) |= std::uint64_t{0x10} << 48; }},
    {"odd offset", Problem::UnknownCommand, 0, 5, [](RawJob& j) { j.word(0, 5) |= 2; }},
    {"other register of the controller", Problem::UnknownCommand, 2, 3,
     [](RawJob& j) { j.word(2, 3) = command(0x101, 0x20, 0x300); }},
    {"chain ends early", Problem::ShortChain, 1, kAny, [](RawJob& j) { j.word(1, -4) = 0; }},
    {"chain ends with 0", Problem::ShortChain, 1, kAny, [](RawJob& j) { j.word(1, -4) = command(0x101, 0x10, 0); }},
    {"amount of the next list too small", Problem::TailMismatch, 1, kAny,
     [](RawJob& j) { j.word(0, -3) = command(0x101, 0x14, 20); }},
    {"amount of the first list too small", Problem::MissingEnable, 0, 24, [](RawJob& j) { j.tasks[0].amount = 20; }},
    {"amount beyond the memory", Problem::ListOutsideMemory, 1, 0,
     [](RawJob& j) { j.word(0, -3) = command(0x101, 0x14, 5000); }},
    {"next list elsewhere", Problem::ListOutsideMemory, 1, 0,
     [](RawJob& j) { j.word(0, -4) = command(0x101, 0x10, 0x1000); }},
    {"first list elsewhere", Problem::ListOutsideMemory, 0, 0, [](RawJob& j) { j.tasks[0].address = 0x2000; }},
    {"interrupt of a block not started", Problem::BadInterruptMask, 2, kAny,
     [](RawJob& j) { j.tasks[2].int_mask = 0xc00; }},
    {"both blocks' interrupts", Problem::BadInterruptMask, 2, kAny, [](RawJob& j) { j.tasks[2].int_mask = 0xf00; }},
    {"half a pair", Problem::BadInterruptMask, 2, kAny, [](RawJob& j) { j.tasks[2].int_mask = 0x100; }},
    {"no interrupt", Problem::BadInterruptMask, 2, kAny, [](RawJob& j) { j.tasks[2].int_mask = 0; }},
    {"features elsewhere", Problem::AddressOutside, 1, 107,
     [](RawJob& j) { j.write_to(1, 0x1070) = command(0x201, 0x1070, 0x3000); }},
    {"features end too late", Problem::AddressOutside, 1, 107,
     [](RawJob& j) { j.write_to(1, 0x1070) = command(0x201, 0x1070, j.memory.a.dma_address() + 4096 - 16); }},
    {"weights elsewhere", Problem::AddressOutside, 0, 107,
     [](RawJob& j) { j.write_to(0, 0x1110) = command(0x201, 0x1110, 0x3000); }},
    {"weights end too late", Problem::AddressOutside, 0, 107,
     [](RawJob& j) { j.write_to(0, 0x1110) = command(0x201, 0x1110, j.memory.b.dma_address() + 4096 - 512); }},
    {"output elsewhere", Problem::AddressOutside, 2, 107,
     [](RawJob& j) { j.write_to(2, 0x4020) = command(0x1001, 0x4020, 0xfffff000); }},
    {"output ends too late", Problem::AddressOutside, 2, 107,
     [](RawJob& j) { j.write_to(2, 0x4020) = command(0x1001, 0x4020, j.memory.c.dma_address() + 4096 - 64); }},
};

void print(const std::vector<Finding>& findings) {
    for (const Finding& f : findings)
        print_error("  %s%s: %s\n", problem_name(f.problem), f.fatal ? ", fatal" : "", f.message.c_str());
}

// Buffers that lie side by side are one range for the NPU. Here nothing follows them but the commands.
void each_fatal_finding_hangs_or_faults(void**) {
    for (const Case& c : kFatal) {
        RawJob job;
        c.damage(job);
        const auto findings = job.findings();
        const auto found = std::ranges::find_if(findings, [&c](const Finding& f) {
            return f.problem == c.problem && f.fatal && f.task == c.task &&
                   (c.command == kAny || f.command == c.command) && !f.message.empty();
        });
        const int result = job.run();
        if (found == findings.end() || result == 0) {
            print_error("%s: the job's result is %d; %s at task %zu, command %zu expected\n", c.name, result,
                        problem_name(c.problem), c.task, c.command);
            print(findings);
        }
        assert_true(found != findings.end());
        assert_true(result == -ETIMEDOUT || result == -EFAULT || result == -EIO);
    }
}

void a_sound_job_has_no_findings_and_runs(void**) {
    const RawJob job;
    print(job.findings());
    assert_int_equal(job.findings().size(), 0);
    assert_int_equal(job.run(), 0);
}

void an_unaligned_list_is_told(void**) {
    RawJob job;
    job.tasks[0].address += 8; // the hardware takes the list 8 bytes before
    assert_true(job.findings().at(0).problem == Problem::UnalignedList);
    assert_true(job.findings().at(0).fatal);
}

void a_list_that_the_amount_cannot_say_is_told(void**) {
    RawJob job;
    job.tasks[0].amount = 131069;
    assert_true(job.findings().at(0).problem == Problem::ListTooLong);
    job.tasks[0].amount = 131068; // the most, but not all of it is there
    assert_true(job.findings().at(0).problem == Problem::ListOutsideMemory);
}

void a_tail_to_another_list_is_told(void**) {
    RawJob job;
    job.word(0, -4) = command(0x101, 0x10, static_cast<std::uint32_t>(job.tasks[0].address));
    const auto findings = job.findings();
    assert_true(findings.at(0).problem == Problem::TailMismatch);
    assert_int_equal(findings[0].task, 1);
}

void nothing_to_run_is_told(void**) {
    const auto findings = must(validate({}));
    assert_int_equal(findings.size(), 1);
    assert_true(findings[0].problem == Problem::NoTasks && findings[0].fatal);
}

// May go wrong; the job runs here.
void doubts_are_told_but_not_fatal(void**) {
    const struct {
        Problem problem;
        std::function<void(RawJob&)> damage;
    } kDoubts[] = {
        {Problem::UnknownRegister, [](RawJob& j) { j.write_to(0, 0x4100) = command(0x201, 0x1ffc, 1); }},
        {Problem::StaleRegister, [](RawJob& j) { j.write_to(1, 0x1070) = 0; }},
        {Problem::StaleRegister, [](RawJob& j) { j.write_to(0, 0x4020) = 0; }},
        {Problem::BadInterruptMask, [](RawJob& j) { j.tasks[2].int_mask = 0x3ff; }},
    };
    for (const auto& doubt : kDoubts) {
        RawJob job;
        doubt.damage(job);
        const auto findings = job.findings();
        print(findings);
        assert_true(!findings.empty());
        for (const Finding& f : findings)
            assert_true(f.problem == doubt.problem && !f.fatal);
    }
}

// The third task inherits what the first wrote, not what the second did.
void registers_last_for_the_task_after_next(void**) {
    RawJob job;
    job.write_to(2, 0x1070) = 0;
    assert_int_equal(job.findings().size(), 0);
    assert_int_equal(job.run(), 0);
    job.write_to(0, 0x1070) = command(0x201, 0x1070, 0x3000);
    std::vector<std::size_t> tasks;
    for (const Finding& f : job.findings()) {
        assert_true(f.problem == Problem::AddressOutside);
        tasks.push_back(f.task);
    }
    check_equal<std::size_t>(tasks, std::vector<std::size_t>{0, 2});
}

// More tasks than one start takes: the task array counts again then.
void a_second_start_takes_its_list_from_the_array(void**) {
    RawJob job;
    const auto task = job.tasks[0];
    job.word(0, -4) = command(0x101, 0x10, static_cast<std::uint32_t>(task.address)); // a ring
    job.tasks.assign(5000, task);
    assert_int_equal(job.findings().size(), 0);
    job.tasks[4095].address = 0x1000;
    const auto findings = job.findings();
    assert_int_equal(findings.size(), 1);
    assert_int_equal(findings[0].task, 4095);
    assert_true(findings[0].problem == Problem::ListOutsideMemory);
}

void the_vendors_jobs_have_no_findings(void**) {
    for (const char* name : {"matmul_int8_4x64x64.txt", "matmul_fp16_33x256x48.txt"}) {
        const VectorFile v = read_vector(name);
        std::vector<AddressRange> buffers;
        for (const auto& [buffer, where] : v.buffers)
            buffers.push_back({static_cast<std::uint32_t>(where.address), where.size});
        std::vector<CommandMemory> lists;
        for (const auto& [address, words] : v.lists)
            lists.push_back({static_cast<std::uint32_t>(address), std::as_bytes(std::span(words))});
        std::vector<TaskEntry> tasks;
        for (std::uint32_t i = 0; i < v.m; ++i) // the chain of one core
            tasks.push_back({v.tasks.at(i).int_mask, v.tasks[i].regcfg_amount, v.tasks[i].regcmd_addr});
        const auto findings = must(validate({Soc::Rk3588, tasks, lists, buffers}));
        print(findings);
        assert_int_equal(findings.size(), 0);

        buffers.erase(std::ranges::find(buffers, v.buffers.at("c").address, &AddressRange::address));
        const auto without = must(validate({Soc::Rk3588, tasks, lists, buffers}));
        assert_int_equal(without.size(), tasks.size());
        assert_true(without[0].problem == Problem::AddressOutside);
    }
}

void a_job_validates_itself(void**) {
    const RowMemory memory(device());
    const rknpu::CommandList lists[] = {memory.list(), memory.list()};
    rknpu::Job job = must(rknpu::Job::create(device(), lists));
    assert_int_equal(must(job.validate()).size(), 6); // it has not been told its buffers: three in each task
    for (const Buffer* b : {&memory.a, &memory.b})
        must(job.keep(*b));
    const auto findings = must(job.validate());
    assert_int_equal(findings.size(), 2);
    assert_true(findings[1].problem == Problem::AddressOutside && findings[1].task == 1);
    must(job.keep(memory.c));
    assert_int_equal(must(job.validate()).size(), 0);
    must(job.run());
}

// The lists of an operator, in memory of just the size that it asks for, with gaps between.
template <class Task>
void check_operator(const std::vector<Task>& tasks, std::vector<AddressRange> buffers) {
    constexpr std::uint32_t kLists = 0xf0000000;
    std::vector<rknpu::CommandList> lists;
    for (const auto& task : tasks)
        lists.push_back(rknpu::detail::command_list(task));
    const rknpu::detail::Chain chain(lists);
    std::vector<std::byte> bytes(chain.bytes());
    chain.encode(lists, kLists, bytes);
    std::vector<TaskEntry> entries;
    for (std::size_t i = 0; i < lists.size(); ++i)
        entries.push_back({lists[i].interrupts(), chain.links()[i].amount, kLists + chain.links()[i].offset});
    const CommandMemory memory{kLists, bytes};
    const auto findings = must(validate({Soc::Rk3588, entries, {&memory, 1}, buffers}));
    print(findings);
    assert_int_equal(findings.size(), 0);
}

constexpr std::uint32_t kIn = 0x10000000, kOut = 0x20000000, kWeights = 0x30000000, kBias = 0x40000000;

void the_operators_jobs_have_no_findings(void**) {
    using namespace rknpu::detail;
    Random random("the_operators_jobs_have_no_findings");
    const auto up_to = [&random](int most) { return static_cast<std::uint32_t>(random.between(1, most)); };
    for (int round = 0; round < 30; ++round) {
        const auto type = random.between(0, 1) ? rknpu::MatmulType::Int8ToInt32 : rknpu::MatmulType::HalfToFloat;
        const MatmulPlan plan = plan_matmul({type, up_to(70), up_to(700), up_to(300)});
        const std::uint64_t element = type == rknpu::MatmulType::Int8ToInt32 ? 1 : 2;
        check_operator(matmul_tasks(plan, kIn, kWeights, kOut), {{kIn, std::uint64_t{plan.m} * plan.a_pitch},
                                                                 {kWeights, std::uint64_t{plan.k} * plan.n * element},
                                                                 {kOut, result_bytes(plan) * plan.segments.size()}});
    }
    int planned = 0;
    for (int round = 0; round < 100; ++round) {
        rknpu::ConvolutionShape shape;
        shape.groups = round % 3 == 0 ? up_to(20) : 1;
        shape.in_channels = shape.groups * (round % 2 ? 1 : up_to(90 / static_cast<int>(shape.groups)));
        shape.in_height = up_to(60);
        shape.in_width = up_to(60);
        shape.out_channels = shape.groups * (round % 2 ? 1 : up_to(90 / static_cast<int>(shape.groups)));
        shape.kernel_height = up_to(3);
        shape.kernel_width = up_to(3);
        shape.dilation_y = up_to(2);
        const bool half = round % 5 == 0;
        shape.input = half ? rknpu::ConvolutionInput::Half : rknpu::ConvolutionInput::Native;
        shape.output = half ? rknpu::ConvolutionOutput::Half : rknpu::ConvolutionOutput::Int8;
        const auto plan = plan_convolution(shape, {}, !half && round % 2 == 0);
        if (!plan)
            continue; // a kernel larger than the map
        ++planned;
        check_operator(convolution_tasks(*plan, {kIn, kOut, kWeights, kBias}), {{kIn, input_bytes(*plan)},
                                                                                {kOut, output_bytes(*plan)},
                                                                                {kWeights, weight_bytes(*plan)},
                                                                                {kBias, bias_bytes(*plan)}});
    }
    assert_true(planned > 60);
    for (int round = 0; round < 30; ++round) {
        rknpu::PoolingShape shape;
        shape.kind = round % 2 ? rknpu::PoolingKind::Max : rknpu::PoolingKind::Average;
        shape.type = round % 3 ? rknpu::DataType::Int8 : rknpu::DataType::Half;
        shape.channels = up_to(60);
        shape.kernel_height = up_to(5);
        shape.kernel_width = up_to(5);
        shape.in_height = shape.kernel_height + up_to(30);
        shape.in_width = shape.kernel_width + up_to(30);
        shape.pad_top = shape.kernel_height - 1;
        shape.pad_right = shape.kernel_width - 1;
        const PoolingPlan plan = must(plan_pooling(shape, {}));
        check_operator(pooling_chains(plan, kIn, kOut, 1).front(),
                       {{kIn, pooled_bytes(shape, {shape.channels, shape.in_height, shape.in_width})},
                        {kOut, pooled_bytes(shape, plan.out)}});
    }
    for (int round = 0; round < 30; ++round) {
        rknpu::ElementwiseShape shape;
        shape.kind = round % 2 ? rknpu::ElementwiseKind::Multiply : rknpu::ElementwiseKind::Add;
        shape.type = round % 3 ? rknpu::DataType::Int8 : rknpu::DataType::Half;
        shape.channels = up_to(60);
        shape.height = up_to(20);
        shape.width = up_to(round % 4 ? 20 : 20000);
        const ElementwisePlan plan = must(plan_elementwise(shape, {}));
        check_operator(elementwise_chains(plan, kIn, kWeights, kOut, 1).front(),
                       {{kIn, map_bytes(plan)}, {kWeights, map_bytes(plan)}, {kOut, map_bytes(plan)}});
    }
}

// Bits and lengths anyhow: never a crash, and what has no fatal finding does not hang. Sanitizers watch this.
void damaged_jobs_are_told_before_they_hang(void**) {
    Random random("damaged_jobs_are_told_before_they_hang");

    int harmless = 0, fatal = 0;
    for (int round = 0; round < 300; ++round) {
        RawJob job;
        for (int edits = random.between(1, 3); edits > 0; --edits) {
            const auto task = static_cast<std::size_t>(random.between(0, kTasks - 1));
            // Mostly the tail, where it hurts; of the addresses the upper bits.
            const int at = random.between(0, 3) ? -random.between(1, 4) : random.between(0, 107);
            job.word(task, at) ^= std::uint64_t{1} << random.between(0, 63);
        }
        const auto findings = job.findings();
        const bool told = std::ranges::any_of(findings, &Finding::fatal);
        const int result = job.run();
        (told ? fatal : harmless) += 1;
        // Another list than the task array's, or one whose address loses bits, may well run to its end.
        const bool only_another_list = std::ranges::all_of(findings, [](const Finding& f) {
            return !f.fatal || f.problem == Problem::TailMismatch || f.problem == Problem::UnalignedList;
        });
        if (told && result == 0 && !only_another_list)
            print(findings);
        assert_true(!told || result != 0 || only_another_list);
    }
    assert_true(harmless > 10 && fatal > 100);
}

void random_commands_are_harmless(void**) {
    Random random("random_commands_are_harmless");
    for (int round = 0; round < 500; ++round) {
        std::vector<std::uint64_t> words(static_cast<std::size_t>(random.between(0, 300)));
        for (auto& word : words)
            word = static_cast<std::uint64_t>(random.between(0, INT32_MAX)) << 33 ^
                   static_cast<std::uint64_t>(random.between(0, INT32_MAX)) << 8;
        std::vector<TaskEntry> tasks(static_cast<std::size_t>(random.between(0, 5)));
        for (TaskEntry& t : tasks)
            t = {static_cast<std::uint32_t>(random.between(0, 0xfff)),
                 static_cast<std::uint32_t>(random.between(-9, 300)),
                 static_cast<std::uint64_t>(random.between(0, 100)) * 16};
        const CommandMemory memory{0, std::as_bytes(std::span(words))};
        const AddressRange range{0xffffffff, UINT64_MAX};
        const auto findings = must(validate({static_cast<Soc>(round % 11), tasks, {&memory, 1}, {&range, 1}}));
        assert_true(!findings.empty());
    }
}

const CMUnitTest kTests[] = {
    cmocka_unit_test(a_sound_job_has_no_findings_and_runs),
    cmocka_unit_test(each_fatal_finding_hangs_or_faults),
    cmocka_unit_test(an_unaligned_list_is_told),
    cmocka_unit_test(a_list_that_the_amount_cannot_say_is_told),
    cmocka_unit_test(a_tail_to_another_list_is_told),
    cmocka_unit_test(nothing_to_run_is_told),
    cmocka_unit_test(doubts_are_told_but_not_fatal),
    cmocka_unit_test(registers_last_for_the_task_after_next),
    cmocka_unit_test(a_second_start_takes_its_list_from_the_array),
    cmocka_unit_test(the_vendors_jobs_have_no_findings),
    cmocka_unit_test(a_job_validates_itself),
    cmocka_unit_test(the_operators_jobs_have_no_findings),
    cmocka_unit_test(damaged_jobs_are_told_before_they_hang),
    cmocka_unit_test(random_commands_are_harmless),
};

} // namespace

RUN_TESTS(kTests)
