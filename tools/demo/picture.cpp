// SPDX-License-Identifier: MIT
#include "picture.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

namespace demo {
namespace {

constexpr std::uint32_t kMostSide = 8192;

rknpu::Error bad(const std::string& path, const std::string& what) {
    return {rknpu::Errc::InvalidArgument, path + ": " + what};
}

// A number of a header; comments run from '#' to the end of the line. 0: there is none.
std::uint32_t header_number(std::istream& in) {
    while (in.good()) {
        in >> std::ws;
        if (in.peek() != '#')
            break;
        std::string comment;
        std::getline(in, comment);
    }
    std::uint32_t number = 0;
    return in >> number ? number : 0;
}

} // namespace

rknpu::Result<Picture> load_picture(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in)
        return bad(path, std::strerror(errno));
    std::string magic(2, '\0');
    in.read(magic.data(), 2);
    if (magic != "P6")
        return bad(path, "not a binary PPM (P6)");
    Picture picture;
    picture.channels = 3;
    picture.width = header_number(in);
    picture.height = header_number(in);
    const std::uint32_t most = header_number(in);
    if (picture.width == 0 || picture.height == 0 || picture.width > kMostSide || picture.height > kMostSide)
        return bad(path, "width and height must be from 1 to " + std::to_string(kMostSide));
    if (most != 255 || !std::isspace(in.get()))
        return bad(path, "only 8 bits a colour (maximum 255) are supported");
    picture.pixels.resize(std::size_t{picture.width} * picture.height * picture.channels);
    in.read(reinterpret_cast<char*>(picture.pixels.data()), static_cast<std::streamsize>(picture.pixels.size()));
    if (static_cast<std::size_t>(in.gcount()) != picture.pixels.size())
        return bad(path, std::to_string(picture.pixels.size() - static_cast<std::size_t>(in.gcount())) +
                             " bytes are missing at its end");
    return picture;
}

rknpu::Result<void> save_picture(const Picture& picture, const std::string& path) {
    std::ofstream out(path, std::ios::binary);
    out << (picture.channels == 1 ? "P5" : "P6") << '\n' << picture.width << ' ' << picture.height << "\n255\n";
    out.write(reinterpret_cast<const char*>(picture.pixels.data()),
              static_cast<std::streamsize>(picture.pixels.size()));
    out.close();
    if (!out)
        return rknpu::Error(std::error_code(errno, std::generic_category()), path + ": can't be written");
    return {};
}

} // namespace demo
