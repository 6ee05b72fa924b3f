// SPDX-License-Identifier: MIT
#include "soc_desc.hpp"

namespace npu {
namespace {

// Offsets of MMU banks.
constexpr std::uint16_t kRk3588FirstBanks[] = {0x9000, 0xa000};
constexpr std::uint16_t kBankA000[] = {0xa000};
constexpr std::uint16_t kBankB000[] = {0xb000};
constexpr std::uint16_t kBank2000[] = {0x2000};
constexpr std::uint16_t kRk3576Banks[] = {0x2000, 0x2100};

// Reset lines, in the numbering of the SoC's device-tree binding.
constexpr unsigned kRk3588Axi0[] = {272}, kRk3588Ahb0[] = {274};
constexpr unsigned kRk3588Axi1[] = {250}, kRk3588Ahb1[] = {252};
constexpr unsigned kRk3588Axi2[] = {254}, kRk3588Ahb2[] = {256};
constexpr unsigned kRk3576Axi0[] = {205, 219}, kRk3576Axi1[] = {208, 219}, kRk3576Ahb[] = {228}; // 219, 228: CBUF
constexpr unsigned kRk3562Axi[] = {20}, kRk3562Ahb[] = {21};
constexpr unsigned kRv1126bAxi[] = {288}, kRv1126bAhb[] = {287};
constexpr unsigned kFirstAxi[] = {0}, kFirstAhb[] = {1}; // numbers of our own

// Of the whole NPU, of core 0 ("NPUTOP"), of cores 1 and 2.
constexpr PowerDomain kRk3588Power[] = {
    {1u << 1, 1u << 1, 0, 0, 0},
    {1u << 3, 0, 1u << 2, 1u << 11, 1u << 1},
    {1u << 4, 0, 1u << 3, 1u << 12, 1u << 2},
    {1u << 5, 0, 1u << 4, 1u << 13, 1u << 3},
};

constexpr OperatingPoint kRk3588Points[] = {
    {600'000'000, 700'000}, {700'000'000, 725'000},   {800'000'000, 750'000},
    {900'000'000, 800'000}, {1'000'000'000, 850'000},
};

constexpr std::uint64_t kMHz = 1'000'000;

// The mailbox and its interrupt are of no SoC: there one calls the firmware. The memory is that of the SoCs.
constexpr FirmwareDesc firmware(std::uint64_t mailbox, unsigned clock_id, const ClockDesc& clock) {
    return {.mailbox = mailbox, .irq = 60, .shared = {0x10f000, 0x100}, .clock_id = clock_id, .clock = clock};
}

constexpr CoreDesc kRk3588Cores[] = {
    {0xfdab0000, 110, kRk3588FirstBanks, kRk3588Axi0, kRk3588Ahb0, false},
    {0xfdac0000, 111, kBankA000, kRk3588Axi1, kRk3588Ahb1, true},
    {0xfdad0000, 112, kBankA000, kRk3588Axi2, kRk3588Ahb2, true},
};
constexpr CoreDesc kRk3576Cores[] = {
    {0x27700000, 247, kRk3576Banks, kRk3576Axi0, kRk3576Ahb, false},
    {0x27708000, 248, kRk3576Banks, kRk3576Axi1, kRk3576Ahb, false},
};
constexpr CoreDesc kRk3568Cores[] = {{0xfde40000, 151, kBankB000, kFirstAxi, kFirstAhb, true}};
constexpr CoreDesc kRk3562Cores[] = {{0xff300000, 119, kBankA000, kRk3562Axi, kRk3562Ahb, true}};
constexpr CoreDesc kRv1106Cores[] = {{0xff660000, 109, {}, kFirstAxi, kFirstAhb, true}};
constexpr CoreDesc kRv1126bCores[] = {{0x22000000, 144, kBank2000, kRv1126bAxi, kRv1126bAhb, false}};

constexpr PcDesc kPc12{.task_number_bits = 12, .task_status = 0x3c};
constexpr PcDesc kPc16{.task_number_bits = 16, .task_status = 0x48, .dma_ctrl = true};

// The cores that are not there are cut off the same die, and their power domains stay.
constexpr SocDesc rk3588(const char* name, std::size_t cores, const FuseDesc& fuses = {}) {
    return {
        .name = name,
        .cores = std::span(kRk3588Cores).first(cores),
        .core_window = 0x10000,
        .reset_base = 0xfd7c0000,
        .control_base = 0xfdae0000,
        .sram = {0xff001000, 0xef000},
        .nbuf = {},
        .priority = {},
        .default_hz = 200'000'000,
        .version = 0x46495245,
        .version_num = 0,
        .mmu = {},
        .pc = kPc12,
        .amounts = {},
        .layout = {},
        .power = {0xfd8d8000, kRk3588Power},
        .firmware = firmware(0xfdae1000, 6,
                             {.min = 100 * kMHz,
                              .max = 1000 * kMHz,
                              .step = kMHz,
                              .max_off = 200 * kMHz,
                              .supply_min = 550'000,
                              .supply_max = 950'000,
                              .supply_step = 6250,
                              .points = kRk3588Points}),
        .fuses = fuses,
    };
}

constexpr SocDesc kSocs[] = {
    rk3588("rk3588", 3),
    rk3588("rk3583", 2, {.base = 0xfecc0000, .address = 0xc30, .bad_cores = 1u << 2}),
    {
        .name = "rk3576",
        .cores = kRk3576Cores,
        .core_window = 0x8000,
        .reset_base = 0x27200000,
        .control_base = 0x27710000,
        .sram = {0x3ff88000, 0x78000},
        .nbuf = {0x3fe80000, 0x100000},
        .priority = {},
        .default_hz = 198'000'000,
        .version = 0,
        .version_num = 0,
        .mmu = {},
        .pc = kPc16,
        .amounts = {.top = 0x2210, .core = 0x2410},
        .layout = {},
        .state_init = true,
    },
    {
        .name = "rk3568",
        .cores = kRk3568Cores,
        .core_window = 0x10000,
        .reset_base = 0xfdd20000,
        .control_base = 0xfde50000,
        .sram = {},
        .nbuf = {},
        .priority = {0xfe180008, 0x10},
        .default_hz = 600'000'000,
        .version = 0,
        .version_num = 0,
        .mmu = {.version = MmuVersion::V1, .bank_size = 0x40, .auto_gating = 3, .gating_erratum = true},
        .pc = {.fetch_unit = 1},
        .amounts = {.top = 0x8010},
        .layout =
            {.feature_atom = 8, .kernels_int8 = 16, .channels_fp16 = 16, .plain_only = true, .wide_output_only = true},
    },
    {
        .name = "rk3562",
        .cores = kRk3562Cores,
        .core_window = 0x10000,
        .reset_base = 0xff100000,
        .control_base = 0xff310000,
        .sram = {},
        .nbuf = {0xfe400000, 0x40000},
        .priority = {},
        .default_hz = 600'000'000,
        .version = 0,
        .version_num = 0,
        .mmu = {.bank_size = 0x40},
        .pc = kPc16,
        .amounts = {.top = 0x8010},
        .layout = {.kernels_int8 = 16, .plain_only = true},
    },
    {
        .name = "rv1106",
        .cores = kRv1106Cores,
        .core_window = 0x10000,
        .reset_base = 0xff3a0000,
        .control_base = 0xff670000,
        .sram = {},
        .nbuf = {},
        .priority = {},
        .default_hz = 420'000'000,
        .version = 0x54524548,
        .version_num = 0,
        .mmu = {},
        .pc = {.task_number_bits = 16},
        .amounts = {.top = 0x8010},
        .layout = {.kernels_int8 = 16, .plain_only = true, .other_encodings = true},
    },
    {
        .name = "rv1126b",
        .cores = kRv1126bCores,
        .core_window = 0x8000,
        .reset_base = 0x20000000,
        .control_base = 0x22010000,
        .sram = {},
        .nbuf = {0x3ff30000, 0x80000},
        .priority = {},
        .default_hz = 600'000'000,
        .version = 0,
        .version_num = 0,
        .mmu = {},
        .pc = kPc16,
        .amounts = {.top = 0x2210},
        .layout = {},
    },
};

} // namespace

const SocDesc* find_soc(std::string_view name) {
    for (const SocDesc& soc : kSocs)
        if (name == soc.name)
            return &soc;
    return nullptr;
}

std::string soc_names() {
    std::string names;
    for (const SocDesc& soc : kSocs)
        names += (names.empty() ? "" : ", ") + std::string(soc.name);
    return names;
}

} // namespace npu
