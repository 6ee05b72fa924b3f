// SPDX-License-Identifier: MIT
#pragma once

#include "network.hpp"

namespace classify::reference {

/// The network on the CPU, in plain loops.
Scores run(const Network& network, const Picture& picture);

} // namespace classify::reference
