// SPDX-License-Identifier: MIT
#include "backend/sim_loader.hpp"

#include "base/format.hpp"

#include <string>

#include <dlfcn.h>

namespace rknpu::detail {
namespace {

// First beside what this code is part of, the library or a program, or where such a program's libraries are installed;
// then where the system looks.
void* load() {
    constexpr int kMode = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
    static const char kHere = 0;
    Dl_info self;
    if (::dladdr(&kHere, &self) && self.dli_fname) {
        const std::string path = self.dli_fname;
        if (const auto slash = path.rfind('/'); slash != std::string::npos) {
            for (const char* const folder : {"", "../" RKNPU_LIBDIR "/"})
                if (void* const library =
                        ::dlopen((path.substr(0, slash + 1) + folder + RKNPU_SIM_LIBRARY).c_str(), kMode))
                    return library;
        }
    }
    return ::dlopen(RKNPU_SIM_LIBRARY, kMode);
}

} // namespace

Result<BackendPtr> open_simulator(const std::string& soc) {
    // Never unloaded before the process ends: a library with static objects can't be taken out safely, and it costs
    // nothing to find it loaded the next time.
    void* const library = load();
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
