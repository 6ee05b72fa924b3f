// SPDX-License-Identifier: MIT
//
// A user's own test, as docs/rknpu-vm.md builds and runs one: asks the NPU's node for the driver's version, in TAP.
#include <drm/drm.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

int main(void) {
    char name[32] = "";
    struct drm_version version = {.name = name, .name_len = sizeof(name) - 1};
    int fd = open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
    int good = fd >= 0 && ioctl(fd, DRM_IOCTL_VERSION, &version) == 0 && strcmp(name, "rknpu") == 0;

    printf("1..1\n%sok 1 - %s %d.%d.%d\n", good ? "" : "not ", name, version.version_major, version.version_minor,
           version.version_patchlevel);
    return !good;
}
