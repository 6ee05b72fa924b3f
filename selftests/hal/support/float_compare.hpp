// SPDX-License-Identifier: MIT
#pragma once

#include "support/test.hpp"

#include <algorithm>
#include <cmath>

/// Distance of two neighbours of `bits` significant bits and least exponent `least` at x.
inline double unit_in_last_place(double x, int bits, int least) {
    int exponent = 0;
    std::frexp(x, &exponent); // x = f * 2^exponent with f from 0.5 to 1
    return std::ldexp(1, std::max(exponent - 1, least) - (bits - 1));
}

/// A sum in binary32 is off by at most one unit in the last place of the sum of its terms' magnitudes; rounded to
/// binary16 then (`narrow`), by half a unit of that more.
inline void check_near(double got, double wanted, double magnitude, bool narrow) {
    double bound = unit_in_last_place(magnitude, 24, -126);
    if (narrow)
        bound += 0.5 * unit_in_last_place(std::fabs(wanted) + bound, 11, -14);
    if (!(std::fabs(got - wanted) <= bound))
        print_error("%.10g, not %.10g within %g\n", got, wanted, bound);
    assert_true(std::fabs(got - wanted) <= bound);
}
