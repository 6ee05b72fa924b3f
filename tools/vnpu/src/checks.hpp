// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gen/registers.hpp"

namespace npu {

/*
 * What the decoders say about the registers of a task: the first thing that the model does not do ("refusal"), and
 * things that are unusual but harmless ("notes"). Decoding goes on after a refusal, so decoders must not rely on what
 * they refused.
 */
class Checks {
  public:
    bool ok() const { return refusal_.empty(); }
    const std::string& refusal() const { return refusal_; }
    const std::vector<std::string>& notes() const { return notes_; }

    // Refuse unless `fine`.
    void require(bool fine, const reg::Field& field, std::uint32_t value, const char* why) {
        if (!fine && ok())
            refusal_ = std::string(field.name) + " = " + hex(value) + ": " + why;
    }
    void refuse(const std::string& text) {
        if (ok())
            refusal_ = text;
    }
    void note(std::string text) { notes_.push_back(std::move(text)); }

    static std::string hex(std::uint32_t value);

  private:
    std::string refusal_;
    std::vector<std::string> notes_;
};

} // namespace npu
