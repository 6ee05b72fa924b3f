// SPDX-License-Identifier: MIT
//
// What programs that run work on the NPU and compare it with the CPU's have in common: options, errors, exit status.
#pragma once

#include <rknpu/device.hpp>
#include <rknpu/result.hpp>

#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <string>

namespace program {

inline constexpr int kDone = 0, kDiffers = 1, kFailed = 2;

/// The option that names a device; what it leaves empty, too, open_device() understands.
inline void add_device(CLI::App& app, std::string& name) {
    app.add_option("--device", name,
                   "/dev/dri/renderD128, auto, sim:rk3588, ...; default: the first NPU, or $RKNPU_DEVICE");
}

inline rknpu::Result<rknpu::Device> open_device(const std::string& name) {
    return name.empty() ? rknpu::Device::open() : rknpu::Device::open(name);
}

/// Parses the options and calls `work`, which tells whether the NPU's results were right: a Result<bool>, or an
/// exception. Gives the exit status.
template <class Work>
int run(CLI::App& app, int argc, char** argv, Work work) {
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? kDone : kFailed;
    }
    try {
        const rknpu::Result<bool> right = work();
        if (right)
            return *right ? kDone : kDiffers;
        const std::string& message = right.error().message();
        std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(),
                     message.empty() ? right.error().code().message().c_str() : message.c_str());
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), error.what());
    }
    return kFailed;
}

} // namespace program
