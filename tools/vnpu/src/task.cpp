// SPDX-License-Identifier: MIT
#include "task.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>

#include "core.hpp"
#include "dpu.hpp"
#include "kernels.hpp"
#include "parallel.hpp"
#include "ppu.hpp"
#include "timing.hpp"
#include "trace_describe.hpp"

namespace npu {
namespace {

// Where the output of the DPU goes: memory, PPU, or both.
class DpuOutput {
  public:
    void decode(const TaskRegisters& registers, const DpuPlan& dpu, bool with_ppu, Checks& checks) {
        to_memory_ = dpu.to_memory;
        checks.require(dpu.to_ppu == with_ppu, reg::dpu::FEATURE_MODE_CFG::OUTPUT_MODE,
                       registers.dpu[reg::dpu::FEATURE_MODE_CFG::OUTPUT_MODE],
                       with_ppu ? "PPU is started but gets nothing" : "feeds PPU, which is not started");
        if (with_ppu)
            pool_ = decode_ppu(registers, &dpu, checks);
    }
    std::uint64_t bytes_written() const { return pool_ ? pool_->bytes_written() : 0; }
    DmaResult write(Dma& dma, const Dpu& dpu) const {
        if (to_memory_)
            dpu.write(dma);
        dma.write_as(trace::Stream::PpuOutput);
        if (pool_)
            run_pool(dma, *pool_, dpu.output());
        return dma.flush();
    }
    void describe(trace::Task& task) const {
        if (pool_)
            trace::describe(*pool_, false, task);
    }

  private:
    bool to_memory_ = true;
    std::optional<PoolPlan> pool_;
};

// CNA -> CORE -> DPU, with or without operands from DPU_RDMA and PPU behind.
class ConvTask final : public Task {
  public:
    ConvTask(const TaskRegisters& registers, std::uint32_t op, Checks& checks) : conv_(decode_conv(registers, checks)) {
        const bool with_rdma = (op & kOpDpuRdma) != 0;
        if (with_rdma)
            rdma_ = decode_dpu_rdma(registers, checks);
        dpu_ = decode_dpu(registers, with_rdma ? &rdma_ : nullptr, checks);
        output_.decode(registers, dpu_, (op & kOpPpu) != 0, checks);

        namespace d = reg::dpu::FEATURE_MODE_CFG;
        checks.require(!dpu_.flying, d::FLYING_MODE, 1, "but CNA and CORE are started too");
        checks.require(registers.dpu[d::CONV_MODE] == (conv_.depthwise ? 3u : 0u), d::CONV_MODE,
                       registers.dpu[d::CONV_MODE], "differs from that of CNA");
        const Precision sums = conv_.precision == Precision::Tf32 ? Precision::Fp32 : conv_.precision;
        checks.require(registers.dpu[reg::dpu::DATA_FORMAT::PROC_PRECISION] == static_cast<std::uint32_t>(sums),
                       reg::dpu::DATA_FORMAT::PROC_PRECISION, registers.dpu[reg::dpu::DATA_FORMAT::PROC_PRECISION],
                       "differs from that of CNA");
        if (dpu_.width != conv_.out_w || dpu_.height != conv_.out_h)
            checks.refuse("the cube of the DPU (DATA_CUBE_WIDTH, _HEIGHT) is not the output of CORE (DATAOUT_SIZE_0)");
    }

    std::uint64_t cycles() const override {
        const std::uint64_t bytes = conv_.feature_bytes() + conv_.weight_fetch_bytes() +
                                    rdma_.bytes_read(dpu_.channels) + dpu_.bytes_written() + output_.bytes_written();
        return timing::task_cycles(conv_.mac_cycles(), bytes);
    }

    DmaResult run(Dma& dma, Checks& checks) const override {
        return is_float(conv_.precision) ? run_as<float>(dma, checks) : run_as<std::int16_t>(dma, checks);
    }

    void describe(trace::Task& task) const override {
        trace::describe(conv_, task);
        trace::describe(dpu_, rdma_, task);
        output_.describe(task);
    }

  private:
    template <class T>
    DmaResult run_as(Dma& dma, Checks& checks) const {
        FeatureMap<T> map;
        RdmaData data;
        DmaResult result = load_features(dma, conv_, map);
        if (result == DmaResult::Ok && streams_weights())
            return run_by_kernel_groups(dma, checks, map);
        WeightBuffers<T> kernels;
        if (result == DmaResult::Ok)
            result = load_weights(dma, conv_, MacArray<T>::weight_layout(conv_), kernels, checks);
        if (result == DmaResult::Ok)
            result = load_rdma(dma, rdma_, dpu_.channels, data);
        if (result != DmaResult::Ok)
            return result;

        const MacArray<T> array(conv_, map, std::move(kernels.weights), dpu_.cpend_on);
        Dpu dpu(dpu_, data);
        const std::uint64_t outputs = conv_.outputs(), block = array.block();
        // The DPU takes as long for a number as a few multiplications.
        const double operations =
            static_cast<double>(outputs) * (static_cast<double>(conv_.window()) * conv_.kernels + 16.0 * dpu_.channels);
        run_blocks((outputs + block - 1) / block, operations, [&](const TakeBlock& take) {
            auto buffers = array.buffers();
            DpuInput<T> v(dpu_.channels);
            for (std::size_t n = 0; take(n);) {
                const std::uint64_t first = n * block, count = std::min(block, outputs - first);
                array.run(first, count, buffers);
                for (std::size_t i = 0; i < count; ++i) {
                    if (array.is_narrow()) {
                        auto* numbers = array.numbers(buffers, i);
                        if (dpu_.channels > array.channels()) { // without weights: 0, as v is behind
                            std::copy_n(numbers, array.channels(), v.data());
                            std::fill(v.begin() + static_cast<std::ptrdiff_t>(array.channels()), v.end(), 0);
                            numbers = v.data();
                        }
                        dpu.process(first + i, numbers);
                        continue;
                    }
                    if constexpr (std::is_integral_v<T>)
                        add_cpend(data, array, i, 0, buffers);
                    take_sums({array.sums(buffers, i), array.channels()}, v);
                    dpu.process(first + i, v.data());
                }
            }
        });
        return output_.write(dma, dpu);
    }

    // With few output pixels, as a product with a vector has, the time goes into fetching the weights: they are
    // multiplied a kernel group at a time, while they are in the cache.
    static constexpr std::uint64_t kFewOutputs = 8;
    bool streams_weights() const {
        return conv_.outputs() <= kFewOutputs && !conv_.depthwise && !conv_.compressed.on &&
               conv_.kernels > conv_.kernel_group();
    }

    template <class T>
    DmaResult run_by_kernel_groups(Dma& dma, Checks& checks, const FeatureMap<T>& map) const {
        RdmaData data;
        if (const DmaResult result = load_rdma(dma, rdma_, dpu_.channels, data); result != DmaResult::Ok)
            return result;
        const std::size_t outputs = conv_.outputs();
        std::vector<typename MacArray<T>::Sum> sums(outputs * conv_.kernels);
        ConvPlan group = conv_;
        WeightBuffers<T> kernels;
        AlignedVector<T> features; // of all outputs, where weights stay as they are stored
        if constexpr (std::is_integral_v<T>)
            if (takes_stored_weights(conv_)) {
                features.resize(outputs * conv_.channels);
                gather_windows(conv_, map, 0, outputs, conv_.channels, features.data());
            }
        for (std::uint32_t first = 0; first < conv_.kernels; first += group.kernels) {
            group.kernels = std::min(static_cast<std::uint32_t>(conv_.kernel_group()), conv_.kernels - first);
            const DmaResult result = features.empty()
                                         ? load_weights(dma, group, MacArray<T>::weight_layout(group), kernels, checks)
                                         : load_stored_weights(dma, group, kernels.raw, checks);
            if (result != DmaResult::Ok)
                return result;
            if constexpr (std::is_integral_v<T>)
                if (!features.empty()) {
                    for (std::size_t i = 0; i < outputs; ++i)
                        multiply_stored(group, features.data() + i * conv_.channels, kernels.raw.data(),
                                        sums.data() + i * conv_.kernels + first);
                    group.weight_addr += static_cast<std::uint32_t>(group.weight_bytes());
                    continue;
                }
            MacArray<T> array(group, map, std::move(kernels.weights), dpu_.cpend_on);
            auto buffers = array.buffers();
            array.run(0, outputs, buffers);
            for (std::size_t i = 0; i < outputs; ++i) {
                if constexpr (std::is_integral_v<T>)
                    add_cpend(data, array, i, first, buffers);
                std::copy_n(array.sums(buffers, i), group.kernels, sums.data() + i * conv_.kernels + first);
            }
            kernels.weights = array.take_weights();
            group.weight_addr += static_cast<std::uint32_t>(group.weight_bytes());
        }
        if constexpr (std::is_integral_v<T>)
            if (!features.empty() && dpu_.cpend_on)
                for (std::size_t i = 0; i < outputs; ++i) {
                    const T* from = features.data() + i * conv_.channels;
                    const auto sum = std::accumulate(from, from + conv_.channels, std::int64_t{0});
                    for (std::size_t c = 0; c < std::min(conv_.kernels, dpu_.channels); ++c)
                        sums[i * conv_.kernels + c] += sum * cpend(data, c);
                }
        Dpu dpu(dpu_, data);
        DpuInput<T> v(dpu_.channels);
        for (std::size_t i = 0; i < outputs; ++i) {
            take_sums({sums.data() + i * conv_.kernels, conv_.kernels}, v);
            dpu.process(i, v.data());
        }
        return output_.write(dma, dpu);
    }

    template <class T>
    using DpuInput = AlignedVector<typename MacArray<T>::Number>;

    // The sums of one pixel as the DPU gets them. Channels without weights are 0.
    void take_sums(std::span<const std::int64_t> sums, DpuInput<std::int16_t>& v) const {
        const std::size_t count = std::min(sums.size(), v.size());
        accumulate(conv_, sums.first(count), v.data());
        std::fill(v.begin() + static_cast<std::ptrdiff_t>(count), v.end(), 0);
    }
    void take_sums(std::span<const double> sums, DpuInput<float>& v) const {
        const std::size_t count = std::min(sums.size(), v.size());
        kernels().to_float(sums.data(), v.data(), count);
        std::fill(v.begin() + static_cast<std::ptrdiff_t>(count), v.end(), 0.0f);
    }

    // Weight zero points: adds to each sum of pixel i what its features sum up to, times the zero point's negative.
    // The array's channels begin with channel `first`.
    void add_cpend(const RdmaData& data, const MacArray<std::int16_t>& array, std::size_t i, std::size_t first,
                   MacArray<std::int16_t>::Buffers& buffers) const {
        if (!dpu_.cpend_on)
            return;
        std::int64_t* sums = array.sums(buffers, i);
        for (std::size_t c = 0; c < array.channels() && first + c < dpu_.channels; ++c)
            sums[c] += array.feature_sum(buffers, i, c) * cpend(data, first + c);
    }
    std::int64_t cpend(const RdmaData& data, std::size_t channel) const {
        return dpu_.cpend_per_channel ? data.bs.cpend[channel] : dpu_.cpend;
    }

    ConvPlan conv_;
    RdmaPlan rdma_;
    DpuPlan dpu_;
    DpuOutput output_;
};

// DPU alone: the cube comes from memory.
class FlyingTask final : public Task {
  public:
    FlyingTask(const TaskRegisters& registers, std::uint32_t op, Checks& checks)
        : rdma_(decode_dpu_rdma(registers, checks)) {
        dpu_ = decode_dpu(registers, &rdma_, checks);
        output_.decode(registers, dpu_, (op & kOpPpu) != 0, checks);
        checks.require(dpu_.flying, reg::dpu::FEATURE_MODE_CFG::FLYING_MODE, 0, "but CNA and CORE are not started");
    }

    std::uint64_t cycles() const override {
        return timing::task_cycles(dpu_.pixels() * dpu_.surfaces(),
                                   rdma_.bytes_read(dpu_.channels) + dpu_.bytes_written() + output_.bytes_written());
    }

    DmaResult run(Dma& dma, Checks&) const override {
        RdmaData data;
        if (const DmaResult result = load_rdma(dma, rdma_, dpu_.channels, data); result != DmaResult::Ok)
            return result;
        Dpu dpu(dpu_, data);
        constexpr std::uint64_t kBlock = 64;
        const std::uint64_t pixels = dpu_.pixels();
        const double operations = 16.0 * static_cast<double>(pixels) * dpu_.channels;
        run_blocks((pixels + kBlock - 1) / kBlock, operations, [&](const TakeBlock& take) {
            for (std::size_t n = 0; take(n);)
                for (std::uint64_t pixel = n * kBlock; pixel < std::min((n + 1) * kBlock, pixels); ++pixel) {
                    if (dpu_.is_float)
                        dpu.process(pixel, data.main.floats.data() + pixel * dpu_.channels);
                    else
                        dpu.process(pixel, data.main.ints.data() + pixel * dpu_.channels);
                }
        });
        return output_.write(dma, dpu);
    }

    void describe(trace::Task& task) const override {
        trace::describe(dpu_, rdma_, task);
        output_.describe(task);
    }

  private:
    RdmaPlan rdma_;
    DpuPlan dpu_;
    DpuOutput output_;
};

// PPU alone: the cube comes from memory.
class PoolTask final : public Task {
  public:
    PoolTask(const TaskRegisters& registers, Checks& checks) : plan_(decode_ppu(registers, nullptr, checks)) {}

    std::uint64_t cycles() const override {
        return timing::task_cycles(plan_.atoms_read(), plan_.atoms_read() * kAtom + plan_.bytes_written());
    }

    DmaResult run(Dma& dma, Checks&) const override {
        RawVector<std::uint8_t> cube;
        if (const DmaResult result = load_pool_input(dma, plan_, cube); result != DmaResult::Ok)
            return result;
        dma.write_as(trace::Stream::PpuOutput);
        run_pool(dma, plan_, cube);
        return dma.flush();
    }

    void describe(trace::Task& task) const override { trace::describe(plan_, true, task); }

  private:
    PoolPlan plan_;
};

} // namespace

std::unique_ptr<Task> make_task(std::uint32_t op, const TaskRegisters& registers, Checks& checks) {
    constexpr std::uint32_t kConv = kOpCna | kOpCore | kOpDpu, kFlying = kOpDpu | kOpDpuRdma,
                            kPool = kOpPpu | kOpPpuRdma;
    std::unique_ptr<Task> task;
    if ((op & ~(kOpDpuRdma | kOpPpu)) == kConv)
        task = std::make_unique<ConvTask>(registers, op, checks);
    else if ((op & ~kOpPpu) == kFlying)
        task = std::make_unique<FlyingTask>(registers, op, checks);
    else if (op == kPool)
        task = std::make_unique<PoolTask>(registers, checks);
    else
        checks.refuse("op enable of blocks " + Checks::hex(op) + ": this set of blocks is not modelled");
    return checks.ok() ? std::move(task) : nullptr;
}

} // namespace npu
