// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "board.hpp"
#include "vnpu/trace.hpp"

namespace trace = npu::trace;

namespace traced {

// What a writer writes while `act` uses a board, until the end of the board.
template <class Act>
std::string run(trace::Format format, Act&& act) {
    char* text = nullptr;
    std::size_t size = 0;
    std::FILE* file = open_memstream(&text, &size);
    {
        const auto writer = trace::make_writer(format, file);
        board::Board board;
        trace::observe(board.npu(), *writer);
        act(board);
    }
    std::fclose(file);
    const std::string result(text, size);
    std::free(text);
    return result;
}

// What Lint finds while `act` uses a board; act(board, lint).
template <class Act>
std::vector<trace::Finding> lint(Act&& act) {
    std::vector<trace::Finding> findings;
    trace::Lint lint([&](std::uint64_t, const trace::Finding& finding) { findings.push_back(finding); });
    board::Board board;
    trace::observe(board.npu(), lint);
    act(board, lint);
    return findings;
}

} // namespace traced
