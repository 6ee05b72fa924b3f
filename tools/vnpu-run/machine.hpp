// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "recorded_job.hpp"
#include "soc_desc.hpp"
#include "vnpu/trace.hpp"

// A virtual NPU with sparse memory around it, driven as a driver does. Memory reads as 0 where nothing was written.
class Machine {
  public:
    using Report = std::function<void(vnpu_severity, const char*)>;

    // Throws std::runtime_error.
    Machine(const std::string& soc, Report report);
    ~Machine();
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    unsigned cores() const { return api_->info(npu_)->cores; }
    void observe(npu::trace::Observer& observer) { npu::trace::observe(npu_, observer); }

    void store(std::uint64_t addr, const std::vector<std::uint8_t>& bytes);
    std::vector<std::uint8_t> load(std::uint64_t addr, std::size_t count) const;

    struct Result {
        std::uint64_t cycles;
        std::string failure; // empty: the job ended as it should
    };
    // Runs a chain of tasks on a core without an IOMMU.
    Result run(unsigned core, const std::vector<job::Task>& tasks, job::Range range);

  private:
    static constexpr std::uint64_t kPage = 4096;

    std::uint32_t read(unsigned core, std::uint32_t offset) const;
    void write(unsigned core, std::uint32_t offset, std::uint32_t value);
    void transfer(std::uint64_t addr, const void* from, std::size_t len);
    void transfer(std::uint64_t addr, void* to, std::size_t len) const;
    void power_on();

    static const vnpu_host_ops kOps;

    const vnpu_api* api_;
    vnpu* npu_ = nullptr;
    const npu::SocDesc* desc_ = nullptr;
    Report report_;
    std::map<std::uint64_t, std::vector<std::uint8_t>> pages_;
    std::uint64_t wake_ = UINT64_MAX, now_ = 0;
};
