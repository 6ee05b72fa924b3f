// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <new>
#include <utility>
#include <vector>

namespace npu {

// Memory that begins with a line of the cache, so that the loads of the inner loops don't cross lines.
template <class T>
struct AlignedAllocator {
    using value_type = T;
    static constexpr std::align_val_t kLine{64};

    AlignedAllocator() = default;
    template <class U>
    AlignedAllocator(const AlignedAllocator<U>&) {}
    T* allocate(std::size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), kLine)); }
    void deallocate(T* at, std::size_t) { ::operator delete(at, kLine); }
    template <class U>
    bool operator==(const AlignedAllocator<U>&) const {
        return true;
    }
};

template <class T>
using AlignedVector = std::vector<T, AlignedAllocator<T>>;

template <class T>
struct RawAllocator : AlignedAllocator<T> {
    template <class U>
    struct rebind {
        using other = RawAllocator<U>;
    };
    using AlignedAllocator<T>::AlignedAllocator;
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
