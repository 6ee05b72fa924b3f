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
MacArray<T>::MacArray(const ConvPlan& plan, FeatureMap<T> map, const std::vector<T>& weights, bool feature_sums)
    : plan_(plan), map_(std::move(map)), feature_sums_on_(feature_sums),
      channels_(plan.depthwise ? plan.channels : plan.kernels) {
    const std::size_t window = plan.window();
    kernels_ = channels_ + (feature_sums && !plan.depthwise);
    depth_ = kInt<T> && !plan.depthwise ? round_up(window, Kernels::kStep) : window;
    pitch_ = kInt<T> || plan.depthwise ? kernels_ : round_up(kernels_, Kernels::kLanes);
    // Windows of a block should stay in the cache while all kernels pass over them.
    block_ = std::clamp<std::size_t>((std::size_t{1} << 17) / (depth_ * sizeof(T)), 4, 64);
    windows_.assign(block_ * depth_, T{});
    sums_.resize(block_ * pitch_);
    if (plan.depthwise && feature_sums) {
        feature_sums_.resize(block_ * channels_);
        ones_.assign(window, T{1});
    }
    pack(weights);
}

template <class T>
void MacArray<T>::pack(const std::vector<T>& weights) {
    if (plan_.depthwise) {
        weights_ = weights;
        return;
    }
    const std::size_t window = plan_.window();
    if constexpr (kInt<T>) { // rows of depth_
        weights_.assign(kernels_ * depth_, T{});
        for (std::size_t k = 0; k < channels_; ++k)
            std::copy_n(weights.data() + k * window, window, weights_.data() + k * depth_);
        if (feature_sums_on_)
            std::fill_n(weights_.data() + channels_ * depth_, window, T{1});
    } else { // panels of kLanes kernels, element by element
        weights_.assign(pitch_ * depth_, T{});
        for (std::size_t k = 0; k < channels_; ++k) {
            T* panel = weights_.data() + k / Kernels::kLanes * Kernels::kLanes * depth_ + k % Kernels::kLanes;
            for (std::size_t i = 0; i < window; ++i)
                panel[i * Kernels::kLanes] = weights[k * window + i];
        }
    }
}

template <class T>
void MacArray<T>::run(std::uint64_t first, std::size_t count) {
    gather_windows(plan_, map_, first, count, depth_, windows_.data());
    std::fill(sums_.begin(), sums_.end(), Sum{});
    std::fill(feature_sums_.begin(), feature_sums_.end(), Sum{});
    const Kernels& k = kernels();
    if (plan_.depthwise) {
        const auto kernel = [&k] {
            if constexpr (kInt<T>)
                return k.depthwise_int;
            else
                return k.depthwise_float;
        }();
        for (std::size_t i = 0; i < count; ++i) {
            kernel(windows_.data() + i * depth_, weights_.data(), sums_.data() + i * pitch_, plan_.taps(), channels_);
            if (feature_sums_on_)
                kernel(windows_.data() + i * depth_, ones_.data(), feature_sums_.data() + i * channels_, plan_.taps(),
                       channels_);
        }
    } else if constexpr (kInt<T>) {
        const auto gemm = plan_.precision == Precision::Int16 ? k.gemm_int16 : k.gemm_int;
        gemm(windows_.data(), weights_.data(), sums_.data(), count, kernels_, depth_, pitch_);
    } else {
        for (std::size_t j = 0; j < pitch_; j += Kernels::kLanes)
            k.gemm_float(windows_.data(), weights_.data() + j * depth_, sums_.data() + j, count, depth_, pitch_);
    }
}

std::int32_t accumulate(const ConvPlan& plan, std::int64_t sum, std::int64_t cpend) {
    return saturate<std::int32_t>(shift_round(sum + cpend, plan.truncate, plan.truncate_ties));
}

template class MacArray<std::int16_t>;
template class MacArray<float>;

} // namespace npu
