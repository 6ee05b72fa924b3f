// SPDX-License-Identifier: MIT
//
// rknpu-demo: a picture goes through the NPU, and every value that comes out is compared with the CPU's.
#include "frame.hpp"
#include "picture.hpp"
#include "report.hpp"
#include "work.hpp"

#include <rknpu/device.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <getopt.h>

namespace {

constexpr int kFailed = 2, kUsage = 64;

void print_usage(std::FILE* to) {
    std::fputs("usage: rknpu-demo --image FILE [--device NAME] [--out FOLDER]\n"
               "\n"
               "  --image FILE    picture, a binary PPM\n"
               "  --device NAME   /dev/dri/renderD128, sim, ...; default: the first NPU, or $RKNPU_DEVICE\n"
               "  --out FOLDER    where the result pictures go (default: .)\n"
               "\n"
               "exit status: 0 no mismatch, 1 mismatches, 2 something failed, 64 wrong usage\n",
               to);
}

struct Options {
    std::string device, image, out = ".";
};

Options parse(int argc, char** argv) {
    const option kOptions[] = {{"device", required_argument, nullptr, 'd'},
                               {"image", required_argument, nullptr, 'i'},
                               {"out", required_argument, nullptr, 'o'},
                               {"help", no_argument, nullptr, 'h'},
                               {}};
    Options options;
    for (int c; (c = ::getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) {
        switch (c) {
        case 'd':
            options.device = optarg;
            break;
        case 'i':
            options.image = optarg;
            break;
        case 'o':
            options.out = optarg;
            break;
        case 'h':
            print_usage(stdout);
            std::exit(0);
        default:
            print_usage(stderr);
            std::exit(kUsage);
        }
    }
    if (optind != argc || options.image.empty()) {
        print_usage(stderr);
        std::exit(kUsage);
    }
    return options;
}

int failed(const rknpu::Error& error) {
    std::fprintf(stderr, "rknpu-demo: %s\n",
                 error.message().empty() ? error.code().message().c_str() : error.message().c_str());
    return kFailed;
}

} // namespace

int main(int argc, char** argv) {
    const Options options = parse(argc, argv);
    const auto picture = demo::load_picture(options.image);
    if (!picture)
        return failed(picture.error());
    const auto device = options.device.empty() ? rknpu::Device::open() : rknpu::Device::open(options.device);
    if (!device)
        return failed(device.error());
    demo::print_device(*device);

    const auto frame = demo::make_frame(*device, *picture);
    if (!frame)
        return failed(frame.error());
    std::printf("frame: %u x %u pixels in memory of %s\n", picture->width, picture->height, frame->origin);

    std::vector<demo::Operation> done;
    if (const auto r = demo::filter_picture(*device, *picture, *frame, options.out, done); !r)
        return failed(r.error());
    if (const auto r = demo::multiply_matrices(*device, *picture, done); !r)
        return failed(r.error());
    demo::print_load();
    return demo::print_table(done) == 0 ? 0 : 1;
}
