// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/result.hpp>
#include <rknpu/soc.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rknpu::regcmd {

/// What is wrong with the commands of a job.
enum class Problem {
    NoTasks,           ///< nothing to run
    UnalignedList,     ///< a list that does not begin at a multiple of 16 bytes: the NPU drops the low bits
    ListOutsideMemory, ///< commands are fetched from where no command memory is
    ListTooLong,       ///< more commands than the amount register can say
    TailMismatch,      ///< a list's tail names another address, or too few commands, for the next list
    ShortChain,        ///< a list names no next one though tasks are left
    UnknownCommand,    ///< a command with a target or offset that the program controller rejects
    WrongTarget,       ///< a write to a register of another block than the target's
    UnknownRegister,   ///< a write to an offset where no register is known
    MissingEnable,     ///< no command starts the blocks
    MissingBarrier,    ///< the enable command has no barrier before it
    BadEnable,         ///< no block is started, or one that waits for a block that isn't
    BadInterruptMask,  ///< the interrupt that the driver waits for can't come
    AddressOutside,    ///< a block reads or writes outside the job's buffers
    StaleRegister,     ///< what a block reads or writes depends on a register that the job does not write
};

/// "missing-enable" and so on.
[[gnu::visibility("default")]] const char* problem_name(Problem problem) noexcept;

/// A problem, and where it is.
struct Finding {
    Problem problem;
    /// The job hangs, faults, or runs what was not meant. Else it may go wrong, depending on what ran before.
    bool fatal;
    std::size_t task;
    std::size_t command; ///< index in the task's list; that of the enable command for what shows when blocks start
    std::string message; ///< the whole of it for people, with task and command
};

/// Addresses that the job's buffers have. They count to the end of their last page of 4 KiB, as they are mapped.
struct AddressRange {
    std::uint32_t address = 0;
    std::uint64_t size = 0;
};

/// Memory that holds command lists, as the NPU sees it.
struct CommandMemory {
    std::uint32_t address = 0;
    std::span<const std::byte> bytes;
};

/// A task, as its entry in the task array says.
struct TaskEntry {
    std::uint32_t int_mask = 0;
    std::uint32_t amount = 0; ///< commands without the tail of four
    std::uint64_t address = 0;
};

/// What one core is to run.
struct Program {
    Soc soc = Soc::Rk3588;
    std::span<const TaskEntry> tasks;
    std::span<const CommandMemory> commands;
    std::span<const AddressRange> buffers;
};

/**
 * Reads the commands of a job as the NPU would, and tells what would hang or hurt, in the order of the tasks. Empty: no
 * objection.
 *
 * The registers of two tasks before last as long as the hardware keeps them. Of a list that can't be read to its end,
 * nothing is known of the tasks behind it. Each problem is told once a command.
 * Thread-safety: pure function. Errors: not_enough_memory.
 */
[[gnu::visibility("default")]] Result<std::vector<Finding>> validate(const Program& program) noexcept;

} // namespace rknpu::regcmd
