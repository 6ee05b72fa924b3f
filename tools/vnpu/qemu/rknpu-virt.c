/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The "rknpu-virt" board: QEMU's virt board with a virtual Rockchip NPU.
 *
 * All knowledge of the NPU is in the model, a shared library that is loaded at
 * run time (its C border is vnpu.h), and all knowledge of the device tree is in
 * an overlay that is merged into virt's own tree. What is left here: register
 * windows, interrupt lines, memory on the chip, DMA and time.
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/timer.h"
#include "qemu/units.h"
#include "qapi/error.h"
#include "exec/address-spaces.h"
#include "hw/arm/virt.h"
#include "hw/irq.h"
#include "hw/qdev-properties.h"
#include "hw/sysbus.h"
#include "sysemu/cpu-timers.h"
#include "sysemu/device_tree.h"
#include "sysemu/runstate.h"
#include "vnpu/vnpu.h"

#include <dlfcn.h>
#include <libfdt.h>

/* The NPU: one instance of the model. */

#define TYPE_VNPU "rknpu-vnpu"
OBJECT_DECLARE_SIMPLE_TYPE(VnpuState, VNPU)

typedef struct VnpuWindow {
    VnpuState *vnpu;
    const struct vnpu_window *info;
    MemoryRegion mr;
} VnpuWindow;

struct VnpuState {
    SysBusDevice parent;

    char *soc;
    char *library;
    char *log_path;
    uint64_t fixed_hz;

    const struct vnpu_api *api;
    const struct vnpu_info *info;
    struct vnpu *model;
    FILE *log;
    QEMUTimer *timer;
    /* Since start_ns, when start_cycle was, a second has hz cycles. */
    uint64_t hz, start_cycle;
    int64_t start_ns;
    uint64_t wake; /* the cycle that the model waits for */
    qemu_irq irq[VNPU_MAX_LINES];
    VnpuWindow window[VNPU_MAX_WINDOWS];
};

/*
 * Transfers reach memory and nothing else: they can't end half done, nor come
 * back to the model while that is at work.
 */
static int vnpu_dma(hwaddr addr, void *buf, hwaddr len, bool is_write)
{
    RCU_READ_LOCK_GUARD();

    for (hwaddr done = 0, chunk; done < len; done += chunk) {
        MemoryRegion *mr;
        hwaddr xlat;

        chunk = len - done;
        mr = address_space_translate(&address_space_memory, addr + done, &xlat,
                                     &chunk, is_write, MEMTXATTRS_UNSPECIFIED);
        if (!memory_access_is_direct(mr, is_write)) {
            return -1;
        }
    }
    return address_space_rw(&address_space_memory, addr, MEMTXATTRS_UNSPECIFIED,
                            buf, len, is_write) == MEMTX_OK ? 0 : -1;
}

static int vnpu_dma_read(void *opaque, uint64_t addr, void *buf, size_t len)
{
    return vnpu_dma(addr, buf, len, false);
}

static int vnpu_dma_write(void *opaque, uint64_t addr, const void *buf,
                          size_t len)
{
    return vnpu_dma(addr, (void *)buf, len, true);
}

static void vnpu_irq(void *opaque, unsigned int line, int level)
{
    qemu_set_irq(VNPU(opaque)->irq[line], level);
}

/* The model's time is cycles of the NPU's clock. */
static uint64_t vnpu_now(VnpuState *s)
{
    return s->start_cycle +
           muldiv64(qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) - s->start_ns,
                    s->hz, NANOSECONDS_PER_SECOND);
}

static void vnpu_wake(void *opaque, uint64_t cycle)
{
    VnpuState *s = opaque;
    __uint128_t ns;

    s->wake = cycle;
    if (cycle == UINT64_MAX || !s->hz) {
        timer_del(s->timer);
        return;
    }
    /* Any value fits. Less than a nanosecond late, never early. */
    ns = ((__uint128_t)(cycle - MIN(cycle, s->start_cycle)) *
          NANOSECONDS_PER_SECOND + s->hz - 1) / s->hz + s->start_ns;
    timer_mod(s->timer, MIN(ns, INT64_MAX));
}

static void vnpu_clock(void *opaque, uint64_t hz)
{
    VnpuState *s = opaque;

    if (s->fixed_hz) {
        return;
    }
    s->start_cycle = vnpu_now(s);
    s->start_ns = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    s->hz = hz;
    vnpu_wake(s, s->wake);
}

static void vnpu_report(void *opaque, enum vnpu_severity severity,
                        const char *text)
{
    static const char *const name[] = {
        [VNPU_NOTE] = "note", [VNPU_MISUSE] = "misuse",
        [VNPU_REFUSED] = "refused",
    };
    VnpuState *s = opaque;

    fprintf(s->log, "vnpu: %s: %s\n", name[severity], text);
}

static const struct vnpu_host_ops vnpu_host_ops = {
    .read = vnpu_dma_read,
    .write = vnpu_dma_write,
    .irq = vnpu_irq,
    .wake = vnpu_wake,
    .report = vnpu_report,
    .clock = vnpu_clock,
};

/* What the model takes to compute is not the guest's time: its clock stops. */
static void vnpu_resume_clock(void)
{
    if (runstate_is_running()) {
        cpu_enable_ticks();
    }
}

static void vnpu_advance(void *opaque)
{
    VnpuState *s = opaque;
    uint64_t now = vnpu_now(s);

    cpu_disable_ticks();
    s->api->advance(s->model, now);
    vnpu_resume_clock();
}

static uint64_t vnpu_mmio_read(void *opaque, hwaddr offset, unsigned size)
{
    VnpuWindow *w = opaque;
    VnpuState *s = w->vnpu;

    vnpu_advance(s);
    return s->api->mmio_read(s->model, w->info->base + offset);
}

static void vnpu_mmio_write(void *opaque, hwaddr offset, uint64_t value,
                            unsigned size)
{
    VnpuWindow *w = opaque;
    VnpuState *s = w->vnpu;

    vnpu_advance(s);
    cpu_disable_ticks();
    s->api->mmio_write(s->model, w->info->base + offset, value);
    vnpu_resume_clock();
}

/* Registers take aligned words; all else is an external abort in the guest. */
static const MemoryRegionOps vnpu_mmio_ops = {
    .read = vnpu_mmio_read,
    .write = vnpu_mmio_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 4, .max_access_size = 4 },
    .impl = { .min_access_size = 4, .max_access_size = 4 },
};

static bool vnpu_load(VnpuState *s, Error **errp)
{
    const struct vnpu_api *(*get_api)(uint32_t);
    void *library;

    if (!s->library) {
        error_setg(errp, "no NPU model: vnpu=PATH names its shared library");
        return false;
    }
    library = dlopen(s->library, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        error_setg(errp, "can't load the NPU model: %s", dlerror());
        return false;
    }
    get_api = dlsym(library, "vnpu_get_api");
    s->api = get_api ? get_api(VNPU_ABI_VERSION) : NULL;
    if (!s->api) {
        error_setg(errp, "%s has no NPU model of interface version %u",
                   s->library, VNPU_ABI_VERSION);
        return false;
    }
    return true;
}

static void vnpu_realize(DeviceState *dev, Error **errp)
{
    VnpuState *s = VNPU(dev);
    SysBusDevice *sbd = SYS_BUS_DEVICE(dev);
    const char *soc = s->soc ?: "rk3588";
    char error[256] = "";

    if (!vnpu_load(s, errp)) {
        return;
    }

    s->log = s->log_path ? fopen(s->log_path, "w") : stderr;
    if (!s->log) {
        error_setg_file_open(errp, errno, s->log_path);
        return;
    }
    setvbuf(s->log, NULL, _IOLBF, 0);

    /* The model may call back from its first moment on. */
    s->timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, vnpu_advance, s);
    s->wake = UINT64_MAX;
    for (int i = 0; i < VNPU_MAX_LINES; i++) {
        sysbus_init_irq(sbd, &s->irq[i]);
    }

    s->model = s->api->create(soc, &vnpu_host_ops, s, error, sizeof(error));
    if (!s->model) {
        error_setg(errp, "no model of SoC '%s': %s", soc, error);
        return;
    }
    s->info = s->api->info(s->model);
    s->hz = s->fixed_hz ?: s->info->default_hz;
    if (!s->hz || s->hz > UINT32_MAX) {
        error_setg(errp, "the clock rate of the NPU must be from 1 to %u Hz",
                   UINT32_MAX);
        return;
    }

    for (unsigned i = 0; i < s->info->windows; i++) {
        VnpuWindow *w = &s->window[i];

        w->vnpu = s;
        w->info = &s->info->window[i];
        memory_region_init_io(&w->mr, OBJECT(s), &vnpu_mmio_ops, w, TYPE_VNPU,
                              w->info->size);
        sysbus_init_mmio(sbd, &w->mr);
    }
}

static void vnpu_reset(DeviceState *dev)
{
    VNPU(dev)->api->power_on_reset(VNPU(dev)->model);
}

static Property vnpu_properties[] = {
    DEFINE_PROP_STRING("soc", VnpuState, soc),
    DEFINE_PROP_STRING("library", VnpuState, library),
    DEFINE_PROP_STRING("log", VnpuState, log_path),
    DEFINE_PROP_UINT64("hz", VnpuState, fixed_hz, 0),
    DEFINE_PROP_END_OF_LIST(),
};

static void vnpu_class_init(ObjectClass *oc, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(oc);

    dc->desc = "virtual Rockchip NPU";
    dc->realize = vnpu_realize;
    dc->reset = vnpu_reset;
    dc->user_creatable = false; /* the board wires it */
    device_class_set_props(dc, vnpu_properties);
}

/* The board. */

#define TYPE_RKNPU_VIRT MACHINE_TYPE_NAME("rknpu-virt")
OBJECT_DECLARE_TYPE(RknpuVirtState, RknpuVirtClass, RKNPU_VIRT)

struct RknpuVirtState {
    VirtMachineState parent;
    VnpuState vnpu;
    MemoryRegion sram, shared;
    char *dtbo_path;
    char *dtbo;
};

struct RknpuVirtClass {
    VirtMachineClass parent;
    void (*parent_init)(MachineState *machine);
};

static void rknpu_virt_load_overlay(RknpuVirtState *s)
{
    GError *err = NULL;
    gsize len;

    if (!g_file_get_contents(s->dtbo_path, &s->dtbo, &len, &err)) {
        error_report("%s", err->message);
        exit(1);
    }
    if (len < sizeof(struct fdt_header) || fdt_check_header(s->dtbo) ||
        fdt_totalsize(s->dtbo) > len) {
        error_report("%s is not a compiled device tree overlay", s->dtbo_path);
        exit(1);
    }
}

/* The last change of the tree: QEMU takes no phandle after the overlay. */
static void rknpu_virt_modify_dtb(const struct arm_boot_info *bootinfo,
                                  void *fdt)
{
    RknpuVirtState *s = container_of(bootinfo, RknpuVirtState, parent.bootinfo);
    int ret = fdt_overlay_apply(fdt, s->dtbo);

    if (ret) {
        error_report("can't apply %s: %s", s->dtbo_path, fdt_strerror(ret));
        exit(1);
    }
}

/* The NPU sits at its real addresses, and virt's memory must end below. */
static void rknpu_virt_check_memory(RknpuVirtState *s)
{
    const struct vnpu_info *info = s->vnpu.info;
    hwaddr ram = VIRT_MACHINE(s)->memmap[VIRT_MEM].base;
    hwaddr limit = HWADDR_MAX;

    for (unsigned i = 0; i < info->windows; i++) {
        if (info->window[i].base >= ram) {
            limit = MIN(limit, info->window[i].base);
        }
    }
    if (info->sram_size && info->sram_base >= ram) {
        limit = MIN(limit, info->sram_base);
    }
    if (MACHINE(s)->ram_size > limit - ram) {
        error_report("too much memory: at most %" PRIu64 " MiB fit below the "
                     "NPU at 0x%" HWADDR_PRIx, (limit - ram) / MiB, limit);
        exit(1);
    }
}

static void rknpu_virt_add_memory(RknpuVirtState *s, MemoryRegion *mr,
                                  const char *name, hwaddr base, uint64_t size)
{
    if (size) {
        memory_region_init_ram(mr, OBJECT(s), name, size, &error_fatal);
        memory_region_add_subregion_overlap(get_system_memory(), base, mr, 1);
    }
}

static void rknpu_virt_init(MachineState *machine)
{
    RknpuVirtState *s = RKNPU_VIRT(machine);
    VirtMachineState *vms = VIRT_MACHINE(machine);
    SysBusDevice *sbd = SYS_BUS_DEVICE(&s->vnpu);
    const struct vnpu_info *info;

    if (s->dtbo_path) {
        rknpu_virt_load_overlay(s);
    }

    RKNPU_VIRT_GET_CLASS(s)->parent_init(machine);

    sysbus_realize(sbd, &error_fatal);
    info = s->vnpu.info;
    rknpu_virt_check_memory(s);

    for (unsigned i = 0; i < info->windows; i++) {
        /* Some SoCs have their NPU where virt has its (unused) PCI space. */
        sysbus_mmio_map_overlap(sbd, i, info->window[i].base, 1);
    }
    for (unsigned i = 0; i < info->lines; i++) {
        sysbus_connect_irq(sbd, i, qdev_get_gpio_in(vms->gic, info->irq[i]));
    }
    rknpu_virt_add_memory(s, &s->sram, "sram", info->sram_base,
                          info->sram_size);
    /* It lies over virt's (unused) flash. */
    rknpu_virt_add_memory(s, &s->shared, "firmware", info->shared_base,
                          info->shared_size);
    if (s->dtbo) {
        vms->bootinfo.modify_dtb = rknpu_virt_modify_dtb;
    }
}

static char *rknpu_virt_get_dtbo(Object *obj, Error **errp)
{
    return g_strdup(RKNPU_VIRT(obj)->dtbo_path);
}

static void rknpu_virt_set_dtbo(Object *obj, const char *value, Error **errp)
{
    RknpuVirtState *s = RKNPU_VIRT(obj);

    g_free(s->dtbo_path);
    s->dtbo_path = g_strdup(value);
}

static void rknpu_virt_instance_init(Object *obj)
{
    RknpuVirtState *s = RKNPU_VIRT(obj);

    /* Like the SoCs; version 2's MSI frame would claim the NPU's interrupts. */
    s->parent.gic_version = VIRT_GIC_VERSION_3;
    s->parent.its = false;

    object_initialize_child(obj, "vnpu-device", &s->vnpu, TYPE_VNPU);
    object_property_add_alias(obj, "soc", OBJECT(&s->vnpu), "soc");
    object_property_add_alias(obj, "vnpu", OBJECT(&s->vnpu), "library");
    object_property_add_alias(obj, "vnpu-log", OBJECT(&s->vnpu), "log");
    object_property_add_alias(obj, "npu-hz", OBJECT(&s->vnpu), "hz");
}

static void rknpu_virt_instance_finalize(Object *obj)
{
    RknpuVirtState *s = RKNPU_VIRT(obj);

    g_free(s->dtbo_path);
    g_free(s->dtbo);
}

static void rknpu_virt_class_init(ObjectClass *oc, void *data)
{
    MachineClass *mc = MACHINE_CLASS(oc);

    RKNPU_VIRT_CLASS(oc)->parent_init = mc->init;
    mc->init = rknpu_virt_init;
    mc->desc = "ARM Virtual Machine with a Rockchip NPU";
    mc->alias = NULL;
    mc->default_cpu_type = ARM_CPU_TYPE_NAME("cortex-a76");
    mc->default_ram_size = 1 * GiB;

    object_class_property_add_str(oc, "npu-dtbo", rknpu_virt_get_dtbo,
                                  rknpu_virt_set_dtbo);
}

static const TypeInfo rknpu_virt_types[] = {
    {
        .name = TYPE_VNPU,
        .parent = TYPE_SYS_BUS_DEVICE,
        .instance_size = sizeof(VnpuState),
        .class_init = vnpu_class_init,
    },
    {
        .name = TYPE_RKNPU_VIRT,
        .parent = MACHINE_TYPE_NAME("virt-7.2"),
        .instance_size = sizeof(RknpuVirtState),
        .instance_init = rknpu_virt_instance_init,
        .instance_finalize = rknpu_virt_instance_finalize,
        .class_size = sizeof(RknpuVirtClass),
        .class_init = rknpu_virt_class_init,
    },
};
DEFINE_TYPES(rknpu_virt_types)
