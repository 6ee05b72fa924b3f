// SPDX-License-Identifier: MIT
#pragma once

#include "queue/queue_state.hpp"

#include <rknpu/queue.hpp>

#include <memory>
#include <utility>
#include <vector>

namespace rknpu::detail {

/**
 * Submits the passes of an operator, each after the one before, and makes one Submission of them. If it goes before
 * that, because a pass can't be submitted, those that were are cancelled.
 */
class Passes {
  public:
    /// `options`, which must outlive this object, are for each pass; only the first one waits for what they name.
    explicit Passes(const SubmitOptions& options) noexcept : options_(options) {}
    Passes(const Passes&) = delete;
    Passes& operator=(const Passes&) = delete;
    ~Passes();

    /// Calls `submit(options)`, which gives a Result<Submission>.
    template <class Submit>
    Result<void> add(Submit submit) {
        passes_.reserve(passes_.size() + 1);
        const Submission* const before = passes_.empty() ? nullptr : &passes_.back();
        SubmitOptions own = options_;
        if (before) {
            own.wait_for = {};
            own.after = {&before, 1};
        }
        auto submitted = submit(std::as_const(own));
        if (!submitted)
            return std::move(submitted).error();
        passes_.push_back(*std::move(submitted));
        return {};
    }

    /// All that was added: ends when the last pass does, and is cancelled as a whole. Its result is the sum of theirs.
    Submission together();

  private:
    const SubmitOptions& options_;
    std::vector<Submission> passes_;
};

} // namespace rknpu::detail
