// SPDX-License-Identifier: MIT
#include "kernels.hpp"

namespace npu {

extern const Kernels kernels_base;
#ifdef VNPU_X86
extern const Kernels kernels_avx2, kernels_avx512;
#endif

std::span<const Kernels* const> supported_kernels() {
#ifdef VNPU_X86
    static const Kernels* const all[] = {&kernels_base, &kernels_avx2, &kernels_avx512};
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool avx512 = avx2 && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vnni");
    return {all, avx512 ? 3u : avx2 ? 2u : 1u};
#else
    static const Kernels* const all[] = {&kernels_base};
    return all;
#endif
}

const Kernels& kernels() {
    static const Kernels& best = *supported_kernels().back();
    return best;
}

} // namespace npu
