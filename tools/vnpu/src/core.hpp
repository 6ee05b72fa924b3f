// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "cna.hpp"

namespace npu {

/*
 * The MAC array and accumulator (block CORE). T is the type of features and weights: int16_t with exact 64-bit sums,
 * or float with sums in double. Several threads may use an array at once, each with buffers of its own.
 */
template <class T>
class MacArray {
  public:
    using Sum = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;
    using Window = std::conditional_t<std::is_integral_v<T>, T, double>;           // element of a window
    using Number = std::conditional_t<std::is_integral_v<T>, std::int32_t, float>; // as the DPU gets it

    // What a run needs and leaves.
    struct Buffers {
        AlignedVector<Window> windows; // direct convolution
        std::vector<const T*> taps;    // depthwise
        AlignedVector<Sum> sums, feature_sums;
        AlignedVector<Number> narrow; // depthwise, floats or numbers of 8-bit range
    };

    // The layout in which the constructor takes the weights.
    static WeightLayout weight_layout(const ConvPlan& plan);

    // feature_sums: also sum the features of each window. The plan and the map must live as long as the array.
    MacArray(const ConvPlan& plan, const FeatureMap<T>& map, AlignedVector<T> weights, bool feature_sums);

    // For the next array.
    AlignedVector<T> take_weights() { return std::move(weights_); }

    // Output channels that have weights.
    std::size_t channels() const { return channels_; }
    // Output pixels that run() takes at most.
    std::size_t block() const { return block_; }

    Buffers buffers() const;
    void run(std::uint64_t first, std::size_t count, Buffers& buffers) const;
    // Whether run() leaves the numbers that the DPU gets, and no sums.
    bool is_narrow() const { return narrow_ && (!std::is_integral_v<T> || (!feature_sums_on_ && plan_.truncate == 0)); }
    Number* numbers(Buffers& buffers, std::size_t i) const { return buffers.narrow.data() + i * channels_; }
    // Of pixel i of the run: sums of all channels, and the feature sum that belongs to channel c.
    Sum* sums(Buffers& buffers, std::size_t i) const { return buffers.sums.data() + i * pitch_; }
    Sum feature_sum(const Buffers& buffers, std::size_t i, std::size_t c) const {
        return plan_.depthwise ? buffers.feature_sums[i * channels_ + c] : buffers.sums[i * pitch_ + channels_];
    }

  private:
    void run_depthwise(std::uint64_t first, std::size_t count, Buffers& buffers) const;

    const ConvPlan& plan_;
    const FeatureMap<T>& map_;
    bool feature_sums_on_, narrow_;
    std::size_t channels_, block_;
    std::size_t kernels_; // rows of weights, with the kernel of ones that makes the feature sums
    std::size_t depth_;   // elements of a window, rounded up to the step of the inner loops
    std::size_t row_;     // from window to window
    std::size_t pitch_;   // of sums
    AlignedVector<T> weights_;
    // Depthwise: weights as its loops take them, weights of 1 for feature sums, a pixel outside the map.
    AlignedVector<Window> wide_weights_, ones_;
    AlignedVector<T> outside_;
};

// Products of an output pixel with kernels of one tap of int8, whose weights stay as they are in memory.
bool takes_stored_weights(const ConvPlan& plan);
void multiply_stored(const ConvPlan& plan, const std::int16_t* features, const std::uint8_t* weights,
                     std::int64_t* sums);

// The accumulator's way out: shift, saturate. Integer formats only.
void accumulate(const ConvPlan& plan, std::span<const std::int64_t> sums, std::int32_t* v);

} // namespace npu
