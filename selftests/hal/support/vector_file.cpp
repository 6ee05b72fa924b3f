// SPDX-License-Identifier: MIT
#include "support/vector_file.hpp"

#include "support/test.hpp"

#include <cstring>
#include <fstream>
#include <sstream>

namespace {

using Pieces = std::map<std::uint64_t, std::vector<std::byte>>;

std::vector<std::byte> hex_bytes(const std::string& text) {
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2)
        bytes.push_back(static_cast<std::byte>(std::stoul(text.substr(i, 2), nullptr, 16)));
    return bytes;
}

// The key=value words of a record.
std::map<std::string, std::uint64_t> numbers(std::istream& words) {
    std::map<std::string, std::uint64_t> result;
    for (std::string word; words >> word;) {
        const auto equals = word.find('=');
        const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
        if (!value.empty() && std::isdigit(static_cast<unsigned char>(value[0])))
            result[word.substr(0, equals)] = std::stoull(value, nullptr, 0);
    }
    return result;
}

std::vector<std::byte> gather(const Pieces& pieces, std::uint64_t address, std::size_t size) {
    std::vector<std::byte> result(size);
    for (const auto& [at, bytes] : pieces) {
        if (at < address || at >= address + size)
            continue;
        assert_true(at + bytes.size() <= address + size);
        std::memcpy(result.data() + (at - address), bytes.data(), bytes.size());
    }
    return result;
}

} // namespace

std::vector<std::byte> VectorFile::before(const std::string& buffer, std::size_t size) const {
    return gather(memory, buffers.at(buffer).address, size);
}

std::vector<std::byte> VectorFile::after(const std::string& buffer, std::size_t size) const {
    return gather(expected, buffers.at(buffer).address, size);
}

VectorFile read_vector(const std::string& name) {
    std::ifstream file(std::string(VECTORS_DIR) + "/" + name);
    assert_true(file.is_open());
    VectorFile v;
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string kind;
        words >> kind;
        if (kind == "matmul") {
            auto n = numbers(words);
            v.m = static_cast<std::uint32_t>(n["m"]);
            v.k = static_cast<std::uint32_t>(n["k"]);
            v.n = static_cast<std::uint32_t>(n["n"]);
        } else if (kind == "buffer") {
            std::string buffer;
            words >> buffer;
            auto n = numbers(words);
            v.buffers[buffer] = {n["addr"], n["size"]};
        } else if (kind == "task") {
            auto n = numbers(words);
            const auto u32 = [&n](const char* key) { return static_cast<std::uint32_t>(n[key]); };
            v.tasks.push_back(
                {u32("enable_mask"), u32("int_mask"), u32("int_clear"), u32("regcfg_amount"), n["regcmd_addr"]});
        } else if (kind == "list") {
            auto n = numbers(words);
            auto& list = v.lists[n["addr"]];
            while (list.size() < n["count"] && std::getline(file, line))
                list.push_back(std::stoull(line, nullptr, 16));
        } else if (kind == "mem" || kind == "expect") {
            std::string address, bytes;
            words >> address >> bytes;
            (kind == "mem" ? v.memory : v.expected)[std::stoull(address, nullptr, 0)] = hex_bytes(bytes);
        }
    }
    return v;
}
