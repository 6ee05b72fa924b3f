// SPDX-License-Identifier: MIT
#include "ops/pooling_task.hpp"

#include "ops/codes.hpp"

#include <rknpu/half.hpp>

namespace rknpu::detail {
namespace {

constexpr std::uint32_t kAverage = 0, kMaximum = 1;
constexpr std::uint32_t kFromMemory = 1; // of FLYING_MODE
constexpr std::uint32_t kBurst4 = 3;
constexpr std::uint32_t kReciprocalUnit = 65536;
constexpr std::uint32_t kHalfOfUnit = 0x7c00; // 2^16 where binary16 has infinity

// 65536 / side: a whole number, or the bits of a binary16 one.
std::uint32_t reciprocal(const PoolingTask& t, std::uint32_t side) {
    if (!t.average)
        return 0;
    if (t.half)
        return side == 1 ? kHalfOfUnit : to_half(static_cast<float>(kReciprocalUnit) / static_cast<float>(side)).bits;
    return (kReciprocalUnit + side / 2) / side;
}

void write_ppu(CommandList& list, const PoolingTask& t) {
    using namespace reg::ppu;
    const std::int64_t one = 1;
    list.write(DATA_CUBE_IN_WIDTH{}.cube_in_width(t.in_width - one))
        .write(DATA_CUBE_IN_HEIGHT{}.cube_in_height(t.in_height - one))
        .write(DATA_CUBE_IN_CHANNEL{}.cube_in_channel(t.channels - one))
        .write(DATA_CUBE_OUT_WIDTH{}.cube_out_width(t.out_width - one))
        .write(DATA_CUBE_OUT_HEIGHT{}.cube_out_height(t.out_height - one))
        .write(DATA_CUBE_OUT_CHANNEL{}.cube_out_channel(t.channels - one))
        .write(OPERATION_MODE_CFG{}
                   .notch_addr(t.out_row_gap)
                   .flying_mode(kFromMemory)
                   .pooling_method(t.average ? kAverage : kMaximum))
        .write(POOLING_KERNEL_CFG{}
                   .kernel_stride_height(t.stride_y - one)
                   .kernel_stride_width(t.stride_x - one)
                   .kernel_height(t.kernel_height - one)
                   .kernel_width(t.kernel_width - one))
        .write(RECIP_KERNEL_WIDTH{}.recip_kernel_width(reciprocal(t, t.kernel_width)))
        .write(RECIP_KERNEL_HEIGHT{}.recip_kernel_height(reciprocal(t, t.kernel_height)))
        .write(POOLING_PADDING_CFG{}
                   .pad_bottom(t.pad_bottom)
                   .pad_right(t.pad_right)
                   .pad_top(t.pad_top)
                   .pad_left(t.pad_left))
        .write(PADDING_VALUE_1_CFG{}.pad_value_0(t.pad_value))
        .write(PADDING_VALUE_2_CFG{}.pad_value_1(t.pad_value < 0 ? 7 : 0)) // the sign goes on
        .write(DST_BASE_ADDR{}.dst_base_addr(t.out_address / kRegisterAtom))
        .write(DST_SURF_STRIDE{}.dst_surf_stride(t.out_surface_stride / kRegisterAtom))
        .write(DATA_FORMAT{}.index_add(t.out_surface_stride / kRegisterAtom).proc_precision(t.half ? kFp16 : kInt8))
        .write(MISC_CTRL{}.burst_len(kBurst4));
}

void write_ppu_rdma(CommandList& list, const PoolingTask& t) {
    using namespace reg::ppu_rdma;
    const std::int64_t one = 1;
    list.write(CUBE_IN_WIDTH{}.cube_in_width(t.in_width - one))
        .write(CUBE_IN_HEIGHT{}.cube_in_height(t.in_height - one))
        .write(CUBE_IN_CHANNEL{}.cube_in_channel(t.channels - one))
        .write(SRC_BASE_ADDR{}.src_base_addr(t.in_address))
        .write(SRC_LINE_STRIDE{}.src_line_stride(t.in_line_stride / kRegisterAtom))
        .write(SRC_SURF_STRIDE{}.src_surf_stride(t.in_surface_stride / kRegisterAtom))
        .write(DATA_FORMAT{}.in_precision(t.half ? kBytes2 : kBytes1));
}

} // namespace

CommandList command_list(const PoolingTask& task) {
    CommandList list;
    list.write(ping_pong<reg::ppu::S_POINTER>()).write(ping_pong<reg::ppu_rdma::S_POINTER>());
    write_ppu(list, task);
    write_ppu_rdma(list, task);
    list.start(Block::Ppu | Block::PpuRdma);
    return list;
}

} // namespace rknpu::detail
