// SPDX-License-Identifier: MIT
//
// What CNA reads: feature maps and weights; and the order in which its sequence controller feeds the MAC array.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "cna.hpp"
#include "kernels.hpp"

namespace npu {
namespace {

std::uint16_t get16(const std::uint8_t* p) {
    return static_cast<std::uint16_t>(p[0] | p[1] << 8);
}

// Stored elements -> numbers, without the input converter.
void widen(Precision precision, const std::uint8_t* from, std::size_t count, std::int16_t* to) {
    switch (precision) {
    case Precision::Int4: // even elements in the low half of a byte
        for (std::size_t i = 0; i < count; ++i)
            to[i] = static_cast<std::int16_t>(((from[i / 2] >> i % 2 * 4 & 0xf) ^ 8) - 8);
        break;
    case Precision::Int16:
        for (std::size_t i = 0; i < count; ++i)
            to[i] = static_cast<std::int16_t>(get16(from + 2 * i));
        break;
    default:
        for (std::size_t i = 0; i < count; ++i)
            to[i] = static_cast<std::int8_t>(from[i]);
        break;
    }
}

void widen(Precision precision, const std::uint8_t* from, std::size_t count, float* to) {
    if (precision == Precision::Bf16)
        for (std::size_t i = 0; i < count; ++i)
            to[i] = bf16_to_float(get16(from + 2 * i));
    else if (precision == Precision::Tf32)
        for (std::size_t i = 0; i < count; ++i)
            to[i] =
                round_to_tf32(std::bit_cast<float>(get16(from + 4 * i) | std::uint32_t{get16(from + 4 * i + 2)} << 16));
    else
        kernels().from_half(from, to, count);
}

// The input converter: stored elements -> numbers, as a table for each lane where elements have 8 bits or less.
class Converter {
  public:
    explicit Converter(const ConvPlan& plan) : plan_(plan), bits_(element_bits(plan.precision)) {
        if (!plan.cvt_on || bits_ > 8)
            return;
        for (unsigned lane = 0; lane < 4; ++lane)
            for (unsigned stored = 0; stored < 1u << bits_; ++stored)
                table_[lane][stored] = convert(plan.cvt[lane], stored);
    }
    // `count` elements, the first of channel `first` of an atom's.
    void operator()(unsigned first, const std::uint8_t* from, std::size_t count, std::int16_t* to) const {
        widen(plan_.precision, from, count, to);
        const std::uint32_t enabled = plan_.cvt_lanes;
        const unsigned atom = plan_.pixel_channels ? 32 : plan_.atom_channels();
        for (std::size_t i = 0; i < count; ++i) {
            const auto channel = static_cast<unsigned>((first + i) % atom);
            if (!(enabled >> channel & 1))
                continue;
            const unsigned stored = static_cast<std::uint16_t>(to[i]) & ((1u << bits_) - 1);
            to[i] = bits_ > 8 ? convert(plan_.cvt[channel % 4], stored) : table_[channel % 4][stored];
        }
    }

  private:
    std::int16_t convert(const CvtLane& lane, unsigned stored) const {
        const std::int64_t half = std::int64_t{1} << (bits_ - 1);
        const std::int64_t x = plan_.cvt_signed ? (stored ^ half) - half : static_cast<std::int64_t>(stored);
        const std::int64_t v = plan_.cvt_add_first
                                   ? multiply_shift(x + lane.offset, lane.scale, lane.truncate, plan_.cvt_ties)
                                   : multiply_shift(x, lane.scale, lane.truncate, plan_.cvt_ties) + lane.offset;
        return static_cast<std::int16_t>(std::clamp(v, -half, half - 1));
    }
    const ConvPlan& plan_;
    const unsigned bits_;
    std::int16_t table_[4][256];
};

// Joins reads that follow each other in memory as well as in the buffer.
class RunReader {
  public:
    explicit RunReader(Dma& dma) : dma_(dma) {}
    void add(std::int64_t addr, std::uint8_t* to, std::size_t len) {
        if (len_ > 0 && to_ + len_ == to &&
            addr_ + static_cast<std::uint32_t>(len_) == static_cast<std::uint32_t>(addr)) {
            len_ += len;
            return;
        }
        flush();
        addr_ = static_cast<std::uint32_t>(addr);
        to_ = to;
        len_ = len;
    }
    DmaResult flush() {
        if (result_ == DmaResult::Ok && len_ > 0)
            result_ = dma_.read(Dma::kFeatures, addr_, to_, len_);
        len_ = 0;
        return result_;
    }

  private:
    Dma& dma_;
    DmaResult result_ = DmaResult::Ok;
    std::uint32_t addr_ = 0;
    std::uint8_t* to_ = nullptr;
    std::size_t len_ = 0;
};

template <class T>
DmaResult load_planar(Dma& dma, const ConvPlan& plan, FeatureMap<T>& map) {
    const std::size_t w = plan.width, h = plan.height, c2 = plan.atom_channels();
    const std::size_t surfaces = plan.channels / c2;
    // Atoms in the order of memory: of a one-column map with interleaved surfaces, pixel by pixel.
    const bool by_pixel = w == 1 && plan.surface_pitch == 1;
    const std::size_t surface_step = by_pixel ? 1 : w * h, row_step = by_pixel ? surfaces : w;
    const std::size_t atom_bytes = plan.atom;
    RawVector<std::uint8_t> raw(surfaces * w * h * atom_bytes);
    RunReader reader(dma);
    const auto read_row = [&](std::size_t s, std::size_t y) {
        const auto line = static_cast<std::int64_t>(y / plan.rows_per_line);
        const auto in_line = static_cast<std::int64_t>(y % plan.rows_per_line * w);
        const std::int64_t atom = static_cast<std::int64_t>(s) * plan.surface_pitch + line * plan.line_stride + in_line;
        reader.add(plan.feature_addr + atom * plan.atom, raw.data() + (s * surface_step + y * row_step) * atom_bytes,
                   w * atom_bytes);
    };
    if (by_pixel)
        for (std::size_t y = 0; y < h; ++y)
            for (std::size_t s = 0; s < surfaces; ++s)
                read_row(s, y);
    else
        for (std::size_t s = 0; s < surfaces; ++s)
            for (std::size_t y = 0; y < h; ++y)
                read_row(s, y);
    if (const DmaResult result = reader.flush(); result != DmaResult::Ok)
        return result;

    const Converter convert(plan);
    if (surfaces * c2 == plan.channels)
        map.data.resize(w * h * plan.channels);
    else
        map.data.assign(w * h * plan.channels, T{});
    std::vector<T> row(w * c2);
    for (std::size_t y = 0; y < h; ++y) // so that a row of the map stays in the cache until it is complete
        for (std::size_t s = 0; s < surfaces; ++s) {
            const std::uint8_t* from = raw.data() + (s * surface_step + y * row_step) * atom_bytes;
            T* to = map.data.data() + y * w * plan.channels + s * c2;
            if constexpr (std::is_integral_v<T>) {
                if (plan.cvt_on)
                    convert(0, from, row.size(), row.data());
                else
                    widen(plan.precision, from, row.size(), row.data());
            } else if (plan.precision == Precision::Fp16) {
                kernels().half_rows(from, to, w, c2, plan.channels);
                continue;
            } else {
                widen(plan.precision, from, row.size(), row.data());
            }
            constexpr std::size_t kUsual = 32 / sizeof(T); // a copy of known length is inline
            for (std::size_t x = 0; x < w; ++x)
                if (c2 == kUsual)
                    std::memcpy(to + x * plan.channels, row.data() + x * kUsual, kUsual * sizeof(T));
                else
                    std::memcpy(to + x * plan.channels, row.data() + x * c2, c2 * sizeof(T));
        }
    return DmaResult::Ok;
}

template <class T>
DmaResult load_pixels(Dma& dma, const ConvPlan& plan, FeatureMap<T>& map) {
    const std::size_t w = plan.width, h = plan.height, n = plan.pixel_channels, bytes = element_bytes(plan.precision);
    std::vector<std::uint8_t> raw(w * h * n * bytes);
    RunReader reader(dma);
    for (std::size_t y = 0; y < h; ++y)
        reader.add(plan.feature_addr + static_cast<std::int64_t>(y * n * bytes) * plan.line_stride,
                   raw.data() + y * w * n * bytes, w * n * bytes);
    if (const DmaResult result = reader.flush(); result != DmaResult::Ok)
        return result;

    const Converter convert(plan);
    map.data.assign(w * h * plan.channels, T{}); // channels that the pixels don't have are 0
    for (std::size_t p = 0; p < w * h; ++p) {
        const std::uint8_t* pixel = raw.data() + p * n * bytes;
        T* to = map.data.data() + p * plan.channels;
        if constexpr (std::is_integral_v<T>) {
            if (plan.cvt_on)
                convert(0, pixel, n, to);
            else
                widen(plan.precision, pixel, n, to);
        } else {
            widen(plan.precision, pixel, n, to);
        }
    }
    return DmaResult::Ok;
}

// Puts zeros between the pixels.
template <class T>
void insert_zeros(const ConvPlan& plan, FeatureMap<T>& map) {
    const std::size_t channels = plan.channels;
    RawVector<T> grid(std::size_t{plan.grid_w()} * plan.grid_h() * channels, T{});
    for (std::size_t y = 0; y < plan.height; ++y)
        for (std::size_t x = 0; x < plan.width; ++x)
            std::copy_n(map.data.data() + (y * plan.width + x) * channels, channels,
                        grid.data() + (y * (plan.insert_y + 1) * plan.grid_w() + x * (plan.insert_x + 1)) * channels);
    map.data = std::move(grid);
}

} // namespace

template <class T>
DmaResult load_features(Dma& dma, const ConvPlan& plan, FeatureMap<T>& map) {
    std::uint8_t pad[4];
    for (unsigned i = 0; i < 4; ++i)
        pad[i] = static_cast<std::uint8_t>(plan.pad_bits >> (8 * i));
    widen(plan.precision, pad, 1, &map.pad);
    const DmaResult result = plan.pixel_channels ? load_pixels(dma, plan, map) : load_planar(dma, plan, map);
    if (result == DmaResult::Ok && (plan.insert_x || plan.insert_y))
        insert_zeros(plan, map);
    return result;
}

DmaResult load_stored_weights(Dma& dma, const ConvPlan& plan, std::vector<std::uint8_t>& raw, Checks& checks) {
    raw.resize(plan.weight_bytes());
    return plan.compressed.on ? load_compressed_weights(dma, plan, raw, checks)
                              : dma.read(Dma::kWeights, plan.weight_addr, raw.data(), raw.size());
}

template <class T>
DmaResult load_weights(Dma& dma, const ConvPlan& plan, const WeightLayout& layout, WeightBuffers<T>& buffers,
                       Checks& checks) {
    const std::size_t channels = plan.channels, taps = plan.taps();
    auto& [raw, weights] = buffers;
    if (const DmaResult result = load_stored_weights(dma, plan, raw, checks); result != DmaResult::Ok)
        return result;

    const std::size_t kernel_group = plan.kernel_group(), channel_group = plan.channel_group();
    weights.resize(layout.size(plan.kernels));
    std::vector<T> run_of_channels(std::min(channel_group, channels));
    const std::uint8_t* from = raw.data();
    for (std::size_t k0 = 0; k0 < plan.kernels; k0 += kernel_group)
        for (std::size_t c0 = 0; c0 < channels; c0 += channel_group) {
            const std::size_t k1 = std::min<std::size_t>(k0 + kernel_group, plan.kernels);
            const std::size_t run = std::min(channel_group, channels - c0);
            for (std::size_t tap = 0; tap < taps; ++tap) {
                if constexpr (std::is_integral_v<T>)
                    if (plan.precision == Precision::Int8 && layout.lanes == 1) {
                        kernels().widen_rows(reinterpret_cast<const std::int8_t*>(from),
                                             weights.data() + layout.start(k0) + tap * channels + c0, k1 - k0, run,
                                             layout.pitch);
                        from += (k1 - k0) * run;
                        continue;
                    }
                for (std::size_t k = k0; k < k1; ++k) {
                    T* to = weights.data() + layout.start(k) + (tap * channels + c0) * layout.lanes;
                    if (layout.lanes == 1) {
                        widen(plan.precision, from, run, to);
                    } else {
                        widen(plan.precision, from, run, run_of_channels.data());
                        for (std::size_t i = 0; i < run; ++i)
                            to[i * layout.lanes] = run_of_channels[i];
                    }
                    from += stored_bytes(plan.precision, run);
                }
            }
        }
    return DmaResult::Ok;
}

namespace {

std::int16_t* copy(const std::int16_t* from, std::size_t count, std::int16_t* to) {
    return std::copy_n(from, count, to);
}

double* copy(const float* from, std::size_t count, double* to) {
    kernels().to_double(from, to, count);
    return to + count;
}

} // namespace

template <class T>
void find_taps(const ConvPlan& plan, const FeatureMap<T>& map, std::uint64_t pixel, std::size_t columns,
               const T* outside, const T** taps) {
    const std::int64_t y0 = static_cast<std::int64_t>(pixel / plan.out_w * plan.stride_y) - plan.pad_top;
    const std::int64_t x0 = static_cast<std::int64_t>(pixel % plan.out_w * plan.stride_x) - plan.pad_left;
    for (std::uint32_t ky = 0; ky < plan.kernel_h; ++ky) {
        const std::int64_t y = y0 + std::int64_t{ky} * plan.dilation_y;
        const bool row_inside = y >= 0 && y < plan.grid_h();
        const T* row = map.data.data() + (row_inside ? y : 0) * plan.grid_w() * plan.channels;
        for (std::size_t kx = 0; kx < columns; ++kx) {
            const std::int64_t x = x0 + static_cast<std::int64_t>(kx) * plan.dilation_x;
            const bool inside = row_inside && x >= 0 && x < plan.grid_w();
            *taps++ = inside ? row + x * plan.channels : outside;
        }
    }
}

template <class T, class Element>
void gather_windows(const ConvPlan& plan, const FeatureMap<T>& map, std::uint64_t first, std::uint64_t count,
                    std::uint64_t pitch, Element* rows) {
    const std::size_t channels = plan.channels;
    for (std::uint64_t p = first; p < first + count; ++p, rows += pitch) {
        const std::int64_t y0 = static_cast<std::int64_t>(p / plan.out_w * plan.stride_y) - plan.pad_top;
        const std::int64_t x0 = static_cast<std::int64_t>(p % plan.out_w * plan.stride_x) - plan.pad_left;
        Element* to = rows;
        for (std::uint32_t ky = 0; ky < plan.kernel_h; ++ky) {
            const std::int64_t y = y0 + std::int64_t{ky} * plan.dilation_y;
            const bool row_inside = y >= 0 && y < plan.grid_h();
            const T* row = map.data.data() + (row_inside ? y : 0) * plan.grid_w() * channels;
            if (row_inside && plan.dilation_x == 1 && x0 >= 0 && x0 + plan.kernel_w <= plan.grid_w()) {
                to = copy(row + static_cast<std::size_t>(x0) * channels, plan.kernel_w * channels, to);
                continue;
            }
            for (std::uint32_t kx = 0; kx < plan.kernel_w; ++kx) {
                const std::int64_t x = x0 + std::int64_t{kx} * plan.dilation_x;
                if (row_inside && x >= 0 && x < plan.grid_w())
                    to = copy(row + static_cast<std::size_t>(x) * channels, channels, to);
                else
                    to = std::fill_n(to, channels, map.pad);
            }
        }
    }
}

template DmaResult load_features(Dma&, const ConvPlan&, FeatureMap<std::int16_t>&);
template DmaResult load_features(Dma&, const ConvPlan&, FeatureMap<float>&);
template DmaResult load_weights(Dma&, const ConvPlan&, const WeightLayout&, WeightBuffers<std::int16_t>&, Checks&);
template DmaResult load_weights(Dma&, const ConvPlan&, const WeightLayout&, WeightBuffers<float>&, Checks&);
template void find_taps(const ConvPlan&, const FeatureMap<std::int16_t>&, std::uint64_t, std::size_t,
                        const std::int16_t*, const std::int16_t**);
template void find_taps(const ConvPlan&, const FeatureMap<float>&, std::uint64_t, std::size_t, const float*,
                        const float**);
template void gather_windows(const ConvPlan&, const FeatureMap<std::int16_t>&, std::uint64_t, std::uint64_t,
                             std::uint64_t, std::int16_t*);
template void gather_windows(const ConvPlan&, const FeatureMap<float>&, std::uint64_t, std::uint64_t, std::uint64_t,
                             double*);

} // namespace npu
