// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <memory>
#include <stdexcept>

#include "soc.hpp"
#include "vnpu/trace.hpp"

namespace npu::trace {

class CantOpen : public std::runtime_error {
    using runtime_error::runtime_error;
};

/*
 * The trace that the environment asks for: VNPU_TRACE=FILE, JSON when the name ends in .json, with what Lint finds. The
 * first instance of a process writes FILE, the n-th FILE.n (n before the suffix).
 */
class File {
  public:
    // Null when nothing is asked for. Throws CantOpen.
    static std::unique_ptr<File> from_environment();
    void attach(Soc& soc);

  private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    File(std::FILE* file, Format format);

    std::unique_ptr<std::FILE, Close> file_;
    std::unique_ptr<Writer> writer_;
    Lint lint_;
};

} // namespace npu::trace
