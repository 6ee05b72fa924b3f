// SPDX-License-Identifier: MIT
#include "png.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>
#include <vector>

namespace camera {
namespace {

void put32(std::string& to, std::uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8)
        to.push_back(static_cast<char>(value >> shift));
}

std::uint32_t crc(std::string_view bytes) {
    std::uint32_t sum = ~0u;
    for (const char byte : bytes) {
        sum ^= static_cast<std::uint8_t>(byte);
        for (int bit = 0; bit < 8; ++bit)
            sum = sum & 1 ? sum >> 1 ^ 0xedb88320u : sum >> 1;
    }
    return ~sum;
}

void put_chunk(std::ostream& out, std::string_view type, std::string_view content) {
    std::string chunk;
    put32(chunk, static_cast<std::uint32_t>(content.size()));
    chunk += type;
    chunk += content;
    put32(chunk, crc(std::string_view(chunk).substr(4)));
    out.write(chunk.data(), static_cast<std::streamsize>(chunk.size()));
}

// A zlib stream of stored blocks, one for each of `rows`, which are shorter than 64 KiB.
class Stored {
  public:
    void add(std::span<const std::uint8_t> row, bool last) {
        const auto length = static_cast<std::uint16_t>(row.size());
        bytes_.push_back(last ? 1 : 0);
        for (const auto half : {length, static_cast<std::uint16_t>(~length)}) {
            bytes_.push_back(static_cast<char>(half));
            bytes_.push_back(static_cast<char>(half >> 8));
        }
        bytes_.append(reinterpret_cast<const char*>(row.data()), row.size());
        for (const std::uint8_t byte : row) {
            low_ = (low_ + byte) % kModulus;
            high_ = (high_ + low_) % kModulus;
        }
        if (last)
            put32(bytes_, high_ << 16 | low_);
    }
    const std::string& bytes() const noexcept { return bytes_; }

  private:
    static constexpr std::uint32_t kModulus = 65521;

    std::string bytes_ = "\x78\x01";
    std::uint32_t low_ = 1, high_ = 0; // Adler-32
};

} // namespace

rknpu::Result<void> write_png(const std::string& path, std::uint32_t width, std::uint32_t height,
                              const std::function<void(std::uint32_t, std::span<std::uint8_t>)>& row) {
    constexpr std::uint32_t kMostWidth = (0xffff - 1) / 3;
    if (width == 0 || height == 0 || width > kMostWidth)
        return rknpu::Error(rknpu::Errc::InvalidArgument, path + ": rows of 1 to " + std::to_string(kMostWidth) +
                                                              " pixels can be written, at least one");
    std::ofstream out(path, std::ios::binary);
    out.write("\x89PNG\r\n\x1a\n", 8);
    std::string header;
    put32(header, width);
    put32(header, height);
    // Bits, red green blue, deflate, filters by row, not interlaced.
    for (const char field : {8, 2, 0, 0, 0})
        header.push_back(field);
    put_chunk(out, "IHDR", header);

    Stored pixels;
    std::vector<std::uint8_t> line(1 + std::size_t{width} * 3); // the first byte: no filter
    for (std::uint32_t y = 0; y < height; ++y) {
        row(y, std::span(line).subspan(1));
        pixels.add(line, y + 1 == height);
    }
    put_chunk(out, "IDAT", pixels.bytes());
    put_chunk(out, "IEND", {});
    out.close();
    if (!out)
        return rknpu::Error(std::error_code(errno, std::generic_category()),
                            path + " can't be written: " + std::strerror(errno));
    return {};
}

} // namespace camera
