// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/flags.hpp>
#include <rknpu/registers.hpp>
#include <rknpu/result.hpp>

#include <cstdint>
#include <memory>
#include <span>

namespace rknpu {

namespace detail {
struct CommandListState;
}

/// Blocks of the NPU that a task starts, as the enable command of a list names them.
enum class Block : std::uint32_t {
    Cna = 1u << 0,     ///< fetches features and weights
    Core = 1u << 2,    ///< multiplies and accumulates
    Dpu = 1u << 3,     ///< post-processes and writes
    DpuRdma = 1u << 4, ///< fetches what the DPU needs from memory
    Ppu = 1u << 5,     ///< pools
    PpuRdma = 1u << 6, ///< fetches what the PPU needs from memory
};
template <>
inline constexpr bool kIsFlag<Block> = true;

/**
 * The register commands of one task.
 *
 *     CommandList list;
 *     list.write(reg::cna::DATA_SIZE2{}.dataout_width(1)).write(...);
 *     list.start(Block::Cna | Block::Core | Block::Dpu);
 *
 * A list holds no addresses of other lists: Job chains lists and gives each its tail. Building can't fail; the first
 * mistake (a number that doesn't fit its field, memory) is kept and check() tells it, as does Job::create.
 * Blocks keep their registers from one task to the next but one, so a list should write every register that matters.
 * Thread-safety: one thread at a time.
 */
class [[gnu::visibility("default")]] CommandList {
  public:
    CommandList() noexcept;
    CommandList(CommandList &&) noexcept;
    CommandList& operator=(CommandList&&) noexcept;
    ~CommandList();

    /// Adds the command that writes a register, a type of registers.hpp.
    template <class R>
    CommandList& write(const R& r) noexcept {
        if (r.bad)
            fail(r.bad);
        return raw(reg::command(r));
    }

    /// Adds a 64-bit command as it is: target 63:48, value 47:16, offset 15:0.
    CommandList& raw(std::uint64_t command) noexcept;

    /// Says which blocks the task starts. Its end is then the interrupt of the PPU if it is among them, else of the
    /// DPU.
    CommandList& start(Flags<Block> blocks) noexcept;

    std::span<const std::uint64_t> body() const noexcept; ///< commands so far, without the tail
    Flags<Block> blocks() const noexcept;
    std::uint32_t interrupts() const noexcept; ///< interrupt bits that end the task

    /// Errors: BadCommand (names the field, or says that nothing is started), not_enough_memory.
    Result<void> check() const noexcept;

  private:
    void fail(const char* field) noexcept;

    std::unique_ptr<detail::CommandListState> state_; // null: out of memory, or moved from
};

} // namespace rknpu
