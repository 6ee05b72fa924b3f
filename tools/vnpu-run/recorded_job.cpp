// SPDX-License-Identifier: MIT
#include "recorded_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>

namespace job {
namespace {

constexpr std::uint32_t kMost32 = std::numeric_limits<std::uint32_t>::max();

class Parser {
  public:
    explicit Parser(const std::string& path) : path_(path), file_(path) {
        if (!file_)
            throw Error(fmt::format("can't read {}", path));
    }

    Job parse() {
        std::string line;
        while (next(line))
            record(line);
        if (file_.bad())
            throw Error(fmt::format("can't read {}", path_));
        if (job_.tasks.empty())
            throw Error(fmt::format("{}: no task", path_));
        for (const Range& r : job_.ranges)
            if (r.count == 0 || r.first >= job_.tasks.size() || r.count > job_.tasks.size() - r.first)
                throw Error(fmt::format("{}: subcore={}:{} of a job with {} tasks", path_, r.first, r.count,
                                        job_.tasks.size()));
        return std::move(job_);
    }

  private:
    using Keys = std::map<std::string, std::string>;

    bool next(std::string& line) {
        if (!std::getline(file_, line))
            return false;
        ++line_;
        if (!line.empty() && line.back() == '\r')
            line.pop_back();
        return true;
    }

    [[noreturn]] void fail(const std::string& why) const { throw Error(fmt::format("{}:{}: {}", path_, line_, why)); }

    std::uint64_t number(std::string_view text, int base) const {
        const std::string_view all = text;
        if (base == 0) {
            base = text.starts_with("0x") ? 16 : 10;
            text.remove_prefix(base == 16 ? 2 : 0);
        } else if (base == 16 && text.starts_with("0x")) {
            text.remove_prefix(2);
        }
        std::uint64_t value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
        if (error != std::errc{} || end != text.data() + text.size() || text.empty())
            fail(fmt::format("'{}' is not a number", all));
        return value;
    }
    std::uint64_t number(const Keys& keys, const char* key, std::uint64_t most) const {
        const auto at = keys.find(key);
        if (at == keys.end())
            fail(fmt::format("{}= is missing", key));
        const std::uint64_t value = number(at->second, 0);
        if (value > most)
            fail(fmt::format("{}={} is too large", key, at->second));
        return value;
    }
    std::uint32_t number32(const Keys& keys, const char* key) const {
        return static_cast<std::uint32_t>(number(keys, key, kMost32));
    }

    void record(const std::string& line) {
        std::istringstream words(line);
        std::string kind, word, name;
        if (!(words >> kind) || kind[0] == '#')
            return;
        Keys keys;
        std::vector<std::string> plain;
        while (words >> word && word[0] != '#') {
            const std::size_t equals = word.find('=');
            if (equals == std::string::npos)
                plain.push_back(word);
            else
                keys[word.substr(0, equals)] = word.substr(equals + 1);
        }
        const auto argument = [&](std::size_t i) -> const std::string& {
            if (i >= plain.size())
                fail(fmt::format("'{}' needs more words", kind));
            return plain[i];
        };
        if (kind == "vector")
            job_.name = argument(0);
        else if (kind == "buffer")
            job_.buffers.push_back({argument(0), number(keys, "addr", kMost32), number(keys, "size", kMost32)});
        else if (kind == "task")
            task(number(argument(0), 0), keys);
        else if (kind == "submit")
            submit(keys);
        else if (kind == "list")
            list(keys);
        else if (kind == "mem" || kind == "expect")
            (kind == "mem" ? job_.before : job_.expect).push_back({number(argument(0), 16), bytes(argument(1))});
        else if (kind != "matmul") // which only describes
            fail(fmt::format("unknown record '{}'", kind));
    }

    void task(std::uint64_t index, const Keys& keys) {
        if (index != job_.tasks.size())
            fail(fmt::format("task {} where task {} is due", index, job_.tasks.size()));
        const Task t{number32(keys, "regcmd_addr"), number32(keys, "regcfg_amount"), number32(keys, "int_mask")};
        if (t.amount > 0xffff)
            fail(fmt::format("regcfg_amount={} is too large", t.amount));
        job_.tasks.push_back(t);
    }

    void submit(const Keys& keys) {
        const auto at = keys.find("subcore");
        if (at == keys.end())
            return;
        std::istringstream parts(at->second);
        for (std::string part; std::getline(parts, part, ',');) {
            const std::size_t colon = part.find(':');
            if (colon == std::string::npos)
                fail(fmt::format("subcore={}: not FIRST:COUNT,…", at->second));
            const std::uint64_t first = number(part.substr(0, colon), 10), count = number(part.substr(colon + 1), 10);
            if (first > kMost32 || count > kMost32)
                fail(fmt::format("subcore={} is too large", at->second));
            job_.ranges.push_back({static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(count)});
        }
    }

    void list(const Keys& keys) {
        Memory memory{number(keys, "addr", kMost32), {}};
        const std::uint64_t count = number(keys, "count", 1 << 20);
        std::string line;
        for (std::uint64_t i = 0; i < count; ++i) {
            if (!next(line))
                fail(fmt::format("the list ends after {} of {} entries", i, count));
            const std::uint64_t entry = number(line, 16);
            for (unsigned b = 0; b < 8; ++b)
                memory.bytes.push_back(static_cast<std::uint8_t>(entry >> (8 * b)));
        }
        job_.before.push_back(std::move(memory));
    }

    std::vector<std::uint8_t> bytes(const std::string& hex) const {
        if (hex.size() % 2)
            fail("an odd number of digits");
        std::vector<std::uint8_t> result;
        for (std::size_t i = 0; i < hex.size(); i += 2)
            result.push_back(static_cast<std::uint8_t>(number(std::string_view(hex).substr(i, 2), 16)));
        return result;
    }

    std::string path_;
    std::ifstream file_;
    std::size_t line_ = 0;
    Job job_;
};

} // namespace

Range Job::range(unsigned core) const {
    if (ranges.empty())
        return {0, static_cast<std::uint32_t>(tasks.size())};
    if (core >= ranges.size())
        throw Error(fmt::format("the job has no tasks for core {}", core));
    return ranges[core];
}

Job load(const std::string& path) {
    return Parser(path).parse();
}

} // namespace job
