// SPDX-License-Identifier: MIT
#include "pipeline.hpp"

#include "filter.hpp"
#include "png.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include <poll.h>

namespace camera {
namespace {

constexpr int kPatience = 10000; // milliseconds

// Lines of the process's memory map that are dma-bufs.
std::size_t mapped_dmabufs() {
    std::ifstream maps("/proc/self/maps");
    std::size_t count = 0;
    for (std::string line; std::getline(maps, line);)
        count += line.find("dmabuf") != std::string::npos;
    return count;
}

bool readable(const pollfd& entry) {
    return (entry.revents & POLLIN) != 0;
}

} // namespace

Pipeline::Pipeline(Camera& camera, rknpu::Convolution filter, rknpu::Queue queue)
    : camera_(&camera), filter_(std::move(filter)), queue_(std::move(queue)) {}

rknpu::Result<Pipeline> Pipeline::create(const rknpu::Device& device, Camera& camera) {
    auto queue = rknpu::Queue::create(device);
    if (!queue)
        return std::move(queue).error();
    auto filter = make_filter(device, camera.layout());
    if (!filter)
        return std::move(filter).error();
    Pipeline pipeline(camera, *std::move(filter), *std::move(queue));
    for (std::uint32_t i = 0; i < camera.frames(); ++i) {
        auto frame = rknpu::Image::import_dmabuf(device, camera.dmabuf(i), camera.layout());
        if (!frame)
            return std::move(frame).error();
        auto result = rknpu::Buffer::allocate(device, pipeline.filter_.out_bytes());
        if (!result)
            return std::move(result).error();
        pipeline.lanes_.push_back({*std::move(frame), *std::move(result), {}, {}});
    }
    return pipeline;
}

// A frame has come: its job is queued, to begin when all who write the frame are done.
rknpu::Result<void> Pipeline::begin(Counters& counters) {
    const auto taken = camera_->take();
    if (!taken)
        return taken.error();
    Lane& lane = lanes_[*taken];
    const auto written = rknpu::dmabuf::fence(camera_->dmabuf(*taken), rknpu::Access::Read);
    if (!written)
        return written.error();
    const int fences[] = {written->get()};
    auto job = filter_.submit(queue_, lane.frame.plane_view(), lane.result, {.wait_for = fences});
    if (!job)
        return std::move(job).error();
    ++counters.in_fences;
    auto done = job->fence();
    if (!done)
        return std::move(done).error();
    lane.job = *std::move(job);
    lane.done = *std::move(done);
    return {};
}

// The job's fence has signalled: its result is there, and the camera may have the frame.
rknpu::Result<void> Pipeline::end(std::uint32_t index, bool check, Counters& counters) {
    Lane& lane = lanes_[index];
    if (const auto how = lane.job->wait(); !how)
        return how.error();
    ++counters.out_fences;
    ++counters.frames;
    lane.job.reset();
    lane.done.reset();
    last_ = index;
    if (check) {
        if (auto r = compare(lane, counters); !r)
            return r;
    }
    return camera_->give(index);
}

rknpu::Result<void> Pipeline::compare(const Lane& lane, Counters& counters) {
    const auto& plane = lane.frame.planes()[0];
    const auto frame = lane.frame.access(rknpu::Access::Read);
    if (!frame)
        return frame.error();
    const auto result = lane.result.access(rknpu::Access::Read);
    if (!result)
        return result.error();
    const auto& layout = lane.frame.descriptor();
    counters.mismatches += mismatches({frame->bytes(), layout.width, layout.height, kChannels, plane.row_stride},
                                      result_pixels(filter_, result->bytes()));
    counters.checked += std::size_t{layout.width} * layout.height * kChannels;
    check_frame_bytes_ += frame->bytes().size();
    check_result_bytes_ += result->bytes().size();
    return {};
}

rknpu::Result<Counters> Pipeline::run(std::size_t frames, bool check) {
    Counters counters;
    if (auto r = camera_->start(); !r)
        return std::move(r).error();
    while (counters.frames < frames) {
        std::vector<pollfd> events = {{counters.in_fences < frames ? camera_->fd() : -1, POLLIN, 0}};
        for (const Lane& lane : lanes_)
            events.push_back({lane.done.valid() ? lane.done.get() : -1, POLLIN, 0});
        const int ready = ::poll(events.data(), events.size(), kPatience);
        if (ready == 0)
            return rknpu::Error(std::make_error_code(std::errc::timed_out), "the camera gives no frames");
        if (ready < 0 && errno != EINTR)
            return rknpu::Error(std::error_code(errno, std::generic_category()), std::strerror(errno));
        for (std::uint32_t i = 0; ready > 0 && i < lanes_.size(); ++i) {
            if (!readable(events[i + 1]))
                continue;
            if (auto r = end(i, check, counters); !r)
                return std::move(r).error();
        }
        if (ready > 0 && events[0].revents != 0) { // of an error take() tells
            if (auto r = begin(counters); !r)
                return std::move(r).error();
        }
    }
    for (const Lane& lane : lanes_) {
        counters.frame_bytes += lane.frame.buffer().accessed();
        counters.result_bytes += lane.result.accessed();
    }
    counters.frame_bytes -= check_frame_bytes_;
    counters.result_bytes -= check_result_bytes_;
    counters.mapped = mapped_dmabufs();
    return counters;
}

rknpu::Result<void> Pipeline::save(const std::string& path) const {
    const auto access = lanes_[last_].result.access(rknpu::Access::Read);
    if (!access)
        return access.error();
    const Pixels pixels = result_pixels(filter_, access->bytes());
    std::vector<std::uint8_t> rgb;
    rgb.reserve(std::size_t{pixels.width} * pixels.height * kChannels);
    for (std::uint32_t y = 0; y < pixels.height; ++y) {
        for (std::uint32_t x = 0; x < pixels.width; ++x) {
            for (std::uint32_t channel = 0; channel < kChannels; ++channel)
                rgb.push_back(static_cast<std::uint8_t>(pixels.at(x, y, channel) ^ 0x80));
        }
    }
    return write_png(path, pixels.width, pixels.height, rgb);
}

} // namespace camera
