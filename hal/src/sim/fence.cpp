// SPDX-License-Identifier: MIT
#include "sim/fence.hpp"

#include <cerrno>

#include <linux/sync_file.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace rknpu::sim {
namespace {

constexpr int kWell = 1;

} // namespace

int read_fence(int fd, int* status) noexcept {
    *status = 0;
    const ssize_t got = ::recv(fd, status, sizeof(*status), MSG_PEEK | MSG_DONTWAIT);
    if (got == static_cast<ssize_t>(sizeof(*status)))
        return 0;
    if (got >= 0) {
        *status = -ECANCELED; // its process is gone
        return 0;
    }
    if (errno == EAGAIN)
        return 0;
    if (errno != ENOTSOCK)
        return -errno;
    sync_file_info info{};
    if (::ioctl(fd, SYNC_IOC_FILE_INFO, &info) != 0)
        return -EINVAL;
    *status = info.status;
    return 0;
}

int Fence::status() {
    if (status_ == 0 && foreign_.valid()) {
        if (const int error = read_fence(foreign_.get(), &status_))
            status_ = error;
    }
    return status_;
}

void Fence::signal(int error) noexcept {
    status_ = error ? error : kWell;
    for (const UniqueFd& end : watched_)
        ::send(end.get(), &status_, sizeof(status_), MSG_NOSIGNAL | MSG_DONTWAIT); // or nobody is there any more
    watched_.clear();
}

int Fence::export_fd(int& fd) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return -errno;
    UniqueFd theirs(ends[0]);
    watched_.emplace_back(ends[1]);
    if (const int now = status())
        signal(now == kWell ? 0 : now);
    fd = theirs.release();
    return 0;
}

} // namespace rknpu::sim
