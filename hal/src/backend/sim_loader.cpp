// SPDX-License-Identifier: MIT
#include "backend/sim_loader.hpp"

#include "base/format.hpp"

#include <dlfcn.h>

namespace rknpu::detail {

Result<BackendPtr> open_simulator(const std::string& soc) {
    // Never unloaded before the process ends: a library with static objects can't be taken out safely, and it costs
    // nothing to find it loaded the next time.
    void* const library = ::dlopen(RKNPU_SIM_LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        return Error(Errc::NotFound, format("the simulator can't be loaded: %s; install it beside librknpu, or set "
                                            "LD_LIBRARY_PATH",
                                            ::dlerror()));
    const auto* const entry = static_cast<const SimEntry*>(::dlsym(library, kSimEntryName));
    if (!entry || entry->version != kSimVersion)
        return Error(Errc::NotFound, RKNPU_SIM_LIBRARY " is of another version; install one of the same build");

    char error[256] = {};
    Backend* const backend = entry->create(soc.c_str(), error, sizeof(error));
    if (!backend)
        return Error(Errc::Unsupported, format("the simulator has no \"%s\": %s", soc.c_str(), error));
    return BackendPtr(backend, entry->destroy);
}

} // namespace rknpu::detail
