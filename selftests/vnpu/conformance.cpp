// SPDX-License-Identifier: MIT
//
// The randomised comparison of the virtual NPU with plain references, function by function:
//   CASES=<cases of each function, default 200> SEED=<seed of the first case, default 1>
//   SOC=<name, default rk3588> vnpu_conformance
// A case depends on its seed alone, so SEED=<seed of a mismatch> CASES=1 repeats it. Exits with 1 after a mismatch.
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "cases.hpp"

namespace {

// The number in the environment variable `name`, or `otherwise`; ends the program when it is none.
std::uint32_t number(const char* name, std::uint32_t otherwise) {
    const char* text = std::getenv(name);
    if (!text || !*text)
        return otherwise;
    const char* end = text + std::strlen(text);
    std::uint32_t value = 0;
    const auto [parsed, error] = std::from_chars(text, end, value);
    if (error != std::errc{} || parsed != end) {
        std::fprintf(stderr, "conformance: %s=%s is not a number from 0 to 4294967295\n", name, text);
        std::exit(2);
    }
    return value;
}

const board::Chip& soc() {
    const char* name = std::getenv("SOC");
    if (!name || !*name)
        return board::default_chip();
    try {
        return board::chip(name);
    } catch (const std::invalid_argument&) {
        std::fprintf(stderr, "conformance: SOC=%s is no SoC of the model\n", name);
        std::exit(2);
    }
}

} // namespace

int main() {
    board::set_default_chip(soc());
    const std::uint32_t count = number("CASES", 200), seed = number("SEED", 1);
    if (count == 0) {
        std::fprintf(stderr, "conformance: CASES=0 compares nothing\n");
        return 2;
    }
    std::uint64_t total = 0, mismatches = 0;
    for (const cases::Function& function : cases::all()) {
        if (!cases::applies(function, board::default_chip()))
            continue;
        std::uint64_t wrong = 0;
        for (std::uint32_t i = 0; i < count; ++i) {
            const std::string difference = cases::one(function.run, seed + i);
            if (difference.empty())
                continue;
            ++wrong;
            std::fprintf(stderr, "%s: SEED=%u: %s\n", function.name, seed + i, difference.c_str());
        }
        std::printf("%s: %u cases, %llu mismatches\n", function.name, count, static_cast<unsigned long long>(wrong));
        total += count;
        mismatches += wrong;
    }
    std::printf("conformance: %llu cases, %llu mismatches\n", static_cast<unsigned long long>(total),
                static_cast<unsigned long long>(mismatches));
    return mismatches == 0 ? 0 : 1;
}
