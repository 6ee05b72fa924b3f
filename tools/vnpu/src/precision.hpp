// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace npu {

// Number formats as the register fields code them (CNA, CORE, DPU and RDMA blocks alike).
enum class Precision : std::uint32_t {
    Int8 = 0,
    Int16 = 1,
    Fp16 = 2,
    Bf16 = 3,
    Int32 = 4, // DPU only
    Fp32 = 5,  // DPU only
    Int4 = 6,
    Tf32 = 7
};

constexpr bool is_float(Precision p) {
    return p == Precision::Fp16 || p == Precision::Bf16 || p == Precision::Fp32 || p == Precision::Tf32;
}

// Formats that CNA, CORE and DPU compute in, as far as they are modelled.
constexpr bool is_processing(Precision p) {
    return p == Precision::Int8 || p == Precision::Int16 || p == Precision::Fp16 || p == Precision::Bf16 ||
           p == Precision::Int4;
}

// Formats that DPU and DPU_RDMA compute in: those, int32, and fp32, the sums of tf32.
constexpr bool is_dpu_processing(Precision p) {
    return is_processing(p) || p == Precision::Int32 || p == Precision::Fp32;
}

constexpr unsigned kAtom = 16; // bytes of an atom: the unit of feature maps in memory

// Bytes of an element; not for int4.
constexpr unsigned element_bytes(Precision p) {
    switch (p) {
    case Precision::Int8:
        return 1;
    case Precision::Int32:
    case Precision::Fp32:
    case Precision::Tf32:
        return 4;
    default:
        return 2;
    }
}

constexpr unsigned element_bits(Precision p) {
    return p == Precision::Int4 ? 4 : 8 * element_bytes(p);
}

constexpr unsigned channels_per_atom(Precision p) {
    return p == Precision::Int4 ? 2 * kAtom : kAtom / element_bytes(p);
}

// Bytes of so many elements that fill whole bytes.
constexpr std::uint64_t stored_bytes(Precision p, std::uint64_t elements) {
    return p == Precision::Int4 ? elements / 2 : elements * element_bytes(p);
}

} // namespace npu
