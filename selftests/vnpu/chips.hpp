// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace board {

/*
 * What a driver knows about a chip. Written from the published tables of drivers and device trees, not from the model.
 */
struct Chip {
    struct Core {
        std::uint64_t base;
        unsigned irq;
        std::vector<std::uint32_t> mmu; // banks
        std::vector<unsigned> resets;
    };
    const char* name;
    std::vector<Core> cores;
    std::uint64_t window, reset, control;
    unsigned fetch_unit;       // list entries per unit of REGISTER_AMOUNTS
    unsigned task_bits;        // of the task number
    std::uint32_t task_status; // offset
    bool slave_mode_to_clear;  // counters are cleared with PC_DATA_ADDR = 1
    bool state_init;
    unsigned mmu_version; // 0: none
    struct Counters {
        std::uint32_t clear, written, read, weights; // offsets; clear 0: none
    } top, core;
    std::uint64_t memory_base, memory_size; // on-chip memory: SRAM, NBUF and what lies between
    std::uint32_t version;
    // Layouts of data in memory.
    unsigned feature_atom;  // bytes
    unsigned kernel_group;  // kernels of a group of int8 weights, twice those of fp16
    unsigned channels_fp16; // channels of a group of fp16 weights
    // How much of the arithmetic is known, and so modelled; each has all before it.
    enum class Known { Int8To32Bits, ConvolutionTo32Bits, PlainWeights, Everything } known;
};

std::span<const Chip> chips();
const Chip& chip(std::string_view name);

// The chip of boards that name none. Default: rk3588.
const Chip& default_chip();
void set_default_chip(const Chip& chip);

} // namespace board
