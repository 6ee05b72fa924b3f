// SPDX-License-Identifier: MIT
//
// rknpu-classify: handwritten digits through a network on the NPU, and each result compared with the CPU's.
#include "npu.hpp"
#include "pictures.hpp"
#include "reference.hpp"

#include <program.hpp>

#include <array>
#include <cstdio>
#include <string>

namespace {

struct Options {
    std::string images, device;
    unsigned cores = 0;
};

rknpu::CoreMask mask_of(unsigned bits) {
    rknpu::CoreMask mask;
    for (const auto core : {rknpu::Core::Core0, rknpu::Core::Core1, rknpu::Core::Core2}) {
        if (bits & static_cast<unsigned>(core))
            mask |= core;
    }
    return mask;
}

rknpu::Result<bool> run(const Options& options) {
    const auto pictures = classify::load_pictures(options.images);
    const auto device = program::open_device(options.device);
    if (!device)
        return device.error();
    const classify::Network& network = classify::network();
    auto npu = classify::NpuNetwork::create(*device, network);
    if (!npu)
        return std::move(npu).error();

    std::array<unsigned, classify::kDigits> found{};
    std::size_t equal = 0;
    for (const auto& picture : pictures) {
        const auto scores = npu->run(picture, mask_of(options.cores));
        if (!scores)
            return scores.error();
        ++found[classify::digit_of(*scores)];
        equal += *scores == classify::reference::run(network, picture); // all ten scores, not the digit alone
    }
    for (unsigned digit = 0; digit < classify::kDigits; ++digit)
        std::printf("digit %u: %u images\n", digit, found[digit]);
    std::printf("classify: %zu images, %zu equal to the reference\n", pictures.size(), equal);
    return equal == pictures.size();
}

} // namespace

int main(int argc, char** argv) {
    CLI::App app("Classifies handwritten digits on the NPU and compares each result with the CPU's.\n"
                 "Exit status: 0 all equal, 1 some differ, 2 something failed.",
                 "rknpu-classify");
    Options options;
    app.add_option("--images", options.images, "folder of PGM files, 8 pixels wide, one below the other")->required();
    program::add_device(app, options.device);
    app.add_option("--cores", options.cores, "mask: 0 any one core (default), 1, 2, 4 this one, 3 or 7 share the work")
        ->check(CLI::IsMember({0, 1, 2, 3, 4, 7}));
    return program::run(app, argc, argv, [&options] { return run(options); });
}
