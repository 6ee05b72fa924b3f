// SPDX-License-Identifier: MIT
#include "job_text.hpp"

#include <rknpu/regcmd.hpp>

#include <cctype>
#include <sstream>
#include <string>

namespace {

using rknpu::Errc;
using rknpu::Error;

// A directive takes so many numbers, of at most so many bits.
bool take(std::istringstream& words, std::uint64_t& number, std::uint64_t most = UINT32_MAX) {
    std::string word;
    if (!(words >> word) || !std::isdigit(static_cast<unsigned char>(word[0])))
        return false;
    try {
        std::size_t end = 0;
        number = std::stoull(word, &end, 0);
        return end == word.size() && number <= most;
    } catch (const std::out_of_range&) {
        return false;
    }
}

bool at_end(std::istringstream& words) {
    std::string rest;
    return !(words >> rest) || rest[0] == '#';
}

class Parser {
  public:
    rknpu::Result<JobText> parse(std::string_view text) {
        std::istringstream lines{std::string(text)};
        for (std::string line; std::getline(lines, line); ++number_) {
            const std::size_t begin = line.find_first_not_of(" \t");
            const bool directive =
                begin != std::string::npos && line[begin] == '.' && !line.substr(begin).starts_with(".word");
            if (!directive) {
                list_ += line + "\n";
                has_commands_ |= begin != std::string::npos && line[begin] != '#' && line[begin] != '\r';
                continue;
            }
            if (auto r = end_list(); !r)
                return std::move(r).error();
            if (auto r = obey(line.substr(begin)); !r)
                return std::move(r).error();
            list_.assign(number_, '\n'); // so that the lines of the list have the numbers of the file
        }
        if (auto r = end_list(); !r)
            return std::move(r).error();
        return std::move(job_);
    }

  private:
    Error bad(const std::string& what) const {
        return {Errc::BadCommand, "line " + std::to_string(number_) + ": " + what};
    }

    rknpu::Result<void> obey(const std::string& line) {
        std::istringstream words(line);
        std::string name;
        words >> name;
        std::uint64_t a = 0, b = 0, c = 0;
        if (name == ".soc") {
            std::string soc;
            words >> soc;
            const auto known = rknpu::soc_from_name(soc);
            if (!known)
                return bad(known.error().message());
            job_.soc = *known;
            return {};
        }
        if (name == ".buffer" && take(words, a) && take(words, b, UINT64_MAX) && at_end(words)) {
            job_.buffers.push_back({static_cast<std::uint32_t>(a), b});
            return {};
        }
        if (name == ".task" && take(words, a, UINT64_MAX) && take(words, b) && take(words, c) && at_end(words)) {
            job_.tasks.push_back({static_cast<std::uint32_t>(c), static_cast<std::uint32_t>(b), a});
            return {};
        }
        if (name == ".list" && take(words, a) && at_end(words)) {
            address_ = static_cast<std::uint32_t>(a);
            in_list_ = true;
            return {};
        }
        return bad("one of .soc NAME, .buffer ADDRESS SIZE, .task ADDRESS AMOUNT INT_MASK, .list ADDRESS is expected");
    }

    rknpu::Result<void> end_list() {
        if (!in_list_ && has_commands_)
            return bad("commands before the first .list");
        if (in_list_) {
            auto commands = rknpu::regcmd::assemble(list_);
            if (!commands)
                return std::move(commands).error();
            job_.lists[address_] = *std::move(commands);
        }
        in_list_ = has_commands_ = false;
        return {};
    }

    JobText job_;
    std::string list_;
    std::uint32_t address_ = 0;
    bool in_list_ = false, has_commands_ = false;
    std::size_t number_ = 1;
};

} // namespace

rknpu::Result<JobText> parse_job(std::string_view text) {
    return Parser().parse(text);
}
