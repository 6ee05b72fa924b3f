// SPDX-License-Identifier: MIT
#include "c_api/handles.hpp"

#include <cstddef>
#include <utility>

using namespace rknpu::c_api;

RKNPU_C_API const char* rknpu_last_error(void) {
    return last_error().c_str();
}

RKNPU_C_API int rknpu_device_open(const char* name, rknpu_device** device) {
    if (!device)
        return invalid("rknpu_device_open: device is NULL");
    return give(name ? rknpu::Device::open(name) : rknpu::Device::open(), device);
}

RKNPU_C_API void rknpu_device_close(rknpu_device* device) {
    delete device;
}

RKNPU_C_API uint32_t rknpu_device_driver_version(const rknpu_device* device) {
    return device->device.info().driver_version;
}

RKNPU_C_API const char* rknpu_device_node(const rknpu_device* device) {
    return device->device.info().node.c_str();
}

RKNPU_C_API const char* rknpu_device_soc(const rknpu_device* device) {
    return device->device.info().soc.c_str();
}

RKNPU_C_API int rknpu_device_get_info(const rknpu_device* device, rknpu_device_info* info, size_t size) {
    if (!device || !info)
        return invalid("rknpu_device_get_info: a pointer is NULL");
    const rknpu::DeviceInfo& from = device->device.info();
    rknpu_device_info known{};
    known.sram_size = from.sram_size;
    known.driver_version = from.driver_version;
    known.hardware_version = from.hardware_version;
    known.abi_level = from.abi_level;
    known.cores = from.cores;
    known.core_masks = from.core_masks;
    known.domains = from.domains;
    known.tasks_a_start = from.tasks_a_start;
    known.features = (from.iommu ? RKNPU_DEVICE_IOMMU : 0) | (from.fences ? RKNPU_DEVICE_FENCES : 0) |
                     (from.isolation ? RKNPU_DEVICE_ISOLATION : 0) | (from.core_reset ? RKNPU_DEVICE_CORE_RESET : 0);
    give_struct(known, info, size);
    return RKNPU_OK;
}

RKNPU_C_API int rknpu_device_get_memory(const rknpu_device* device, rknpu_memory_statistics* memory, size_t size) {
    if (!device || !memory)
        return invalid("rknpu_device_get_memory: a pointer is NULL");
    const auto from = device->device.memory();
    if (!from)
        return fail(from.error());
    const rknpu_memory_statistics known = {from->buffers,        from->allocated,  from->imported,
                                           from->allocated_sram, from->sram_total, from->sram_free};
    give_struct(known, memory, size);
    return RKNPU_OK;
}

RKNPU_C_API int rknpu_device_usable_cores(const rknpu_device* device, uint32_t* mask) {
    if (!device || !mask)
        return invalid("rknpu_device_usable_cores: a pointer is NULL");
    const auto result = device->device.usable_cores();
    if (!result)
        return fail(result.error());
    *mask = *result;
    return RKNPU_OK;
}

RKNPU_C_API void rknpu_device_check_accesses(rknpu_device* device, int on) {
    device->device.check_accesses(on != 0);
}

RKNPU_C_API int rknpu_device_enumerate(int (*visit)(const char*, const char*, const char*, void*), void* opaque) {
    if (!visit)
        return invalid("rknpu_device_enumerate: visit is NULL");
    const auto nodes = rknpu::Device::enumerate();
    if (!nodes)
        return fail(nodes.error());
    for (const auto& node : *nodes) {
        if (visit(node.node.c_str(), node.usable ? node.soc.c_str() : nullptr, node.reason.c_str(), opaque) != 0)
            break;
    }
    return RKNPU_OK;
}

RKNPU_C_API int rknpu_buffer_allocate(rknpu_device* device, uint64_t size, uint32_t flags, rknpu_buffer** buffer) {
    return rknpu_buffer_allocate_in(device, size, flags, 0, buffer);
}

RKNPU_C_API int rknpu_buffer_allocate_in(rknpu_device* device, uint64_t size, uint32_t flags, uint32_t domain,
                                         rknpu_buffer** buffer) {
    if (!device || !buffer)
        return invalid("rknpu_buffer_allocate: a pointer is NULL");
    if (flags & ~kAllBufferFlags)
        return invalid("rknpu_buffer_allocate: unknown flag");
    return give(rknpu::Buffer::allocate(device->device, size, buffer_flags(flags), domain), buffer, std::nullopt);
}

RKNPU_C_API int rknpu_buffer_import(rknpu_device* device, int fd, uint64_t needed, rknpu_buffer** buffer) {
    return rknpu_buffer_import_in(device, fd, needed, 0, 0, buffer);
}

RKNPU_C_API int rknpu_buffer_import_in(rknpu_device* device, int fd, uint64_t needed, uint32_t flags, uint32_t domain,
                                       rknpu_buffer** buffer) {
    if (!device || !buffer)
        return invalid("rknpu_buffer_import: a pointer is NULL");
    if (!is_import_flags(flags))
        return invalid("rknpu_buffer_import: the only flag is RKNPU_BUFFER_ANY_DOMAIN");
    return give(rknpu::Buffer::import_dmabuf(device->device, fd, needed, {domain, flags != 0}), buffer, std::nullopt);
}

RKNPU_C_API int rknpu_buffer_from_physical(rknpu_device* device, uint64_t address, uint64_t size, void* mapped,
                                           rknpu_buffer** buffer) {
    if (!device || !buffer)
        return invalid("rknpu_buffer_from_physical: a pointer is NULL");
    return give(rknpu::Buffer::from_physical(device->device, address, size, mapped), buffer, std::nullopt);
}

RKNPU_C_API void rknpu_buffer_free(rknpu_buffer* buffer) {
    delete buffer;
}

RKNPU_C_API int rknpu_buffer_export(const rknpu_buffer* buffer, int* fd) {
    if (!buffer || !fd)
        return invalid("rknpu_buffer_export: a pointer is NULL");
    auto result = buffer->buffer.export_dmabuf();
    if (!result)
        return fail(result.error());
    *fd = result->release();
    return RKNPU_OK;
}

RKNPU_C_API int rknpu_buffer_begin(rknpu_buffer* buffer, uint32_t access, uint64_t offset, uint64_t size,
                                   void** address) {
    if (!buffer || !address)
        return invalid("rknpu_buffer_begin: a pointer is NULL");
    if (buffer->access)
        return invalid("rknpu_buffer_begin: the access before has not been ended");
    if (!is_access(access))
        return invalid("rknpu_buffer_begin: unknown kind of access");
    auto result = buffer->buffer.access(access_of(access), offset, size);
    if (!result)
        return fail(result.error());
    *address = result->bytes().data();
    buffer->access = *std::move(result);
    return RKNPU_OK;
}

RKNPU_C_API int rknpu_buffer_end(rknpu_buffer* buffer) {
    if (!buffer || !buffer->access)
        return invalid("rknpu_buffer_end: no access was begun");
    const auto result = buffer->access->end();
    buffer->access.reset();
    return finish(result);
}

RKNPU_C_API uint64_t rknpu_buffer_size(const rknpu_buffer* buffer) {
    return buffer->buffer.size();
}
RKNPU_C_API uint32_t rknpu_buffer_dma_address(const rknpu_buffer* buffer) {
    return buffer->buffer.dma_address();
}

RKNPU_C_API uint32_t rknpu_buffer_domain(const rknpu_buffer* buffer) {
    return buffer->buffer.domain();
}
RKNPU_C_API uint64_t rknpu_buffer_sram_size(const rknpu_buffer* buffer) {
    return buffer->buffer.sram_size();
}
RKNPU_C_API uint64_t rknpu_buffer_accessed(const rknpu_buffer* buffer) {
    return buffer->buffer.accessed();
}

RKNPU_C_API int rknpu_buffer_imported(const rknpu_buffer* buffer) {
    return buffer->buffer.imported();
}
