// SPDX-License-Identifier: MIT
//
// The C border: no exception crosses it.
#include <cstdio>
#include <exception>
#include <memory>
#include <string>

#include "soc.hpp"
#include "trace_file.hpp"
#include "vnpu/vnpu.h"

struct vnpu {
    npu::Soc soc;
    std::unique_ptr<npu::trace::File> trace; // VNPU_TRACE
};

namespace {

vnpu* create(const char* name, const vnpu_host_ops* ops, void* opaque, char* error, size_t error_len) {
    const auto fail = [=](const char* why) -> vnpu* {
        if (error && error_len > 0)
            std::snprintf(error, error_len, "%s", why);
        return nullptr;
    };
    try {
        const npu::SocDesc* desc = name ? npu::find_soc(name) : nullptr;
        if (!desc)
            return fail(("unknown SoC (known: " + npu::soc_names() + ")").c_str());
        if (!ops || !ops->read || !ops->write || !ops->irq || !ops->wake)
            return fail("read, write, irq and wake of vnpu_host_ops are required");
        auto trace = npu::trace::File::from_environment();
        auto* npu = new vnpu{npu::Soc(*desc, *ops, opaque), std::move(trace)};
        if (npu->trace)
            npu->trace->attach(npu->soc);
        return npu;
    } catch (const npu::trace::CantOpen& e) {
        return fail(e.what());
    } catch (const std::exception&) {
        return fail("out of memory");
    }
}

void destroy(vnpu* npu) {
    if (npu)
        npu->soc.tell_counters();
    delete npu;
}
const vnpu_info* info(const vnpu* npu) {
    return &npu->soc.info();
}
uint32_t mmio_read(vnpu* npu, uint64_t addr) {
    return npu->soc.mmio_read(addr);
}
void mmio_write(vnpu* npu, uint64_t addr, uint32_t value) {
    npu->soc.mmio_write(addr, value);
}
void advance(vnpu* npu, uint64_t cycle) {
    npu->soc.advance(cycle);
}
void set_fault(vnpu* npu, unsigned core, uint32_t mask, uint32_t param) {
    npu->soc.set_fault(core, mask, param);
}
void power_on_reset(vnpu* npu) {
    npu->soc.power_on_reset();
}

constexpr vnpu_api kApi = {VNPU_ABI_VERSION, create,  destroy,   info,          mmio_read,
                           mmio_write,       advance, set_fault, power_on_reset};

} // namespace

void npu::trace::observe(vnpu* npu, Observer& observer) {
    npu->soc.add_observer(observer);
}

extern "C" [[gnu::visibility("default")]] const vnpu_api* vnpu_get_api(uint32_t abi_version) {
    return abi_version == VNPU_ABI_VERSION ? &kApi : nullptr;
}
