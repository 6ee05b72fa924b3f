// SPDX-License-Identifier: MIT
//
// The order in which the DPU's write DMA puts its output into memory.
#include <algorithm>
#include <cstring>

#include "dpu.hpp"

namespace npu {

void Dpu::write(Dma& dma) const {
    switch (plan_.order) {
    case DpuOrder::Surfaces:
        return write_surfaces(dma);
    case DpuOrder::Series:
        return write_series(dma);
    case DpuOrder::Transposed:
        return write_transposed(dma);
    }
}

void Dpu::write_surfaces(Dma& dma) const {
    const std::uint64_t pixels = plan_.pixels();
    const std::uint32_t surfaces = plan_.surfaces(), e = plan_.surfaces_per_pass;
    // Some pixels of a surface that lie one behind the other.
    const auto write_run = [&](auto write, std::uint32_t s, std::uint64_t pixel, std::uint64_t most) {
        // Units (all surfaces of a pass at one pixel) are numbered in the order pass, row, column, and this number is
        // taken apart by the sizes of the write DMA.
        const std::uint64_t n = s / e * pixels + pixel;
        const std::uint64_t x = n % plan_.write_w, y = n / plan_.write_w % plan_.write_h;
        const std::uint64_t pass = n / (std::uint64_t{plan_.write_w} * plan_.write_h);
        const std::uint64_t offset = pass * plan_.pass_stride + std::uint64_t{s % e} * plan_.surface_stride +
                                     kAtom * (y * (plan_.write_w + plan_.notch) + x);
        const std::uint64_t run = std::min({most, pixels - pixel, plan_.write_w - x});
        (dma.*write)(static_cast<std::uint32_t>(plan_.dst + offset), out_.data() + (s * pixels + pixel) * kAtom,
                     run * kAtom);
        return run;
    };
    // Row-major output has the surfaces of a pixel side by side; in this order, and in a copy, its runs are long.
    if (plan_.surface_stride == kAtom) {
        for (std::uint64_t pixel = 0; pixel < pixels; ++pixel)
            for (std::uint32_t s = 0; s < surfaces; ++s)
                write_run(&Dma::write, s, pixel, 1);
        return;
    }
    for (std::uint32_t s = 0; s < surfaces; ++s)
        for (std::uint64_t pixel = 0; pixel < pixels;)
            pixel += write_run(&Dma::write_kept, s, pixel, pixels);
}

// Units are all surfaces of 32 channels at one pixel, in the order group of channels, pixel; SIZE_E says how many of
// them lie side by side before SURFACE_ADD steps on.
void Dpu::write_series(Dma& dma) const {
    constexpr std::uint32_t kSurfaces = kSeriesChannels * 4 / kAtom;
    const std::uint64_t pixels = plan_.pixels(), units = pixels * (plan_.surfaces() / kSurfaces);
    std::uint8_t unit[kSurfaces * kAtom];
    for (std::uint64_t n = 0; n < units; ++n) {
        for (std::uint32_t s = 0; s < kSurfaces; ++s)
            std::memcpy(unit + s * kAtom, out_.data() + ((n / pixels * kSurfaces + s) * pixels + n % pixels) * kAtom,
                        kAtom);
        const std::uint64_t offset =
            n / plan_.surfaces_per_pass * plan_.pass_stride + n % plan_.surfaces_per_pass * sizeof(unit);
        dma.write(static_cast<std::uint32_t>(plan_.dst + offset), unit, sizeof(unit));
    }
}

// The low 16 bits of channel c at pixel m: with c = 4 * s + lane, number 4 * m + s % 4 + s / 4 * 4 * pixels of the run
// of the lane; runs are 16 * pixels numbers apart.
void Dpu::write_transposed(Dma& dma) const {
    const std::uint64_t pixels = plan_.pixels();
    const std::uint32_t surfaces = plan_.surfaces();
    std::vector<std::uint8_t> run(pixels * surfaces * 2);
    for (std::uint32_t lane = 0; lane < 4; ++lane) {
        for (std::uint32_t s = 0; s < surfaces; ++s)
            for (std::uint64_t m = 0; m < pixels; ++m)
                std::memcpy(run.data() + 2 * (4 * m + s % 4 + s / 4 * 4 * pixels),
                            out_.data() + (s * pixels + m) * kAtom + 4 * lane, 2);
        dma.write(static_cast<std::uint32_t>(plan_.dst + lane * 32 * pixels), run.data(), run.size());
    }
}

} // namespace npu
