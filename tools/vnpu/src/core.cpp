// SPDX-License-Identifier: MIT
#include "core.hpp"

#include <algorithm>

#include "kernels.hpp"

namespace npu {
namespace {

constexpr std::size_t round_up(std::size_t v, std::size_t step) {
    return (v + step - 1) / step * step;
}

template <class T>
constexpr bool kInt = std::is_integral_v<T>;

} // namespace

template <class T>
WeightLayout MacArray<T>::weight_layout(const ConvPlan& plan) {
    const std::size_t window = plan.window();
    if (plan.depthwise)
        return {.pitch = window, .lanes = 1};
    if (kInt<T>)
        return {.pitch = round_up(window, Kernels::kStep), .lanes = 1};
    return {.pitch = window, .lanes = Kernels::kLanes};
}

template <class T>
MacArray<T>::MacArray(const ConvPlan& plan, const FeatureMap<T>& map, AlignedVector<T> weights, bool feature_sums)
    : plan_(plan), map_(map), feature_sums_on_(feature_sums),
      narrow_(plan.depthwise && plan.precision != Precision::Int16),
      channels_(plan.depthwise ? plan.channels : plan.kernels), weights_(std::move(weights)) {
    const std::size_t window = plan.window();
    kernels_ = channels_ + (feature_sums && !plan.depthwise);
    depth_ = weight_layout(plan).pitch;
    // Rows that are a multiple of 1 KiB apart would share few sets of the first-level cache.
    row_ = !kInt<T> && depth_ % 128 == 0 ? depth_ + 8 : depth_;
    pitch_ = kInt<T> || plan.depthwise ? kernels_ : round_up(kernels_, Kernels::kLanes);
    // Windows of a block should stay in the cache while all kernels pass over them; the inner loops take up to 8.
    block_ = std::clamp<std::size_t>((std::size_t{1} << 18) / (depth_ * sizeof(Window)) / 8 * 8, 8, 64);
    if (plan.depthwise) {
        outside_.assign(channels_, map.pad);
        if constexpr (!kInt<T>) {
            wide_weights_.resize(weights_.size());
            kernels().to_double(weights_.data(), wide_weights_.data(), weights_.size());
        }
    }
    if (!feature_sums)
        return;
    if (plan.depthwise) {
        ones_.assign(window, Window{1});
    } else { // integer formats only
        weights_.resize(kernels_ * depth_);
        std::fill_n(weights_.data() + channels_ * depth_, window, T{1});
    }
}

template <class T>
typename MacArray<T>::Buffers MacArray<T>::buffers() const {
    Buffers b;
    if (plan_.depthwise)
        b.taps.resize(std::size_t{plan_.kernel_h} * (plan_.kernel_w + Kernels::kPixels - 1));
    else
        b.windows.resize(block_ * row_);
    b.sums.resize(is_narrow() ? 0 : block_ * pitch_);
    b.narrow.resize(narrow_ ? block_ * channels_ : 0);
    b.feature_sums.resize(ones_.empty() ? 0 : block_ * channels_);
    return b;
}

template <class T>
void MacArray<T>::run_depthwise(std::uint64_t first, std::size_t count, Buffers& b) const {
    const Kernels& k = kernels();
    // Pixels that are computed at once: neighbours whose windows overlap.
    const bool overlap = !kInt<T> && plan_.stride_x == 1 && plan_.dilation_x == 1;
    for (std::size_t i = 0, pixels; i < count; i += pixels) {
        const bool together =
            overlap && i + Kernels::kPixels <= count && (first + i) % plan_.out_w + Kernels::kPixels <= plan_.out_w;
        pixels = together ? Kernels::kPixels : 1;
        find_taps(plan_, map_, first + i, plan_.kernel_w + pixels - 1, outside_.data(), b.taps.data());
        if constexpr (kInt<T>) {
            // `narrow`: where numbers of 8-bit range leave their sums first.
            std::int32_t* narrow = narrow_ ? numbers(b, i) : nullptr;
            const auto sum = [&](const Window* with, Sum* to) {
                if (narrow_)
                    k.depthwise_int(b.taps.data(), with, narrow, plan_.taps(), channels_);
                else
                    k.depthwise_int16(b.taps.data(), with, to, plan_.taps(), channels_);
                if (narrow_ && to)
                    std::copy_n(narrow, channels_, to);
            };
            if (feature_sums_on_)
                sum(ones_.data(), b.feature_sums.data() + i * channels_);
            sum(weights_.data(), is_narrow() ? nullptr : b.sums.data() + i * pitch_);
        } else {
            k.depthwise_float(b.taps.data(), wide_weights_.data(), numbers(b, i), plan_.kernel_h, plan_.kernel_w,
                              channels_, pixels);
        }
    }
}

template <class T>
void MacArray<T>::run(std::uint64_t first, std::size_t count, Buffers& b) const {
    if (plan_.depthwise)
        return run_depthwise(first, count, b);
    const Kernels& k = kernels();
    gather_windows(plan_, map_, first, count, row_, b.windows.data());
    std::fill_n(b.sums.begin(), count * pitch_, Sum{});
    if constexpr (kInt<T>) {
        const auto gemm = plan_.precision == Precision::Int16 ? k.gemm_int16 : k.gemm_int;
        gemm(b.windows.data(), weights_.data(), b.sums.data(), count, kernels_, depth_, pitch_);
    } else {
        for (std::size_t j = 0; j < pitch_; j += Kernels::kLanes)
            k.gemm_float(b.windows.data(), weights_.data() + j * depth_, b.sums.data() + j, count, depth_, row_,
                         pitch_);
    }
}

bool takes_stored_weights(const ConvPlan& plan) {
    return plan.precision == Precision::Int8 && plan.taps() == 1;
}

void multiply_stored(const ConvPlan& plan, const std::int16_t* features, const std::uint8_t* weights,
                     std::int64_t* sums) {
    kernels().vector_int(features, reinterpret_cast<const std::int8_t*>(weights), sums, plan.kernels, plan.channels);
}

void accumulate(const ConvPlan& plan, std::span<const std::int64_t> sums, std::int32_t* v) {
    kernels().narrow(sums.data(), plan.truncate, plan.truncate_ties == Ties::Up, v, sums.size());
}

template class MacArray<std::int16_t>;
template class MacArray<float>;

} // namespace npu
