// SPDX-License-Identifier: MIT
//
// rknpu-camera: frames of a camera through the NPU, without a copy, and the last result as a picture.
#include "camera.hpp"
#include "pipeline.hpp"

#include <program.hpp>

#include <cstdio>
#include <string>

namespace {

constexpr std::uint32_t kLanes = 4; // frames that camera and NPU work on at the same time

struct Options {
    std::string video = "/dev/video0", device, out;
    camera::Format format;
    std::size_t frames = 30;
    bool check = false;
};

void print(const camera::Counters& counters, const rknpu::ImageDescriptor& layout) {
    std::printf("camera: %zu frames of %u x %u, %zu in-fences, %zu out-fences\n", counters.frames, layout.width,
                layout.height, counters.in_fences, counters.out_fences);
    std::printf("camera: the CPU accessed %llu bytes of frames and %llu bytes of results, %zu dma-bufs are mapped\n",
                static_cast<unsigned long long>(counters.frame_bytes),
                static_cast<unsigned long long>(counters.result_bytes), counters.mapped);
    if (counters.checked != 0)
        std::printf("camera: %zu values checked, %zu mismatches\n", counters.checked, counters.mismatches);
}

rknpu::Result<bool> run(const Options& options) {
    const auto device = program::open_device(options.device);
    if (!device)
        return device.error();
    auto source = camera::Camera::open(options.video, options.format, kLanes);
    if (!source)
        return std::move(source).error();
    auto pipeline = camera::Pipeline::create(*device, *source);
    if (!pipeline)
        return std::move(pipeline).error();
    const auto counters = pipeline->run(options.frames, options.check);
    if (!counters)
        return counters.error();
    print(*counters, source->layout());
    if (!options.out.empty()) {
        if (const auto saved = pipeline->save(options.out); !saved)
            return saved.error();
    }
    return counters->mismatches == 0;
}

} // namespace

int main(int argc, char** argv) {
    CLI::App app(
        "Takes frames of a V4L2 camera through a filter on the NPU. The NPU reads each frame where the camera\n"
        "has written it; the CPU copies and maps nothing.\n"
        "Exit status: 0 done, 1 the check found mismatches, 2 something failed.",
        "rknpu-camera");
    Options options;
    app.add_option("--video", options.video, "the camera (default: /dev/video0)");
    program::add_device(app, options.device);
    app.add_option("--width", options.format.width, "of frames, in pixels; default: as the camera is set");
    app.add_option("--height", options.format.height);
    app.add_option("--frames", options.frames, "how many (default: 30)")->check(CLI::PositiveNumber);
    app.add_option("--out", options.out, "PNG file for the last result");
    app.add_flag("--check", options.check, "compare each result with the CPU's, which reads the frames then");
    return program::run(app, argc, argv, [&options] { return run(options); });
}
