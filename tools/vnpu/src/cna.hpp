// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "dcomp.hpp"
#include "dma.hpp"
#include "numeric.hpp"
#include "precision.hpp"
#include "task.hpp"
#include "vectors.hpp"

namespace npu {

// Input converter of one lane (a channel modulo 4).
struct CvtLane {
    std::int32_t scale, offset;
    unsigned truncate;
};

// What CNA and CORE are to do: decoded registers, in natural units (nothing minus 1).
struct ConvPlan {
    Precision precision = Precision::Int8;
    bool depthwise = false;

    // Input map and where it lies.
    std::uint32_t width = 0, height = 0, channels = 0; // channels as stored, a multiple of an atom's
    unsigned atom = kAtom;                             // bytes of an atom
    std::uint32_t feature_addr = 0;
    std::uint32_t pixel_channels = 0; // packed pixels of 1..4 channels; 0: planar
    std::uint32_t rows_per_line = 4;  // rows that one line stride spans
    std::int64_t line_stride = 0;     // atoms, or pixels of packed input
    std::int64_t surface_pitch = 0;   // atoms
    bool cvt_on = false, cvt_signed = true, cvt_add_first = false;
    std::uint32_t cvt_lanes = 0; // channels of an atom that are converted, one bit each
    Ties cvt_ties = Ties::Even;
    std::array<CvtLane, 4> cvt{};
    std::uint32_t pad_bits = 0; // stored form of the pad value, after the converter

    std::uint32_t kernel_w = 0, kernel_h = 0, stride_x = 1, stride_y = 1, dilation_x = 1, dilation_y = 1;
    std::uint32_t pad_left = 0, pad_top = 0;
    std::uint32_t insert_x = 0, insert_y = 0; // zeros between the pixels of the map, for transposed convolution

    std::uint32_t weight_addr = 0, kernels = 0; // kernels: 1 for depthwise
    CompressedWeights compressed;

    std::uint32_t out_w = 0, out_h = 0;
    bool feature_sum = false; // also sum the features, for the DPU's CPEND term
    unsigned truncate = 0;
    Ties truncate_ties = Ties::Even;

    // The map that windows pass over: that of memory with what is inserted.
    std::uint32_t grid_w() const { return (width - 1) * (insert_x + 1) + 1; }
    std::uint32_t grid_h() const { return (height - 1) * (insert_y + 1) + 1; }
    std::uint64_t taps() const { return std::uint64_t{kernel_w} * kernel_h; }
    std::uint64_t window() const { return taps() * channels; } // elements that one output reads
    std::uint64_t outputs() const { return std::uint64_t{out_w} * out_h; }
    std::uint64_t feature_bytes() const {
        return stored_bytes(precision, std::uint64_t{width} * height * (pixel_channels ? pixel_channels : channels));
    }
    std::uint64_t weight_bytes() const { return stored_bytes(precision, window() * kernels); }
    std::uint64_t weight_fetch_bytes() const { return compressed.on ? compressed.bytes() : weight_bytes(); }
    // Weights are stored in groups of kernels, each in groups of channels, each tap by tap. Depthwise has one kernel,
    // and depthwise of other formats than int8 one group of channels.
    unsigned kernels_int8 = 32, channels_fp16 = 32; // of such a group, by SoC
    std::size_t kernel_group() const {
        return precision == Precision::Int8   ? kernels_int8
               : precision == Precision::Int4 ? 2 * std::size_t{kernels_int8}
               : precision == Precision::Tf32 ? kernels_int8 / 4
                                              : kernels_int8 / 2;
    }
    std::size_t channel_group() const {
        if (!depthwise)
            return precision == Precision::Fp16 ? channels_fp16 : 32;
        return precision == Precision::Int8 ? 64 : channels;
    }
    unsigned atom_channels() const { return atom * channels_per_atom(precision) / kAtom; }
    std::uint64_t mac_cycles() const;
};

ConvPlan decode_conv(const TaskRegisters& registers, Checks& checks);

/*
 * Input map in the form that the MAC array reads: [y][x][channel], T is int16_t for integer formats and float for the
 * others. The pad value stands for everything outside.
 */
template <class T>
struct FeatureMap {
    RawVector<T> data;
    T pad{};
};

// Empty positions of a transposed convolution are in the map as zeros.
template <class T>
DmaResult load_features(Dma& dma, const ConvPlan& plan, FeatureMap<T>& map);

// Weights of a kernel are [tap][channel] in rows of `pitch` elements, zeros behind them; the rows of `lanes` kernels
// are interleaved element by element. Kernels that are missing in the last set of lanes are zeros.
struct WeightLayout {
    std::size_t pitch, lanes;
    std::size_t size(std::size_t kernels) const { return (kernels + lanes - 1) / lanes * lanes * pitch; }
    // Place of element 0 of a kernel; the next ones follow `lanes` apart.
    std::size_t start(std::size_t kernel) const { return kernel / lanes * lanes * pitch + kernel % lanes; }
};

// Weights as they are in memory, and laid out. Both can be filled again, for kernels of the same size.
template <class T>
struct WeightBuffers {
    std::vector<std::uint8_t> raw;
    AlignedVector<T> weights;
};

// Depthwise has a single kernel.
template <class T>
DmaResult load_weights(Dma& dma, const ConvPlan& plan, const WeightLayout& layout, WeightBuffers<T>& buffers,
                       Checks& checks);

// The weights as they are in memory.
DmaResult load_stored_weights(Dma& dma, const ConvPlan& plan, std::vector<std::uint8_t>& raw, Checks& checks);

// The pixels of the map, or `outside`, under each tap of one output pixel, of `columns` taps in a row. With more
// columns than the kernel has, those of its neighbours as well, if windows are one pixel apart and without gaps.
template <class T>
void find_taps(const ConvPlan& plan, const FeatureMap<T>& map, std::uint64_t pixel, std::size_t columns,
               const T* outside, const T** taps);

// Windows of output pixels [first, first + count) as rows of [tap][channel], each `pitch` elements long; what lies
// behind the window in a row is left alone.
template <class T, class Element>
void gather_windows(const ConvPlan& plan, const FeatureMap<T>& map, std::uint64_t first, std::uint64_t count,
                    std::uint64_t pitch, Element* rows);

} // namespace npu
