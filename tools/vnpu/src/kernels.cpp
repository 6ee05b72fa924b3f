// SPDX-License-Identifier: MIT
#include "kernels.hpp"

namespace npu {

extern const Kernels kernels_base;
#ifdef VNPU_X86
extern const Kernels kernels_avx2, kernels_avx512;
#endif

const Kernels& kernels() {
#ifdef VNPU_X86
    static const Kernels& best =
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni")
            ? kernels_avx512
        : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? kernels_avx2
                                                                          : kernels_base;
    return best;
#else
    return kernels_base;
#endif
}

} // namespace npu
