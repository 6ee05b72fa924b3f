// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "amounts.hpp"
#include "host.hpp"
#include "mmu.hpp"

namespace npu {

// How a transfer ended. Stalled: nothing is lost, the whole task is tried again after the MMU lets it go on. BadData:
// all was read, but what came can't be processed.
enum class DmaResult { Ok, Stalled, ReadError, WriteError, BadData };

/*
 * The bus master of a core: reads at once, writes collected and done together, so that a task that runs into a page
 * fault has changed nothing and can simply be run again.
 */
class Dma {
  public:
    Dma(Host& host, Mmu& mmu) : host_(host), mmu_(mmu) {}

    // What is read, for the counters: a member of Traffic.
    using Kind = std::uint64_t Traffic::*;
    static constexpr Kind kFeatures = &Traffic::features, kWeights = &Traffic::weights, kOperands = &Traffic::operands;

    DmaResult read(Kind kind, std::uint32_t iova, void* buf, std::size_t len);
    // Of a command list, which no counter counts.
    DmaResult read_list(std::uint32_t iova, void* buf, std::size_t len);

    // Queue a write; runs of adjacent addresses are joined.
    void write(std::uint32_t iova, const void* buf, std::size_t len);
    // The same without a copy: the bytes must stay until the queue is empty.
    void write_kept(std::uint32_t iova, const void* buf, std::size_t len);
    // Do the queued writes, in order. After an error or a stall the queue is empty.
    DmaResult flush();

    // What the task moved since begin_task(), which forgets a try that a page fault ended.
    void begin_task() {
        traffic_ = {};
        transfers_.clear();
        writer_ = trace::Stream::DpuOutput;
    }
    const Traffic& traffic() const { return traffic_; }
    // In the same order, for observers; nothing when there is none. The DPU writes until another block says that it
    // does.
    const std::vector<trace::Transfer>& transfers() const { return transfers_; }
    void write_as(trace::Stream writer) { writer_ = writer; }

    void fail_next() { fail_next_ = true; }
    std::uint64_t bytes_read() const { return bytes_read_; }
    std::uint64_t bytes_written() const { return bytes_written_; }

  private:
    struct Run {
        std::uint32_t iova;
        std::size_t len;
        trace::Stream stream;
        const std::uint8_t* from; // null: the next bytes of data_
    };
    void queue(const Run& run);
    void note(const trace::Transfer& transfer);
    struct Piece {
        std::uint64_t physical;
        std::size_t len;
        const std::uint8_t* from;
    };

    Host& host_;
    Mmu& mmu_;
    std::vector<Run> runs_;
    std::vector<std::uint8_t> data_;
    std::uint64_t bytes_read_ = 0, bytes_written_ = 0;
    Traffic traffic_;
    std::vector<trace::Transfer> transfers_;
    trace::Stream writer_ = trace::Stream::DpuOutput;
    bool fail_next_ = false;
};

} // namespace npu
