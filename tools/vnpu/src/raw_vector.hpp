// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace npu {

template <class T>
struct RawAllocator : std::allocator<T> {
    template <class U>
    struct rebind {
        using other = RawAllocator<U>;
    };
    using std::allocator<T>::allocator;
    template <class U>
    void construct(U* at) {
        ::new (static_cast<void*>(at)) U;
    }
    template <class U, class... Arguments>
    void construct(U* at, Arguments&&... arguments) {
        ::new (static_cast<void*>(at)) U(std::forward<Arguments>(arguments)...);
    }
};

// A vector whose new elements have any value, for buffers that are filled as a whole: filling a large one with zeros
// first takes as long as everything else that is done to it.
template <class T>
using RawVector = std::vector<T, RawAllocator<T>>;

} // namespace npu
