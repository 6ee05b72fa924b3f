// SPDX-License-Identifier: MIT
#include "backend/drm.hpp"

#include "base/format.hpp"

#include <drm/rknpu_drm.h>
#include <linux/dma-buf.h>
#include <linux/sync_file.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>

namespace rknpu::detail {
namespace {

constexpr char kDriverName[] = "rknpu";
constexpr int kFirstRenderMinor = 128;
constexpr int kMinors = 64; // of each kind

class DrmBackend final : public Backend {
  public:
    DrmBackend(Os& os, std::string node) noexcept : os_(os), node_(std::move(node)) {}
    DrmBackend(const DrmBackend&) = delete;
    DrmBackend& operator=(const DrmBackend&) = delete;
    ~DrmBackend() override {
        if (fd_ >= 0)
            os_.close(fd_);
    }

    int open() noexcept {
        do
            fd_ = os_.open(node_.c_str(), O_RDWR | O_CLOEXEC);
        while (fd_ == -EINTR);
        return fd_ < 0 ? fd_ : 0;
    }

    const char* node() const noexcept override { return node_.c_str(); }
    int ioctl(unsigned long request, void* argument) noexcept override { return retry(fd_, request, argument); }

    int map(std::uint64_t offset, std::size_t length, void** address) noexcept override {
        return os_.mmap(fd_, offset, length, address);
    }
    int map_dmabuf(int fd, std::size_t length, void** address) noexcept override {
        return os_.mmap(fd, 0, length, address);
    }
    void unmap(void* address, std::size_t length) noexcept override { os_.munmap(address, length); }

    int sync_dmabuf(int fd, std::uint64_t flags) noexcept override {
        dma_buf_sync sync{.flags = flags};
        return retry(fd, DMA_BUF_IOCTL_SYNC, &sync);
    }

    int fence_status(int fd, int* status) noexcept override {
        sync_file_info info{};
        const int error = retry(fd, SYNC_IOC_FILE_INFO, &info);
        *status = info.status;
        return error;
    }

  private:
    // The one place where a signal or a busy kernel makes us ask again. A job that was started is not interrupted by a
    // signal that the process survives, so asking again never runs it twice.
    int retry(int fd, unsigned long request, void* argument) noexcept {
        int result;
        do
            result = os_.ioctl(fd, request, argument);
        while (result == -EINTR || result == -EAGAIN);
        return result;
    }

    Os& os_;
    int fd_ = -1;
    std::string node_;
};

// Name of the driver behind a node, or a negative errno in `error`.
std::string driver_name(Backend& backend, int& error) {
    char name[32] = {};
    drm_version version{};
    version.name = name;
    version.name_len = sizeof(name) - 1;
    error = backend.ioctl(DRM_IOCTL_VERSION, &version);
    return error ? std::string() : std::string(name);
}

std::string node_path(bool render, int index) {
    return format(render ? "/dev/dri/renderD%d" : "/dev/dri/card%d", (render ? kFirstRenderMinor : 0) + index);
}

// "group render (its mode is 0660)", for people who may not open it.
std::string group_of(const struct stat& status) {
    struct group entry;
    struct group* found = nullptr;
    char names[1024];
    std::string name = format("%u", static_cast<unsigned>(status.st_gid));
    if (::getgrgid_r(status.st_gid, &entry, names, sizeof(names), &found) == 0 && found)
        name = found->gr_name;
    return format("\"%s\" (its mode is %04o)", name.c_str(), static_cast<unsigned>(status.st_mode & 07777));
}

Error why_not_opened(Os& os, const std::string& path, int error) {
    struct stat status;
    switch (-error) {
    case EACCES:
        if (os.stat(path.c_str(), &status) == 0)
            return {Errc::NotPermitted,
                    format("%s: permission denied; the node is for the group %s: add the user to it (usermod -aG) and "
                           "log in again",
                           path.c_str(), group_of(status).c_str())};
        return {Errc::NotPermitted,
                format("%s: permission denied on the way to the node; ask the owner of its folder", path.c_str())};
    case EPERM:
        return {Errc::NotPermitted, format("%s: not permitted; the device rules of the container or service forbid it "
                                           "(docker: --device %s, systemd: DeviceAllow=)",
                                           path.c_str(), path.c_str())};
    case ENOENT:
        return {Errc::NotFound, format("%s does not exist; is the module rknpu loaded?", path.c_str())};
    case ENXIO:
    case ENODEV:
        return {Errc::NotFound, format("%s has no device behind it", path.c_str())};
    case EMFILE:
    case ENFILE:
        return {std::error_code(-error, std::generic_category()),
                format("%s can't be opened: %s; raise the limit of open files (ulimit -n)", path.c_str(),
                       std::strerror(-error))};
    default:
        return {std::error_code(-error, std::generic_category()),
                format("%s can't be opened: %s", path.c_str(), std::strerror(-error))};
    }
}

// Where the kernel's own driver for this NPU shows up; while it has the hardware, ours has no node.
std::string other_npu_driver(Os& os) {
    constexpr int kAccelMinors = 8;
    for (int i = 0; i < kAccelMinors; ++i) {
        DrmBackend node(os, format("/dev/accel/accel%d", i));
        if (node.open() != 0)
            continue;
        int error = 0;
        const std::string name = driver_name(node, error);
        if (!error && name == "rocket")
            return format("\n  %s: the driver \"rocket\" has the NPU; unload it, then load rknpu", node.node());
    }
    return {};
}

} // namespace

Result<BackendPtr> open_drm_node(Os& os, const std::string& path) {
    auto* const node = new DrmBackend(os, path);
    BackendPtr backend(node, [](Backend* b) noexcept { delete b; });
    int error = node->open();
    if (error)
        return why_not_opened(os, path, error);
    const std::string name = driver_name(*backend, error);
    if (error)
        return Error(Errc::WrongDevice, format("%s is no DRM node (%s)", path.c_str(), std::strerror(-error)));
    if (name != kDriverName)
        return Error(Errc::WrongDevice,
                     format("%s belongs to the driver \"%s\", not \"%s\"", path.c_str(), name.c_str(), kDriverName));
    return backend;
}

std::vector<DrmNode> find_drm_nodes(Os& os) {
    std::vector<DrmNode> nodes;
    for (const bool render : {true, false}) {
        for (int i = 0; i < kMinors; ++i) {
            std::string path = node_path(render, i);
            auto backend = open_drm_node(os, path);
            if (backend)
                nodes.push_back({std::move(path), {}});
            else if (backend.error().code() != Errc::NotFound && backend.error().code() != Errc::WrongDevice)
                nodes.push_back({std::move(path), std::move(backend).error()});
        }
    }
    return nodes;
}

Result<BackendPtr> find_drm_node(Os& os) {
    std::string reasons;
    bool denied = false;
    for (const bool render : {true, false}) {
        for (int i = 0; i < kMinors; ++i) {
            const std::string path = node_path(render, i);
            auto backend = open_drm_node(os, path);
            if (backend)
                return backend;
            if (backend.error().code() == Errc::NotFound)
                continue;
            denied |= backend.error().code() == Errc::NotPermitted;
            reasons += "\n  " + backend.error().message();
        }
    }
    reasons += other_npu_driver(os);
    if (reasons.empty())
        return Error(Errc::NotFound, "no DRM node in /dev/dri; load the module rknpu, or pass the node into the "
                                     "container");
    return Error(denied ? Errc::NotPermitted : Errc::NotFound,
                 "no DRM node of the driver \"rknpu\" could be opened; looked at:" + reasons);
}

} // namespace rknpu::detail
