// SPDX-License-Identifier: MIT
#include "report.hpp"

#include <chrono>
#include <cstdio>
#include <fstream>

namespace demo {

void print_device(const rknpu::Device& device) {
    const auto& info = device.info();
    const unsigned v = info.driver_version;
    std::printf("device: %s, %s, hardware version 0x%08x, IOMMU %s\n", info.node.c_str(), info.soc.c_str(),
                info.hardware_version, info.iommu ? "on" : "off");
    std::printf("driver: %s %u.%u.%u\n", info.driver.c_str(), v / 10000, v / 100 % 100, v % 100);
}

void print_load() {
    std::ifstream file("/sys/kernel/debug/rknpu/load");
    std::string line;
    while (std::getline(file, line))
        std::printf("%s\n", line.c_str());
}

std::size_t print_table(const std::vector<Operation>& operations) {
    std::size_t checked = 0, mismatches = 0;
    std::printf("\n%-22s %-36s %6s %10s %10s %10s\n", "operation", "shape", "tasks", "NPU ms", "checked", "mismatches");
    for (const auto& o : operations) {
        const std::chrono::duration<double, std::milli> ms = o.run.hardware_time;
        std::printf("%-22s %-36s %6u %10.3f %10zu %10zu\n", o.name.c_str(), o.shape.c_str(), o.run.tasks, ms.count(),
                    o.checked, o.mismatches);
        checked += o.checked;
        mismatches += o.mismatches;
    }
    std::printf("\ndemo: %zu operations, %zu values checked, %zu mismatches\n", operations.size(), checked, mismatches);
    return mismatches;
}

} // namespace demo
