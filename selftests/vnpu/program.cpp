// SPDX-License-Identifier: MIT
#include "program.hpp"

#include "board.hpp"

namespace board {

std::uint32_t Conv::out_element() const {
    switch (output) {
    case Output::Int8:
        return 1;
    case Output::Int16:
    case Output::Fp16:
        return 2;
    default:
        return 4;
    }
}

std::uint32_t Conv::result_bytes() const {
    const std::uint32_t c2 = 16 / out_element();
    return (out_channels() + c2 - 1) / c2 * 16 * ow * oh;
}

std::map<std::uint16_t, std::uint32_t> Conv::registers() const {
    const std::uint32_t precision = fp16 ? 2 : 0, kernel_bytes = kw * kh * c * element();
    const std::uint32_t weight_kernels = depthwise ? 1 : kernels, total = rows_total ? rows_total : h;
    const std::uint32_t passes = (out_channels() + pass_channels() - 1) / pass_channels();
    const std::uint32_t aligned = passes * pass_channels(), surfaces = pass_surfaces();
    const std::uint32_t pixels = ow * oh;
    const std::uint32_t out_code[] = {0, 1, 4, 2, 5};

    std::map<std::uint16_t, std::uint32_t> r;
    r[0x100c] = (input == Input::Planar ? 0 : 1u << 29) | precision << 7 | precision << 4 | (depthwise ? 3 : 0);
    r[0x1010] = (sy + kh + 1) << 4;
    r[0x1014] = (dy - 1) << 21 | (dx - 1) << 16 | sy << 3 | sx;
    r[0x1020] = w << 16 | h;
    r[0x1024] = (c - 1) << 16 | c;
    r[0x1028] = ow;
    r[0x102c] = pixels;
    r[0x1030] = kernel_bytes * weight_kernels;
    r[0x1034] = kernel_bytes;
    r[0x1038] = kw << 24 | kh << 16 | weight_kernels;
    r[0x1040] = 0xb1;
    r[0x1044] = (w * c * element() + 127) / 128;
    r[0x104c] = 0xb;
    for (std::uint16_t at : {0x1050, 0x1054, 0x1058, 0x105c})
        r[at] = 0x10000;
    r[0x1060] = r[0x1064] = 0;
    r[0x1068] = pad_left << 4 | pad_top;
    r[0x1070] = features;
    r[0x1074] = 0;
    r[0x1078] = 0xf000f;
    switch (input) {
    case Input::Planar: // pitch of a group of four rows; what is missing to the next surface
        r[0x107c] = 4 * w;
        r[0x1080] = (w * total - 4 * w) & 0x0fffffff;
        break;
    case Input::PlanarRows:
        r[0x107c] = w;
        r[0x1080] = w * total - w;
        break;
    case Input::RowMajor: // one column, a row of c elements for each y
        r[0x107c] = c * element() / 16;
        r[0x1080] = 0;
        break;
    }
    r[0x1084] = w << 16 | h;
    r[0x1088] = c;
    r[0x1100] = r[0x1104] = 0;
    r[0x1110] = weights;
    for (std::uint16_t at = 0x1140; at <= 0x117c; at = static_cast<std::uint16_t>(at + 4))
        r[at] = 0;
    r[0x1180] = 0;
    r[0x1184] = pad_value;

    r[0x3010] = precision << 8 | (depthwise ? 2 : 0);
    r[0x3014] = (oh - 1) << 16 | (ow - 1);
    r[0x3018] = aligned - 1;
    r[0x301c] = 0;
    r[0x3030] = 0;

    r[0x400c] = 0x1e4 | (depthwise ? 0x18 : 0);
    r[0x4010] = out_code[static_cast<int>(output)] << 29 | precision << 26 | precision;
    r[0x4014] = 0;
    r[0x4020] = result;
    r[0x4024] = row_major_out ? 0x10 : 16 * pixels;
    r[0x4030] = ow - 1;
    r[0x4034] = oh - 1;
    const std::uint32_t notch = row_major_out ? out_channels() * out_element() / 16 - 1 : 0;
    r[0x4038] = notch << 16 | notch;
    r[0x403c] = (out_channels() - 1) << 16 | (aligned - 1);
    r[0x4040] = 0x53;
    r[0x4044] = r[0x4048] = r[0x404c] = 0;
    const std::uint32_t e = surfaces - 1;
    r[0x4050] = e << 8 | e << 5 | e << 2 | 2;
    r[0x4054] = 0;
    r[0x4058] = aligned - 1;
    r[0x405c] = (oh - 1) << 16 | (ow - 1);
    r[0x4060] = 0x53;
    r[0x4064] = r[0x4068] = r[0x406c] = 0;
    r[0x4070] = 0x383;
    r[0x4074] = 0;
    r[0x4078] = 1;
    r[0x407c] = 0;
    r[0x4080] = 0;
    r[0x4084] = output == Output::Fp16 ? 0x10001 : 1;
    r[0x4088] = 0;
    for (std::uint16_t at = 0x4090; at <= 0x40ac; at = static_cast<std::uint16_t>(at + 4))
        r[at] = 0;
    r[0x40c0] = row_major_out ? surfaces * 16 : surfaces * 16 * pixels;
    r[0x40c4] = 0;
    for (std::uint16_t at = 0x4100; at <= 0x412c; at = static_cast<std::uint16_t>(at + 4))
        r[at] = 0;
    return r;
}

std::map<std::uint16_t, std::uint32_t> Flying::registers() const {
    return {{0x400c, 0x1e5},
            {0x4010, out << 29 | in << 26 | proc},
            {0x4020, result},
            {0x4024, 16 * w * h},
            {0x4030, w - 1},
            {0x4034, h - 1},
            {0x403c, (channels - 1) << 16 | (aligned - 1)},
            {0x4040, 0x53},
            {0x4050, 2},
            {0x4058, aligned - 1},
            {0x405c, (h - 1) << 16 | (w - 1)},
            {0x4060, 0x53},
            {0x4070, 0x383},
            {0x4084, 1},
            {0x40c0, 16 * w * h},
            {0x500c, w - 1},
            {0x5010, h - 1},
            {0x5014, aligned - 1},
            {0x5018, features},
            {0x5034, 1},
            {0x5044, in << 15 | proc << 5 | 0x7801}};
}

std::vector<std::uint64_t> list(const std::map<std::uint16_t, std::uint32_t>& registers, std::uint32_t enable,
                                std::uint32_t next, std::uint32_t next_amount) {
    std::vector<std::uint64_t> entries;
    for (std::uint16_t block : {4, 5, 6, 7})
        if (enable & 1u << (block - 1))
            entries.push_back(reg(static_cast<std::uint16_t>(block << 12 | 4), 0xe));
    for (const auto& [offset, value] : registers)
        entries.push_back(reg(offset, value));
    for (std::uint64_t entry : tail(next, next_amount, enable))
        entries.push_back(entry);
    return entries;
}

} // namespace board
