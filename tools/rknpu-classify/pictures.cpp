// SPDX-License-Identifier: MIT
#include "pictures.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace classify {
namespace {

void load(const std::filesystem::path& path, std::vector<Picture>& pictures) {
    const auto fail = [&path](const char* what) { throw std::runtime_error(path.string() + ": " + what); };
    std::ifstream file(path, std::ios::binary);
    std::string kind;
    std::uint32_t width = 0, height = 0, levels = 0;
    if (!(file >> kind >> width >> height >> levels) || kind != "P5")
        fail("is no binary PGM file");
    if (width != kSide || height == 0 || height % kSide != 0 || levels != 255)
        fail("pictures are 8 x 8 pixels of 255 grey levels, one below the other");
    file.get(); // the one white space before the data
    for (std::uint32_t row = 0; row < height; row += kSide) {
        Picture picture;
        if (!file.read(reinterpret_cast<char*>(picture.data()), picture.size()))
            fail("ends too early");
        pictures.push_back(picture);
    }
}

} // namespace

std::vector<Picture> load_pictures(const std::string& folder) {
    std::error_code error;
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
        if (entry.path().extension() == ".pgm")
            files.push_back(entry.path());
    }
    if (error)
        throw std::runtime_error(folder + ": " + error.message());
    if (files.empty())
        throw std::runtime_error(folder + ": there is no .pgm file");
    std::ranges::sort(files);
    std::vector<Picture> pictures;
    for (const auto& file : files)
        load(file, pictures);
    return pictures;
}

} // namespace classify
