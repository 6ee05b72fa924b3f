// SPDX-License-Identifier: MIT
#pragma once

#include "camera.hpp"

#include <rknpu/rknpu.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace camera {

/// What happened on the way.
struct Counters {
    std::size_t frames = 0;        ///< that came out of the NPU
    std::size_t in_fences = 0;     ///< of frames, that jobs waited for
    std::size_t out_fences = 0;    ///< of jobs, that frames waited for before the camera got them back
    std::uint64_t frame_bytes = 0; ///< of frames that the CPU accessed
    std::uint64_t result_bytes = 0;
    std::size_t mapped = 0; ///< dma-bufs in the process's memory map, as the kernel lists it
    std::size_t checked = 0, mismatches = 0;
};

/**
 * Frames from the camera through the NPU. No frame is mapped: the NPU reads where the camera has written, after the
 * fence of the frame, and the camera gets it back after the fence of the job.
 */
class Pipeline {
  public:
    /// `camera` must outlive this. Errors: those of Image::import_dmabuf, Convolution::create, Queue::create.
    static rknpu::Result<Pipeline> create(const rknpu::Device& device, Camera& camera);

    /**
     * Starts the camera and takes so many frames.
     *
     * @param check compares each result with a plain loop on the CPU, which reads frame and result; these accesses are
     * not counted.
     * Errors: errno of the camera, timed_out (no frame in ten seconds), those of the NPU.
     */
    rknpu::Result<Counters> run(std::size_t frames, bool check);

    /// Writes the last result as a picture, from where the NPU has put it. Errors: errno.
    rknpu::Result<void> save(const std::string& path) const;

  private:
    /// A frame of the camera, and memory for its result.
    struct Lane {
        rknpu::Image frame;
        rknpu::Buffer result;
        std::optional<rknpu::Submission> job; ///< under way
        rknpu::UniqueFd done;                 ///< its fence
    };

    Pipeline(Camera& camera, rknpu::Convolution filter, rknpu::Queue queue);

    rknpu::Result<void> begin(Counters& counters);
    rknpu::Result<void> end(std::uint32_t lane, bool check, Counters& counters);
    rknpu::Result<void> compare(const Lane& lane, Counters& counters);

    Camera* camera_;
    rknpu::Convolution filter_;
    std::vector<Lane> lanes_;                                      // index: frame of the camera
    std::uint32_t last_ = 0;                                       // lane with the last result
    std::uint64_t check_frame_bytes_ = 0, check_result_bytes_ = 0; // that the check has read
    rknpu::Queue queue_;                                           // goes first, and waits for what runs
};

} // namespace camera
