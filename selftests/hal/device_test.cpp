// SPDX-License-Identifier: MIT
#include "backend/drm.hpp"
#include "support/fake_driver.hpp"
#include "support/test.hpp"

#include <rknpu/device.hpp>

#include <cerrno>
#include <cstdlib>
#include <string>

using rknpu::Device;
using rknpu::Errc;
using rknpu::detail::find_drm_node;
using rknpu::detail::open_drm_node;

namespace {

bool contains(const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
}

void finds_the_render_node_by_driver_name(void**) {
    FakeDriver driver;
    driver.nodes = {{"/dev/dri/card0", {.driver = "rockchip"}},
                    {"/dev/dri/card1", {.driver = "rknpu"}},
                    {"/dev/dri/renderD128", {.driver = "panfrost"}},
                    {"/dev/dri/renderD129", {.driver = "rknpu"}}};
    {
        const auto backend = must(find_drm_node(driver));
        assert_string_equal(backend->node(), "/dev/dri/renderD129");
        assert_int_equal(driver.open_nodes(), 1); // the others were closed again
    }
    assert_int_equal(driver.open_nodes(), 0);
}

void finds_the_primary_node_when_there_is_no_other(void**) {
    FakeDriver driver;
    driver.nodes = {{"/dev/dri/card0", {.driver = "rockchip"}}, {"/dev/dri/card7", {.driver = "rknpu"}}};
    assert_string_equal(must(find_drm_node(driver))->node(), "/dev/dri/card7");
}

void names_are_compared_whole(void**) {
    FakeDriver driver;
    driver.nodes = {{"/dev/dri/renderD128", {.driver = "rknpux"}}, {"/dev/dri/renderD129", {.driver = "rk"}}};
    const auto found = find_drm_node(driver);
    const auto& error = must_fail(found, Errc::NotFound);
    assert_true(contains(error.message(), "rknpux"));
}

void says_that_there_is_no_node(void**) {
    FakeDriver driver;
    driver.nodes.clear();
    const auto found = find_drm_node(driver);
    assert_true(contains(must_fail(found, Errc::NotFound).message(), "load the module"));
}

void says_who_may_not_open_what(void**) {
    FakeDriver driver;
    driver.nodes = {{"/dev/dri/card0", {.driver = "rockchip"}},
                    {"/dev/dri/renderD128", {.driver = "rknpu", .open_error = -EACCES}}};
    const auto found = find_drm_node(driver);
    const auto& error = must_fail(found, Errc::NotPermitted);
    assert_true(contains(error.message(), "/dev/dri/renderD128: permission denied"));
    assert_true(contains(error.message(), "rockchip"));
}

void opens_a_named_node(void**) {
    FakeDriver driver;
    driver.nodes["/dev/dri/card0"] = {.driver = "rockchip"};
    assert_string_equal(must(open_drm_node(driver, "/dev/dri/renderD128"))->node(), "/dev/dri/renderD128");
    must_fail(open_drm_node(driver, "/dev/dri/card0"), Errc::WrongDevice);
    must_fail(open_drm_node(driver, "/dev/dri/card1"), Errc::NotFound);
    assert_int_equal(driver.open_nodes(), 0);
}

void every_errno_of_open_has_an_answer(void**) {
    const struct {
        int error;
        std::error_code code;
    } kCases[] = {
        {EACCES, Errc::NotPermitted},
        {EPERM, Errc::NotPermitted},
        {ENOENT, Errc::NotFound},
        {ENXIO, Errc::NotFound},
        {ENODEV, Errc::NotFound},
        {EMFILE, std::make_error_code(std::errc::too_many_files_open)},
        {EBUSY, std::make_error_code(std::errc::device_or_resource_busy)},
    };
    for (const auto& c : kCases) {
        FakeDriver driver;
        driver.nodes["/dev/dri/renderD128"].open_error = -c.error;
        must_fail(open_drm_node(driver, "/dev/dri/renderD128"), c.code);
    }
}

void a_node_that_answers_no_version_is_no_drm_node(void**) {
    FakeDriver driver;
    driver.fail_call(2, ENOTTY);
    must_fail(open_drm_node(driver, "/dev/dri/renderD128"), Errc::WrongDevice);
    assert_int_equal(driver.open_nodes(), 0);
}

void reads_what_the_device_is(void**) {
    FakeDriver driver;
    const Device device = open_fake(driver);
    assert_string_equal(device.info().node.c_str(), "/dev/dri/renderD128");
    assert_string_equal(device.info().driver.c_str(), "rknpu");
    assert_string_equal(device.info().soc.c_str(), "rk3588");
    assert_int_equal(device.info().driver_version, 908);
    assert_int_equal(device.info().hardware_version, 0x46495245);
    assert_true(device.info().iommu);
}

void interrupted_calls_are_repeated(void**) {
    FakeDriver driver;
    driver.interrupt(3, EINTR);
    const Device device = open_fake(driver);
    assert_int_equal(device.info().driver_version, 908);
    assert_int_equal(driver.named("open").size(), 4);
    assert_int_equal(driver.named("VERSION").size(), 4);
    assert_int_equal(driver.named("ACTION").size(), 4 * 3);
}

void bad_names_are_refused(void**) {
    for (const char* name : {"", "simulator", "renderD128", "sim3588"})
        must_fail(Device::open(name), Errc::InvalidArgument);
    must_fail(Device::open("/nowhere/renderD128"), Errc::NotFound);
    must_fail(Device::open("/dev/null"), Errc::WrongDevice);
    must_fail(Device::open("sim:rk9999"), Errc::Unsupported);
}

void environment_names_the_default(void**) {
    ::setenv("RKNPU_DEVICE", "sim:rk3588", 1);
    assert_string_equal(must(Device::open()).info().node.c_str(), "sim:rk3588");
    ::setenv("RKNPU_DEVICE", "nonsense", 1);
    must_fail(Device::open(), Errc::InvalidArgument);
    ::unsetenv("RKNPU_DEVICE");
}

const CMUnitTest kTests[] = {
    cmocka_unit_test(finds_the_render_node_by_driver_name),
    cmocka_unit_test(finds_the_primary_node_when_there_is_no_other),
    cmocka_unit_test(names_are_compared_whole),
    cmocka_unit_test(says_that_there_is_no_node),
    cmocka_unit_test(says_who_may_not_open_what),
    cmocka_unit_test(opens_a_named_node),
    cmocka_unit_test(every_errno_of_open_has_an_answer),
    cmocka_unit_test(a_node_that_answers_no_version_is_no_drm_node),
    cmocka_unit_test(reads_what_the_device_is),
    cmocka_unit_test(interrupted_calls_are_repeated),
    cmocka_unit_test(bad_names_are_refused),
    cmocka_unit_test(environment_names_the_default),
};

} // namespace

RUN_TESTS(kTests)
