// SPDX-License-Identifier: MIT
#pragma once

#include "network.hpp"

#include <string>
#include <vector>

namespace classify {

/**
 * All pictures of a folder, file by file in the order of their names: binary PGM files of 255 grey levels, 8 pixels
 * wide, each with one or several pictures of 8 rows, one below the other.
 *
 * Throws std::runtime_error with a message that names the file.
 */
std::vector<Picture> load_pictures(const std::string& folder);

} // namespace classify
