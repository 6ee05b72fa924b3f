// SPDX-License-Identifier: MIT
#include "trace_file.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace npu::trace {

File::File(std::FILE* file, Format format)
    : file_(file), writer_(make_writer(format, file)),
      lint_([this](std::uint64_t cycle, const Finding& finding) { writer_->on_finding(cycle, finding); }) {}

std::unique_ptr<File> File::from_environment() {
    const char* name = std::getenv("VNPU_TRACE");
    if (!name || !*name)
        return nullptr;
    static std::atomic<unsigned> instances = 0;
    std::filesystem::path path(name);
    const std::filesystem::path suffix = path.extension();
    if (const unsigned n = ++instances; n > 1)
        path.replace_extension(fmt::format(".{}{}", n, suffix.string()));
    std::FILE* file = std::fopen(path.c_str(), "we");
    if (!file)
        throw CantOpen(fmt::format("VNPU_TRACE: can't write {}: {}", path.string(), std::strerror(errno)));
    return std::unique_ptr<File>(new File(file, suffix == ".json" ? Format::Json : Format::Text));
}

void File::attach(Soc& soc) {
    soc.add_observer(*writer_);
    soc.add_observer(lint_);
}

} // namespace npu::trace
