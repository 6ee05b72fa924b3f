// SPDX-License-Identifier: MIT
//
// The weight decompressor of CNA.
#include "dcomp.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "cna.hpp"

namespace npu {
namespace {

constexpr std::size_t kHeader = 16;
constexpr std::uint8_t kPlainMode = 0x00, kRunMode = 0x11;

// Decodes the bit stream of one segment, weight by weight.
class Segment {
  public:
    DmaResult load(Dma& dma, std::uint32_t addr, std::uint32_t units) {
        bytes_.resize(kHeader + std::size_t{units} * 16);
        return dma.read(Dma::kWeights, addr, bytes_.data(), bytes_.size());
    }
    // Null when the header has nothing that this model doesn't know.
    const char* header_problem() const {
        if (bytes_[0] != kPlainMode && bytes_[0] != kRunMode)
            return "unknown mode of compressed weights";
        return bytes_[3] != 0 ? "byte 3 of the header of compressed weights is not 0" : nullptr;
    }
    // The next weight, or nothing: see problem().
    std::optional<std::uint8_t> next() {
        if (run_ == 0 && !symbol())
            return std::nullopt;
        --run_;
        return weight_;
    }
    const char* problem() const { return problem_; }
    bool in_run() const { return run_ != 0; }

  private:
    bool fail(const char* problem) {
        problem_ = problem;
        return false;
    }
    unsigned bit() {
        const std::size_t at = kHeader + bit_ / 8;
        if (at >= bytes_.size()) {
            ended_ = true;
            return 0;
        }
        return bytes_[at] >> (bit_++ % 8) & 1;
    }
    unsigned bits(unsigned count) { // the low one first
        unsigned v = 0;
        for (unsigned i = 0; i < count; ++i)
            v |= bit() << i;
        return v;
    }
    // 00, 10, 111, 110, 011, 0101, 01001, 01000 for ranks 0 to 7, in the order of the stream.
    unsigned rank() {
        if (bit())
            return bit() ? (bit() ? 2 : 3) : 1;
        if (!bit())
            return 0;
        if (bit())
            return 4;
        if (bit())
            return 5;
        return bit() ? 6 : 7;
    }
    unsigned run_rank() { return !bit() ? 0 : !bit() ? 1 : !bit() ? 2 : 3; }

    // Sets weight_ and how often it is used.
    bool symbol() {
        const unsigned r = rank(), n = bytes_[4 + r / 2] >> (r % 2 * 4) & 0xf;
        if (n > 7)
            return fail("a class above 7 in compressed weights");
        run_ = 1;
        int difference = 0;
        if (bytes_[0] == kRunMode && n == 0) {
            const std::size_t at = 8 + 2 * std::size_t{run_rank()};
            run_ = bytes_[at] | static_cast<unsigned>(bytes_[at + 1]) << 8;
            if (run_ == 0)
                return fail("a run of length 0 in compressed weights");
        } else {
            const bool negative = bit() != 0;
            const bool full = bytes_[0] == kRunMode && n == 7;
            const auto m = static_cast<int>(full ? bits(7) : n == 0 ? 0 : bits(n - 1) | 1u << (n - 1));
            if (bytes_[0] == kPlainMode)
                difference = negative ? -m - 1 : m;
            else
                difference = !negative ? m : m == 0 ? -128 : -m;
        }
        if (ended_)
            return fail("a segment of compressed weights ends early");
        weight_ = static_cast<std::uint8_t>(bytes_[1] + difference);
        return true;
    }

    std::vector<std::uint8_t> bytes_;
    std::size_t bit_ = 0;
    unsigned run_ = 0;
    std::uint8_t weight_ = 0;
    bool ended_ = false;
    const char* problem_ = nullptr;
};

} // namespace

DmaResult load_compressed_weights(Dma& dma, const ConvPlan& plan, std::vector<std::uint8_t>& plain, Checks& checks) {
    std::array<Segment, CompressedWeights::kSegments> segments;
    std::uint64_t addr = plan.weight_addr;
    const auto refuse = [&checks](unsigned s, const char* why) {
        checks.refuse(std::string(why) + " (segment " + std::to_string(s) + ")");
        return DmaResult::BadData;
    };
    for (unsigned s = 0; s < segments.size(); ++s) {
        // Kernel 0 is in the first four, kernel 1 in the next four, and so on: the others have no weights.
        if (s / 4 < plan.kernels) {
            const DmaResult result = segments[s].load(dma, static_cast<std::uint32_t>(addr), plan.compressed.units[s]);
            if (result != DmaResult::Ok)
                return result;
            if (const char* problem = segments[s].header_problem())
                return refuse(s, problem);
        }
        addr += plan.compressed.bytes(s);
    }

    // The plain layout in its order; each weight comes from the segment of its kernel and channel.
    plain.clear();
    plain.reserve(plan.weight_bytes());
    for (std::size_t k0 = 0; k0 < plan.kernels; k0 += plan.kernel_group())
        for (std::size_t c0 = 0; c0 < plan.channels; c0 += plan.channel_group())
            for (std::size_t tap = 0; tap < plan.taps(); ++tap)
                for (std::size_t k = k0; k < std::min<std::size_t>(k0 + plan.kernel_group(), plan.kernels); ++k)
                    for (std::size_t c = c0; c < std::min<std::size_t>(c0 + plan.channel_group(), plan.channels); ++c) {
                        const auto s = static_cast<unsigned>(k % 4 * 4 + c / 4 % 4);
                        const std::optional<std::uint8_t> weight = segments[s].next();
                        if (!weight)
                            return refuse(s, segments[s].problem());
                        plain.push_back(*weight);
                    }
    for (unsigned s = 0; s < segments.size(); ++s)
        if (segments[s].in_run())
            return refuse(s, "a run goes beyond the end of the weights");
    return DmaResult::Ok;
}

} // namespace npu
