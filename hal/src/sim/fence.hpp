// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/unique_fd.hpp>

#include <utility>
#include <vector>

namespace rknpu::sim {

/**
 * The end of a job, or of something else that was imported.
 *
 * In place of a sync file there is one end of a pair of sockets, from which the status can be read once it is known: it
 * polls readable then, as a sync file does, and may be given to other devices and processes. Thread-safety: one thread
 * at a time.
 */
class Fence {
  public:
    Fence() = default;
    /// That of another device: a descriptor that export_fd() gave, or the kernel's sync file.
    explicit Fence(UniqueFd foreign) noexcept : foreign_(std::move(foreign)) {}

    /// 1: signalled, 0: not yet, negative: failed with this errno.
    int status();
    bool foreign() const noexcept { return foreign_.valid(); }

    /// Signals it, with 0 or a negative errno.
    void signal(int error) noexcept;

    /// 0 or -errno.
    int export_fd(int& fd);

  private:
    int status_ = 0;
    UniqueFd foreign_;
    std::vector<UniqueFd> watched_; // our ends
};

/// What a descriptor of Fence::export_fd(), or the kernel's sync file, tells; 0 or -errno.
int read_fence(int fd, int* status) noexcept;

} // namespace rknpu::sim
