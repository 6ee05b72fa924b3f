// SPDX-License-Identifier: MIT
//
// Time of the virtual NPU for some layers, from the start register to the end of the job, against a plain loop and
// oneDNN. They take turns, the best of all rounds counts, so that another load of the machine hits all alike. ROUNDS=
// says how many (10); arguments choose the layers that have one of them in their names. All results are compared.
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "layer.hpp"

namespace {

double seconds(const bench::Runner& runner) {
    const auto start = std::chrono::steady_clock::now();
    runner.run();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

bool same(const bench::Layer& layer, const std::vector<float>& npu, std::vector<float> other) {
    if (layer.saturates())
        for (float& v : other)
            v = std::clamp(v, -128.0f, 127.0f);
    return npu == other;
}

bool wanted(const std::string& name, int argc, char** argv) {
    return argc < 2 ||
           std::any_of(argv + 1, argv + argc, [&](const char* word) { return name.find(word) != std::string::npos; });
}

} // namespace

int main(int argc, char** argv) {
    const char* text = std::getenv("ROUNDS");
    const int rounds = text ? std::atoi(text) : 10;
    if (rounds < 1) {
        std::fprintf(stderr, "bench-model: ROUNDS=%s is not a number above 0\n", text);
        return 2;
    }
    cpu_set_t cpus;
    sched_getaffinity(0, sizeof(cpus), &cpus);
    std::printf("GMAC/s, %2d CPUs                  %12s %12s %12s %12s %12s\n", CPU_COUNT(&cpus), "virtual NPU",
                "plain loop", "oneDNN", "NPU / plain", "NPU / oneDNN");
    for (const bench::Layer& layer : bench::layers()) {
        if (!wanted(layer.name, argc, argv))
            continue;
        const bench::Runner runners[] = {bench::virtual_npu(layer), bench::plain_loop(layer), bench::onednn(layer)};
        double best[3];
        std::fill_n(best, 3, std::numeric_limits<double>::infinity());
        for (int round = 0; round < rounds; ++round)
            for (int i = 0; i < 3; ++i)
                best[i] = std::min(best[i], seconds(runners[i]));
        for (int i = 1; i < 3; ++i)
            if (!same(layer, runners[0].result(), runners[i].result())) {
                std::fprintf(stderr, "bench-model: %s: results differ\n", layer.name.c_str());
                return 1;
            }
        std::printf("%-32s", layer.name.c_str());
        for (double t : best)
            std::printf(" %12.2f", layer.macs() / t / 1e9);
        std::printf(" %12.2f %12.3f\n", best[1] / best[0], best[2] / best[0]);
        std::fflush(stdout);
    }
}
