// SPDX-License-Identifier: MIT
//
// rknpu-demo: a picture goes through the NPU, and every value that comes out is compared with the CPU's.
#include "frame.hpp"
#include "picture.hpp"
#include "report.hpp"
#include "work.hpp"

#include <program.hpp>

#include <cstdio>
#include <string>
#include <vector>

namespace {

struct Options {
    std::string device, image, out = ".";
};

rknpu::Result<bool> run(const Options& options) {
    const auto picture = demo::load_picture(options.image);
    if (!picture)
        return picture.error();
    const auto device = program::open_device(options.device);
    if (!device)
        return device.error();
    demo::print_device(*device);

    const auto frame = demo::make_frame(*device, *picture);
    if (!frame)
        return frame.error();
    std::printf("frame: %u x %u pixels in memory of %s\n", picture->width, picture->height, frame->origin);

    std::vector<demo::Operation> done;
    if (const auto r = demo::filter_picture(*device, *picture, *frame, options.out, done); !r)
        return r.error();
    if (const auto r = demo::multiply_matrices(*device, *picture, done); !r)
        return r.error();
    demo::print_load();
    return demo::print_table(done) == 0;
}

} // namespace

int main(int argc, char** argv) {
    CLI::App app("Takes a picture through the NPU and compares every value that comes out with the CPU's.\n"
                 "Exit status: 0 no mismatch, 1 mismatches, 2 something failed.",
                 "rknpu-demo");
    Options options;
    app.add_option("--image", options.image, "picture, a binary PPM")->required();
    program::add_device(app, options.device);
    app.add_option("--out", options.out, "folder where the result pictures go (default: .)");
    return program::run(app, argc, argv, [&options] { return run(options); });
}
