// SPDX-License-Identifier: MIT
#include "trace_describe.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace npu::trace {
namespace {

const char* name(Precision p) {
    constexpr const char* kNames[] = {"int8", "int16", "fp16", "bf16", "int32", "fp32", "int4", "tf32"};
    return static_cast<unsigned>(p) < std::size(kNames) ? kNames[static_cast<unsigned>(p)] : "unknown format";
}

void add(Task& task, const char* block, std::string what) {
    task.blocks.push_back({block, std::move(what)});
}

// Bytes from the first to behind the last one of a plane of w x h atoms.
std::uint64_t plane(std::uint64_t w, std::uint64_t h, std::uint64_t notch) {
    return kAtom * ((h - 1) * (w + notch) + w);
}

std::string stage(const char* name, const DpuStage& s) {
    std::string text;
    if (s.alu != DpuStage::Alu::None)
        text += fmt::format(", {} {}", s.alu == DpuStage::Alu::Add ? "add" : "subtract",
                            s.alu_per_channel ? "per channel" : "a constant");
    if (s.mul)
        text +=
            fmt::format(", {}multiply {}", s.prelu ? "PReLU " : "", s.mul_per_channel ? "per channel" : "a constant");
    if (s.relu)
        text += ", ReLU";
    if (s.relux)
        text += ", clamp";
    return text.empty() ? "" : fmt::format("; {}: {}", name, text.substr(2));
}

std::string elementwise(const DpuEw& ew) {
    constexpr const char* kNames[] = {"",    "max",    "min",   "add",  "divide",  "subtract",
                                      "abs", "negate", "floor", "ceil", "multiply"};
    if (!ew.on)
        return "";
    std::string text;
    if (ew.op != DpuEw::Op::None)
        text += fmt::format(", {}{}", ew.prelu ? "PReLU " : "", kNames[static_cast<unsigned>(ew.op)]);
    if (ew.op != DpuEw::Op::None && ew.constant)
        text += " a constant";
    if (ew.lut)
        text += ", look-up table";
    if (ew.relu)
        text += ", ReLU";
    if (ew.relux)
        text += ", clamp";
    return text.empty() ? "" : "; EW: " + text.substr(2);
}

std::uint64_t extent(const TensorPlan& t, const RdmaPlan& cube, std::uint32_t surfaces) {
    return (std::uint64_t{surfaces} - 1) * static_cast<std::uint64_t>(t.pitch) * kAtom +
           kAtom * ((std::uint64_t{cube.height} - 1) * t.row_pitch + cube.width);
}

// A tensor that has the layout of the output: each number is read before the one that comes of it is written.
void add_in_place(const TensorPlan& t, const RdmaPlan& cube, const DpuPlan& dpu, Task& task) {
    const bool same = t.on && !t.per_channel && t.streams == 1 && t.addr[0] == dpu.dst && dpu.to_memory &&
                      t.element_bytes == element_bytes(dpu.out) && t.row_pitch == dpu.write_w + dpu.notch &&
                      (dpu.surfaces() == 1 || t.pitch * kAtom == dpu.surface_stride) && cube.width == dpu.write_w;
    if (same)
        task.in_place.push_back({t.addr[0], extent(t, cube, dpu.surfaces())});
}

Range surface(const DpuPlan& dpu) {
    const std::uint64_t pixels = dpu.pixels();
    if (dpu.order == DpuOrder::Transposed) // four runs, of which each takes half of its place
        return {dpu.dst, pixels * kTransposedChannels * 7 / 2};
    if (dpu.order == DpuOrder::Series) {
        const std::uint64_t units = pixels * dpu.channels / kSeriesChannels, last = units - 1;
        return {dpu.dst, last / dpu.surfaces_per_pass * dpu.pass_stride +
                             (last % dpu.surfaces_per_pass + 1) * kSeriesChannels * 4};
    }
    // A write DMA with as many pixels gives the surface another shape.
    const bool reshaped = std::uint64_t{dpu.write_w} * dpu.write_h == dpu.pixels();
    std::uint64_t size =
        reshaped ? plane(dpu.write_w, dpu.write_h, dpu.notch) : plane(dpu.width, dpu.height, dpu.notch);
    std::uint64_t last = 0; // the surface that lies furthest
    for (std::uint64_t s = 0; s < dpu.surfaces(); ++s)
        last = std::max(last,
                        s / dpu.surfaces_per_pass * dpu.pass_stride + s % dpu.surfaces_per_pass * dpu.surface_stride);
    return {dpu.dst, last + size};
}

} // namespace

void describe(const ConvPlan& c, Task& task) {
    std::string what = fmt::format("{} {} {}x{}, {}x{}x{} -> {}x{}x{}, stride {}x{}", name(c.precision),
                                   c.depthwise ? "depthwise convolution" : "convolution", c.kernel_w, c.kernel_h,
                                   c.width, c.height, c.pixel_channels ? c.pixel_channels : c.channels, c.out_w,
                                   c.out_h, c.depthwise ? c.channels : c.kernels, c.stride_x, c.stride_y);
    if (c.dilation_x != 1 || c.dilation_y != 1)
        what += fmt::format(", dilation {}x{}", c.dilation_x, c.dilation_y);
    if (c.pad_left || c.pad_top)
        what += fmt::format(", padding left {} top {}", c.pad_left, c.pad_top);
    if (c.pixel_channels)
        what += ", packed pixels";
    if (c.cvt_on)
        what += ", input converter";
    what += fmt::format("; features 0x{:08x}, {}weights 0x{:08x}", c.feature_addr, c.compressed.on ? "compressed " : "",
                        c.weight_addr);
    add(task, "CNA", what);
    add(task, "CORE",
        fmt::format("{} multiplications, {} cycles{}", c.outputs() * c.window() * c.kernels, c.mac_cycles(),
                    c.truncate ? fmt::format(", truncated by {}", c.truncate) : ""));
}

void describe(const DpuPlan& dpu, const RdmaPlan& rdma, Task& task) {
    if (task.op & kOpDpuRdma) {
        std::string what;
        const auto operands = [&](const char* of, const OperandPlan& p) {
            if (p.any())
                what += fmt::format(", {} operands ({}{}{}{} ) 0x{:08x}", of, p.alu ? " ALU" : "",
                                    p.cpend ? " CPEND" : "", p.mul ? " MUL" : "", p.shift ? " shift" : "", p.addr);
        };
        const auto tensor = [&](const char* of, const TensorPlan& t) {
            if (t.on)
                what += fmt::format(", {} {} 0x{:08x}", of,
                                    t.per_channel ? "per channel" : fmt::format("{}x{}", rdma.width, rdma.height),
                                    t.addr[0]);
        };
        operands("BS", rdma.bs);
        operands("BN", rdma.bn);
        tensor("main data", rdma.main);
        tensor("EW operand", rdma.ew);
        add(task, "DPU_RDMA", name(rdma.precision) + (what.empty() ? ", nothing to read" : what));
        add_in_place(rdma.main, rdma, dpu, task);
        add_in_place(rdma.ew, rdma, dpu, task);
    }
    std::string what = fmt::format("{}{}x{}x{} -> {}", dpu.flying ? "flying " : "", dpu.width, dpu.height, dpu.channels,
                                   name(dpu.out));
    what += stage("BS", dpu.bs) + stage("BN", dpu.bn) + elementwise(dpu.ew);
    if (dpu.to_memory) {
        const Range range = surface(dpu);
        what += fmt::format("; to 0x{:08x}, surface stride {}", dpu.dst, dpu.surface_stride);
        task.output.push_back({Stream::DpuOutput, range});
    }
    if (dpu.to_ppu)
        what += "; to PPU";
    add(task, "DPU", what);
}

void describe(const PoolPlan& p, bool from_memory, Task& task) {
    constexpr const char* kMethods[] = {"average", "max", "min"};
    if (from_memory)
        add(task, "PPU_RDMA",
            fmt::format("{} {}x{}x{} from 0x{:08x}", name(p.precision), p.in_w, p.in_h,
                        p.surfaces * channels_per_atom(p.precision), p.src));
    add(task, "PPU",
        fmt::format("{} {} pooling {}x{}, {}x{}x{} -> {}x{}, stride {}x{}; to 0x{:08x}, surface stride {}",
                    name(p.precision), kMethods[static_cast<unsigned>(p.method)], p.kernel_w, p.kernel_h, p.in_w,
                    p.in_h, p.surfaces * channels_per_atom(p.precision), p.out_w, p.out_h, p.stride_x, p.stride_y,
                    p.dst, p.dst_surface));
    const std::uint64_t size = (std::uint64_t{p.surfaces} - 1) * p.dst_surface + plane(p.out_w, p.out_h, p.dst_notch);
    task.output.push_back({Stream::PpuOutput, {p.dst, size}});
    if (p.positions)
        task.output.push_back({Stream::PpuOutput, {p.dst + p.positions_at, size}});
}

} // namespace npu::trace
