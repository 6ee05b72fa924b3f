// SPDX-License-Identifier: MIT
//
// Names for what observers see.
#include <cstdio>
#include <cstring>
#include <span>

#include "gen/registers.hpp"
#include "task.hpp"
#include "vnpu/trace.hpp"

namespace npu::trace {
namespace {

struct BlockTable {
    std::span<const reg::Info> registers;
    std::span<const reg::Field> fields;
};

BlockTable block_table(std::uint32_t offset, int mmu_bank) {
    if (mmu_bank >= 0)
        return {reg::mmu::table, reg::mmu::fields};
    switch (offset >> 12) {
    case 0x0:
        return {reg::pc::table, reg::pc::fields};
    case 0x1:
        return {reg::cna::table, reg::cna::fields};
    case 0x3:
        return {reg::core::table, reg::core::fields};
    case 0x4:
        return {reg::dpu::table, reg::dpu::fields};
    case 0x5:
        return {reg::dpu_rdma::table, reg::dpu_rdma::fields};
    case 0x6:
        return {reg::ppu::table, reg::ppu::fields};
    case 0x7:
        return {reg::ppu_rdma::table, reg::ppu_rdma::fields};
    case 0x8:
        return {reg::ddma::table, reg::ddma::fields};
    case 0x9:
        return {reg::sdma::table, reg::sdma::fields};
    case 0xf:
        return {reg::global::table, reg::global::fields};
    default:
        return {};
    }
}

// What follows the last dot of "CNA.CONV_CON1.DECONV".
const char* last_part(const char* name) {
    const char* dot = std::strrchr(name, '.');
    return dot ? dot + 1 : name;
}

} // namespace

std::string register_name(std::uint32_t offset, int mmu_bank) {
    for (const reg::Info& info : block_table(offset, mmu_bank).registers)
        if (info.offset == offset)
            return mmu_bank < 0 ? info.name : "MMU" + std::to_string(mmu_bank) + "." + last_part(info.name);
    char text[16];
    std::snprintf(text, sizeof(text), "0x%04x", offset);
    return text;
}

std::vector<FieldValue> fields(const RegisterWrite& write, bool all) {
    std::vector<FieldValue> values;
    std::uint32_t rest = write.value;
    for (const reg::Field& f : block_table(write.offset, write.mmu_bank).fields)
        if (f.offset == write.offset) {
            rest &= ~f.mask();
            if (all || f.get(write.value))
                values.push_back({last_part(f.name), f.get(write.value)});
        }
    if (rest)
        values.push_back({"(reserved)", rest});
    return values;
}

std::string interrupt_names(std::uint32_t status) {
    std::string text;
    for (const reg::Field& f : reg::pc::fields)
        if (f.offset == reg::pc::INTERRUPT_STATUS::offset && f.get(status))
            (text += text.empty() ? "" : " ") += last_part(f.name);
    return text;
}

const char* stream_name(Stream stream) {
    constexpr const char* kNames[kStreams] = {"features", "weights", "operands", "DPU output", "PPU output"};
    return kNames[static_cast<unsigned>(stream)];
}

const char* kind_name(FindingKind kind) {
    constexpr const char* kNames[] = {"unset-register", "overlap", "outside-surface", "note", "misuse", "refusal"};
    return kNames[static_cast<unsigned>(kind)];
}

Moved moved(const char* block, const Task& task, const std::vector<Transfer>& transfers) {
    const char* operands = task.op & kOpPpuRdma ? "PPU_RDMA" : "DPU_RDMA";
    const char* const kBlockOf[kStreams] = {"CNA", "CNA", operands, "DPU", "PPU"};
    Moved sum;
    for (const Transfer& t : transfers) {
        if (std::strcmp(kBlockOf[static_cast<unsigned>(t.stream)], block) != 0)
            continue;
        const bool output = t.stream == Stream::DpuOutput || t.stream == Stream::PpuOutput;
        (output ? sum.written : sum.read) += t.len;
    }
    return sum;
}

} // namespace npu::trace
