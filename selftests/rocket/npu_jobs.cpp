// SPDX-License-Identifier: MIT
//
// Runs the jobs of operations.hpp through a driver.
//
//   npu_jobs rknpu|NODE [FILE]
//
// rknpu: our driver's node; NODE: a node of rocket, as /dev/accel/accel0. FILE gets the results of all jobs. The exit
// status is 0 if all values are right.
#include "operations.hpp"

#include <cstdio>
#include <exception>
#include <fstream>
#include <string>

int main(int argc, char** argv) {
    if (argc < 2 || argc > 3) {
        std::fprintf(stderr, "usage: npu_jobs rknpu|NODE [FILE]\n");
        return 2;
    }
    try {
        const std::string driver = argv[1];
        const auto npu = driver == "rknpu" ? open_rknpu() : open_rocket(driver);
        std::ofstream file;
        file.exceptions(std::ios::failbit | std::ios::badbit);
        if (argc == 3)
            file.open(argv[2], std::ios::binary);
        for (const auto job : {convolve, multiply_int8, multiply_half}) {
            const auto result = job(*npu);
            if (argc == 3)
                file.write(reinterpret_cast<const char*>(result.data()), static_cast<std::streamsize>(result.size()));
        }
    } catch (const std::exception& error) {
        std::printf("%s: %s\n", argv[1], error.what());
        return 1;
    }
}
