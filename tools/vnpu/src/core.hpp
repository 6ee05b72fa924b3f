// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "cna.hpp"

namespace npu {

/*
 * The MAC array and accumulator (block CORE). T is the type of features and weights: int16_t with exact 64-bit sums,
 * or float with sums in double.
 */
template <class T>
class MacArray {
  public:
    using Sum = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;

    // feature_sums: also sum the features of each window.
    MacArray(const ConvPlan& plan, FeatureMap<T> map, const std::vector<T>& weights, bool feature_sums);

    // Output channels that have weights.
    std::size_t channels() const { return channels_; }
    // Output pixels that run() takes at most.
    std::size_t block() const { return block_; }

    void run(std::uint64_t first, std::size_t count);
    // Of pixel i of the last run(): sums of all channels, and the feature sum that belongs to channel c.
    const Sum* sums(std::size_t i) const { return sums_.data() + i * pitch_; }
    Sum feature_sum(std::size_t i, std::size_t c) const {
        return plan_.depthwise ? feature_sums_[i * channels_ + c] : sums_[i * pitch_ + channels_];
    }

  private:
    void pack(const std::vector<T>& weights);

    const ConvPlan& plan_;
    FeatureMap<T> map_;
    bool feature_sums_on_;
    std::size_t channels_, block_;
    std::size_t kernels_;           // rows of weights, with the kernel of ones that makes the feature sums
    std::size_t depth_;             // elements of a window, rounded up to the step of the inner loops
    std::size_t pitch_;             // of sums_
    std::vector<T> weights_, ones_; // ones_: depthwise feature sums
    std::vector<T> windows_;
    std::vector<Sum> sums_, feature_sums_;
};

// The accumulator's way out: add the CPEND term, shift, saturate. Integer formats only.
std::int32_t accumulate(const ConvPlan& plan, std::int64_t sum, std::int64_t cpend);

} // namespace npu
