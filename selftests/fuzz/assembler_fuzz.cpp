// SPDX-License-Identifier: MIT
//
// Text of commands, and back. Of each input once the bytes are taken as a text and once as commands.
#include "fuzz.hpp"

#include <rknpu/regcmd.hpp>

#include <string_view>
#include <vector>

using rknpu::regcmd::assemble;
using rknpu::regcmd::disassemble;

namespace {

// Any commands survive the way through text.
void check_round_trip(const std::vector<std::uint64_t>& commands) {
    const auto text = disassemble(commands);
    FUZZ_CHECK(text.ok());
    const auto again = assemble(*text);
    FUZZ_CHECK(again.ok());
    FUZZ_CHECK(*again == commands);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto commands = assemble({reinterpret_cast<const char*>(data), size});
    if (commands)
        check_round_trip(*commands);
    else
        check_error(commands);

    std::vector<std::uint64_t> raw(size / sizeof(std::uint64_t));
    if (!raw.empty())
        std::memcpy(raw.data(), data, raw.size() * sizeof(std::uint64_t));
    check_round_trip(raw);
    return 0;
}
