// SPDX-License-Identifier: MIT
#include "backend/drm.hpp"
#include "find_device.hpp"
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
    assert_true(contains(error.message(), "group \"root\" (its mode is 0660)"));
}

void says_who_else_forbids_it(void**) {
    FakeDriver driver;
    driver.nodes = {{"/dev/dri/renderD128", {.open_error = -EPERM}}};
    const auto forbidden = find_drm_node(driver);
    assert_true(contains(must_fail(forbidden, Errc::NotPermitted).message(), "container"));
    driver.nodes = {{"/dev/accel/accel0", {.driver = "rocket"}}};
    const auto taken = find_drm_node(driver);
    assert_true(contains(must_fail(taken, Errc::NotFound).message(), "\"rocket\" has the NPU"));
    driver.nodes = {{"/dev/accel/accel0", {.driver = "ivpu"}}};
    const auto none = find_drm_node(driver);
    assert_false(contains(must_fail(none, Errc::NotFound).message(), "ivpu"));
    assert_int_equal(driver.open_nodes(), 0);
}

void lists_nodes_with_reasons(void**) {
    FakeDriver driver;
    driver.nodes = {{"/dev/dri/card0", {.driver = "rockchip"}},
                    {"/dev/dri/card1", {.driver = "rknpu"}},
                    {"/dev/dri/renderD128", {.open_error = -EACCES}},
                    {"/dev/dri/renderD129", {.soc = 3576}}};
    const auto nodes = rknpu::detail::list_nodes(driver);
    assert_int_equal(nodes.size(), 3);
    assert_string_equal(nodes[0].node.c_str(), "/dev/dri/renderD128");
    assert_false(nodes[0].usable);
    assert_true(contains(nodes[0].reason, "permission denied"));
    assert_true(nodes[1].usable && nodes[1].soc == "rk3576" && nodes[1].reason.empty());
    assert_true(nodes[2].usable && nodes[2].soc == "rk3588");
    assert_int_equal(driver.open_nodes(), 0);
}

void opens_a_soc(void**) {
    FakeDriver driver;
    driver.nodes = {{"/dev/dri/renderD128", {.soc = 3576}}, {"/dev/dri/renderD129", {.soc = 3588}}};
    assert_string_equal(must(rknpu::detail::open_soc(driver, "rk3588")).info().node.c_str(), "/dev/dri/renderD129");
    assert_string_equal(must(rknpu::detail::open_soc(driver, "rk3576")).info().node.c_str(), "/dev/dri/renderD128");
    const auto missing = rknpu::detail::open_soc(driver, "rk3568");
    assert_true(contains(must_fail(missing, Errc::NotFound).message(), "/dev/dri/renderD129 is that of a rk3588"));
    assert_int_equal(driver.open_nodes(), 0);
}

void our_driver_is_asked_for_everything(void**) {
    FakeDriver driver;
    driver.sram_total = 8192;
    driver.usable_cores = 5;
    const Device device = open_fake(driver);
    const auto& info = device.info();
    assert_int_equal(info.abi_level, 3);
    assert_int_equal(info.cores, 3);
    for (std::uint32_t mask = 0; mask < 40; ++mask)
        assert_int_equal(info.takes_cores(mask), mask < 5 || mask == 7);
    assert_int_equal(info.sram_size, 8192);
    assert_int_equal(info.domains, 16);
    assert_int_equal(info.tasks_a_start, 4095);
    assert_true(info.fences && info.isolation && !info.core_reset);
    assert_int_equal(must(device.usable_cores()), 5);
}

void names_of_socs_come_from_their_numbers(void**) {
    const struct {
        std::uint32_t number;
        const char* name;
    } kCases[] = {{3588, "rk3588"}, {3562, "rk3562"}, {1106, "rv1106"}, {1126, "rv1126b"}, {3999, "rk3999"}};
    for (const auto& c : kCases) {
        FakeDriver driver;
        driver.nodes["/dev/dri/renderD128"].soc = c.number;
        assert_string_equal(open_fake(driver).info().soc.c_str(), c.name);
    }
}

void the_vendors_driver_is_enough(void**) {
    FakeDriver driver;
    driver.extended = false;
    driver.sram_total = 4096;
    {
        const Device device = open_fake(driver);
        const auto& info = device.info();
        assert_int_equal(info.abi_level, 0);
        assert_string_equal(info.soc.c_str(), "rk3588");
        assert_int_equal(info.cores, 3);
        assert_true(info.takes_cores(7) && info.takes_cores(3) && !info.takes_cores(5) && !info.takes_cores(6));
        assert_int_equal(info.sram_size, 4096);
        assert_int_equal(info.domains, 16);
        assert_false(info.fences || info.isolation || info.core_reset);
        assert_int_equal(must(device.usable_cores()), 7);
    }
    // A SoC that can't be told, and a driver without support for SRAM.
    driver.hardware_version = 0;
    driver.action_errors[RKNPU_GET_TOTAL_SRAM_SIZE] = -EINVAL;
    const Device device = open_fake(driver);
    assert_string_equal(device.info().soc.c_str(), "unknown");
    assert_int_equal(device.info().cores, 1);
    assert_true(device.info().takes_cores(0) && device.info().takes_cores(1) && !device.info().takes_cores(2));
    assert_int_equal(device.info().sram_size, 0);
    assert_int_equal(must(device.memory()).sram_free, 0);
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
    assert_int_equal(driver.named("GET_PARAM").size(), 4 * 8);
}

void bad_names_are_refused(void**) {
    for (const char* name : {"", "simulator", "renderD128", "sim3588"})
        must_fail(Device::open(name), Errc::InvalidArgument);
    must_fail(Device::open("/nowhere/renderD128"), Errc::NotFound);
    must_fail(Device::open("/dev/null"), Errc::WrongDevice);
    must_fail(Device::open("sim:rk9999"), Errc::Unsupported);
    must_fail(Device::open("rk9999"), Errc::NotFound);
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
    cmocka_unit_test(says_who_else_forbids_it),
    cmocka_unit_test(lists_nodes_with_reasons),
    cmocka_unit_test(opens_a_soc),
    cmocka_unit_test(our_driver_is_asked_for_everything),
    cmocka_unit_test(names_of_socs_come_from_their_numbers),
    cmocka_unit_test(the_vendors_driver_is_enough),
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
