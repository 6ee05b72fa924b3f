// SPDX-License-Identifier: MIT
#include "dma.hpp"

#include <algorithm>
#include <utility>

namespace npu {
namespace {

constexpr std::size_t kPage = 4096;

std::size_t to_page_end(std::uint32_t iova, std::size_t len) {
    return std::min(len, kPage - iova % kPage);
}

} // namespace

DmaResult Dma::read(Kind kind, std::uint32_t iova, void* buf, std::size_t len) {
    const DmaResult result = read_list(iova, buf, len);
    if (result == DmaResult::Ok) {
        traffic_.*kind += len;
        note({kind == kFeatures  ? trace::Stream::Features
              : kind == kWeights ? trace::Stream::Weights
                                 : trace::Stream::Operands,
              iova, len});
    }
    return result;
}

void Dma::note(const trace::Transfer& transfer) {
    if (!host_.observed())
        return;
    if (!transfers_.empty()) {
        trace::Transfer& last = transfers_.back();
        if (last.stream == transfer.stream && last.iova + static_cast<std::uint32_t>(last.len) == transfer.iova) {
            last.len += transfer.len;
            return;
        }
    }
    transfers_.push_back(transfer);
}

DmaResult Dma::read_list(std::uint32_t iova, void* buf, std::size_t len) {
    auto* out = static_cast<std::uint8_t*>(buf);
    while (len > 0) {
        const std::size_t part = to_page_end(iova, len);
        std::uint64_t physical = 0;
        switch (mmu_.translate(iova, Mmu::Access::Read, physical)) {
        case Mmu::Result::Stalled:
            return DmaResult::Stalled;
        case Mmu::Result::BusError:
            return DmaResult::ReadError;
        case Mmu::Result::Ok:
            break;
        }
        if (std::exchange(fail_next_, false) || !host_.read(physical, out, part))
            return DmaResult::ReadError;
        bytes_read_ += part;
        iova += static_cast<std::uint32_t>(part);
        out += part;
        len -= part;
    }
    return DmaResult::Ok;
}

void Dma::write(std::uint32_t iova, const void* buf, std::size_t len) {
    const auto* bytes = static_cast<const std::uint8_t*>(buf);
    data_.insert(data_.end(), bytes, bytes + len);
    queue({iova, len, writer_, nullptr});
}

void Dma::write_kept(std::uint32_t iova, const void* buf, std::size_t len) {
    queue({iova, len, writer_, static_cast<const std::uint8_t*>(buf)});
}

void Dma::queue(const Run& run) {
    if (!runs_.empty()) {
        Run& last = runs_.back();
        const std::uint8_t* next = last.from ? last.from + last.len : nullptr;
        if (last.stream == run.stream && last.iova + static_cast<std::uint32_t>(last.len) == run.iova &&
            next == run.from) {
            last.len += run.len;
            return;
        }
    }
    runs_.push_back(run);
}

DmaResult Dma::flush() {
    const auto runs = std::exchange(runs_, {});
    const auto data = std::exchange(data_, {});
    std::vector<Piece> pieces;
    const std::uint8_t* copied = data.data();
    for (const Run& run : runs) {
        std::uint32_t iova = run.iova;
        const std::uint8_t* from = run.from;
        if (!from) {
            from = copied;
            copied += run.len;
        }
        for (std::size_t left = run.len; left > 0;) {
            const std::size_t part = to_page_end(iova, left);
            std::uint64_t physical = 0;
            switch (mmu_.translate(iova, Mmu::Access::Write, physical)) {
            case Mmu::Result::Stalled:
                return DmaResult::Stalled;
            case Mmu::Result::BusError:
                return DmaResult::WriteError;
            case Mmu::Result::Ok:
                break;
            }
            pieces.push_back({physical, part, from});
            iova += static_cast<std::uint32_t>(part);
            from += part;
            left -= part;
        }
    }
    for (const Piece& piece : pieces) {
        if (std::exchange(fail_next_, false) || !host_.write(piece.physical, piece.from, piece.len))
            return DmaResult::WriteError;
        bytes_written_ += piece.len;
        traffic_.results += piece.len;
    }
    for (const Run& run : runs)
        note({run.stream, run.iova, run.len});
    return DmaResult::Ok;
}

} // namespace npu
