// SPDX-License-Identifier: MIT
//
// Images, and where their memory comes from.
#include "c_api/handles.hpp"

#include <span>
#include <vector>

using namespace rknpu::c_api;

struct rknpu_image {
    rknpu::Image image;
};

static_assert(RKNPU_PIXEL_NV12 == static_cast<int>(rknpu::PixelFormat::Nv12) &&
              RKNPU_PIXEL_UYVY == static_cast<int>(rknpu::PixelFormat::Uyvy));
static_assert(RKNPU_PLANE_BEHIND == rknpu::kBehind);

namespace {

rknpu::ImageDescriptor descriptor_of(const rknpu_image_descriptor& from) noexcept {
    return {static_cast<rknpu::PixelFormat>(from.format),
            from.width,
            from.height,
            from.width_stride,
            from.height_stride,
            {from.plane_offset[0], from.plane_offset[1]},
            from.buffers ? from.buffers : 1};
}

rknpu_image_plane plane_of(const rknpu::ImagePlane& from) noexcept {
    return {from.offset, from.row_bytes, from.row_stride, from.rows, from.buffer};
}

bool is_queue(uint32_t queue) noexcept {
    return queue == static_cast<uint32_t>(rknpu::v4l2::Queue::Capture) ||
           queue == static_cast<uint32_t>(rknpu::v4l2::Queue::CapturePlanes);
}

} // namespace

RKNPU_C_API int rknpu_dmabuf_from_heap(uint64_t size, const char* heap, int* fd) {
    if (!heap || !fd)
        return invalid("rknpu_dmabuf_from_heap: a pointer is NULL");
    return give_fd(rknpu::dmabuf::from_heap(size, heap), fd);
}

RKNPU_C_API int rknpu_dmabuf_from_memfd(int memfd, uint64_t offset, uint64_t size, int* fd) {
    if (!fd)
        return invalid("rknpu_dmabuf_from_memfd: fd is NULL");
    return give_fd(rknpu::dmabuf::from_memfd(memfd, offset, size), fd);
}

RKNPU_C_API int rknpu_dmabuf_fence(int dmabuf, uint32_t access, int* fd) {
    if (!fd)
        return invalid("rknpu_dmabuf_fence: fd is NULL");
    if (!is_access(access))
        return invalid("rknpu_dmabuf_fence: unknown kind of access");
    return give_fd(rknpu::dmabuf::fence(dmabuf, access_of(access)), fd);
}

RKNPU_C_API int rknpu_dmabuf_new_memfd(uint64_t size, int* fd) {
    if (!fd)
        return invalid("rknpu_dmabuf_new_memfd: fd is NULL");
    return give_fd(rknpu::dmabuf::new_memfd(size), fd);
}

RKNPU_C_API int rknpu_image_get_layout(const rknpu_image_descriptor* descriptor, rknpu_image_plane planes[2],
                                       uint32_t* plane_count, uint64_t bytes[2]) {
    if (!descriptor || !planes || !plane_count || !bytes)
        return invalid("rknpu_image_get_layout: a pointer is NULL");
    const auto layout = rknpu::image_layout(descriptor_of(*descriptor));
    if (!layout)
        return fail(layout.error());
    for (uint32_t i = 0; i < 2; ++i) {
        planes[i] = i < layout->plane_count ? plane_of(layout->planes[i]) : rknpu_image_plane{};
        bytes[i] = layout->bytes(i);
    }
    *plane_count = layout->plane_count;
    return RKNPU_OK;
}

RKNPU_C_API uint32_t rknpu_image_row_alignment(const char* soc) {
    return rknpu::image_row_alignment(soc ? soc : "");
}

RKNPU_C_API int rknpu_image_import(rknpu_device* device, int fd, const rknpu_image_descriptor* descriptor,
                                   rknpu_image** image) {
    return rknpu_image_import_in(device, fd, descriptor, 0, 0, image);
}

RKNPU_C_API int rknpu_image_import_in(rknpu_device* device, int fd, const rknpu_image_descriptor* descriptor,
                                      uint32_t flags, uint32_t domain, rknpu_image** image) {
    if (!device || !descriptor || !image)
        return invalid("rknpu_image_import: a pointer is NULL");
    if (!is_import_flags(flags))
        return invalid("rknpu_image_import: the only flag is RKNPU_BUFFER_ANY_DOMAIN");
    return give(rknpu::Image::import_dmabuf(device->device, fd, descriptor_of(*descriptor), {domain, flags != 0}),
                image);
}

RKNPU_C_API int rknpu_image_view(const rknpu_buffer* buffer, const rknpu_image_descriptor* descriptor,
                                 rknpu_image** image) {
    if (!buffer || !descriptor || !image)
        return invalid("rknpu_image_view: a pointer is NULL");
    return give(rknpu::Image::view(buffer->buffer, descriptor_of(*descriptor)), image);
}

RKNPU_C_API int rknpu_image_import_planes(rknpu_device* device, const int* fds, size_t count,
                                          const rknpu_image_descriptor* descriptor, rknpu_image** image) {
    return rknpu_image_import_planes_in(device, fds, count, descriptor, 0, 0, image);
}

RKNPU_C_API int rknpu_image_import_planes_in(rknpu_device* device, const int* fds, size_t count,
                                             const rknpu_image_descriptor* descriptor, uint32_t flags, uint32_t domain,
                                             rknpu_image** image) {
    if (!device || (!fds && count) || !descriptor || !image)
        return invalid("rknpu_image_import_planes: a pointer is NULL");
    if (!is_import_flags(flags))
        return invalid("rknpu_image_import_planes: the only flag is RKNPU_BUFFER_ANY_DOMAIN");
    return give(rknpu::Image::import_dmabuf(device->device, std::span<const int>(fds, count),
                                            descriptor_of(*descriptor), {domain, flags != 0}),
                image);
}

RKNPU_C_API int rknpu_image_view_planes(const rknpu_buffer* const* buffers, size_t count,
                                        const rknpu_image_descriptor* descriptor, rknpu_image** image) try {
    if (!buffers || !descriptor || !image)
        return invalid("rknpu_image_view_planes: a pointer is NULL");
    std::vector<const rknpu::Buffer*> list;
    for (size_t i = 0; i < count; ++i) {
        if (!buffers[i])
            return invalid("rknpu_image_view_planes: a buffer is NULL");
        list.push_back(&buffers[i]->buffer);
    }
    return give(rknpu::Image::view(list, descriptor_of(*descriptor)), image);
} catch (...) {
    return fail(out_of_memory());
}

RKNPU_C_API int rknpu_image_allocate(rknpu_device* device, const rknpu_image_descriptor* descriptor, uint32_t flags,
                                     rknpu_image** image) {
    if (!device || !descriptor || !image)
        return invalid("rknpu_image_allocate: a pointer is NULL");
    if (flags & ~kAllBufferFlags)
        return invalid("rknpu_image_allocate: unknown flag");
    return give(rknpu::Image::allocate(device->device, descriptor_of(*descriptor), buffer_flags(flags)), image);
}

RKNPU_C_API void rknpu_image_free(rknpu_image* image) {
    delete image;
}

RKNPU_C_API uint32_t rknpu_image_planes(const rknpu_image* image) {
    return static_cast<uint32_t>(image->image.planes().size());
}

RKNPU_C_API int rknpu_image_plane_at(const rknpu_image* image, uint32_t plane, rknpu_image_plane* to) {
    if (!image || !to)
        return invalid("rknpu_image_plane_at: a pointer is NULL");
    if (plane >= image->image.planes().size())
        return invalid("rknpu_image_plane_at: the image has not so many planes");
    *to = plane_of(image->image.planes()[plane]);
    return RKNPU_OK;
}

RKNPU_C_API int rknpu_image_buffer(const rknpu_image* image, rknpu_buffer** buffer) {
    if (!image || !buffer)
        return invalid("rknpu_image_buffer: a pointer is NULL");
    return give(rknpu::Result<rknpu::Buffer>(image->image.buffer().share()), buffer, std::nullopt);
}

RKNPU_C_API int rknpu_image_plane_buffer(const rknpu_image* image, uint32_t plane, rknpu_buffer** buffer) {
    if (!image || !buffer)
        return invalid("rknpu_image_plane_buffer: a pointer is NULL");
    if (plane >= image->image.planes().size())
        return invalid("rknpu_image_plane_buffer: the image has not so many planes");
    return give(rknpu::Result<rknpu::Buffer>(image->image.buffer(plane).share()), buffer, std::nullopt);
}

RKNPU_C_API int rknpu_v4l2_export(int video, uint32_t queue, uint32_t index, uint32_t plane, int* fd) {
    if (!fd || !is_queue(queue))
        return invalid("rknpu_v4l2_export: fd is NULL, or no such kind of queue");
    return give_fd(rknpu::v4l2::export_buffer(video, index, static_cast<rknpu::v4l2::Queue>(queue), plane), fd);
}

RKNPU_C_API int rknpu_v4l2_describe(int video, uint32_t queue, rknpu_image_descriptor* descriptor) {
    if (!descriptor || !is_queue(queue))
        return invalid("rknpu_v4l2_describe: descriptor is NULL, or no such kind of queue");
    const auto from = rknpu::v4l2::describe(video, static_cast<rknpu::v4l2::Queue>(queue));
    if (!from)
        return fail(from.error());
    *descriptor = {{from->plane_offset[0], from->plane_offset[1]},
                   static_cast<uint32_t>(from->format),
                   from->width,
                   from->height,
                   from->width_stride,
                   from->height_stride,
                   from->buffers};
    return RKNPU_OK;
}

RKNPU_C_API uint32_t rknpu_v4l2_fourcc_of(uint32_t format, uint32_t buffers) {
    return rknpu::v4l2::fourcc_of(static_cast<rknpu::PixelFormat>(format), buffers);
}

RKNPU_C_API int rknpu_v4l2_format_of(uint32_t fourcc, uint32_t* format) {
    if (!format)
        return invalid("rknpu_v4l2_format_of: format is NULL");
    const auto known = rknpu::v4l2::format_of(fourcc);
    if (!known)
        return fail(known.error());
    *format = static_cast<uint32_t>(*known);
    return RKNPU_OK;
}
