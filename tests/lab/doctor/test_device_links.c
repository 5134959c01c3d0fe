/* The ways between two and between eight devices: measured over the stand-ins for CUDA and NVML,
 * and judged. */
#include "harness/lab/doctor/doctor.h"

#include "tests/fixtures/cmocka_prelude.h"

#include <math.h>

static void assert_row(const struct checks *checks, const char *name, enum check_status status,
                       const char *value, const char *advice)
{
    const struct check *row = checks_find(checks, name);

    assert_non_null(row);
    if (row->status != status || strstr(row->value, value) == NULL ||
        strstr(row->advice, advice) == NULL)
        fail_msg("%s is %s, \"%s\" (%s)", name, check_status_name(row->status), row->value,
                 row->advice);
}

/* --- Measured --- */

static struct device_links measured(const char *devices, const char *name)
{
    struct device_links links;
    struct device *device;

    setenv("STAND_IN_DEVICES", devices, 1);
    assert_ok(device_open(&device, name, NULL));
    assert_int_equal(device_properties(device)->peers, atoi(devices) - 1);
    assert_ok(device_links_measure(&links, device));
    assert_int_equal(device_counters(device).allocations, device_counters(device).frees);
    device_close(device);
    return links;
}

TEST(every_device_is_measured_with_every_other)
{
    static const struct {
        const char *devices, *device;
    } cases[] = { { "2", "cuda:1" }, { "8", "cuda:2" } };

    setenv("FAKE_NVML_NVLINKS", "18", 1);
    for (size_t c = 0; c < ARRAY_SIZE(cases); c++) {
        struct device_links links = measured(cases[c].devices, cases[c].device);
        int count = links.devices, seen = 0;
        assert_int_equal(count, atoi(cases[c].devices));
        assert_int_equal(links.count, count * (count - 1));
        for (int from = 0; from < count; from++)
            for (int to = 0; to < count; to++) {
                const struct device_way *way = &links.ways[seen];
                if (from == to)
                    continue;
                seen++;
                assert_int_equal(way->from, from);
                assert_int_equal(way->to, to);
                assert_string_equal(way->failure, "");
                assert_string_equal(way->link.kind, "NVLink, 18 links up");
                assert_string_equal(way->link.refused, "");
                assert_int_equal(way->link.direct, 1);
                assert_true(way->bytes_per_second > 1e6 && way->copy_ns > 0);
            }
        device_links_release(&links);
    }
    unsetenv("FAKE_NVML_NVLINKS");
}

TEST(a_way_without_nvlink_or_peer_access_says_what_it_is)
{
    struct device_links links;
    struct checks checks = { .count = 0 };

    setenv("STAND_IN_PEERS", "0", 1);
    setenv("FAKE_NVML_P2P", "4", 1);
    links = measured("5", "cuda");
    assert_string_equal(links.ways[0].link.kind, "PCIe, one switch"); /* 0 to 1 */
    assert_string_equal(links.ways[3].link.kind, "PCIe, between NUMA nodes");
    assert_int_equal(links.ways[0].link.direct, 0);
    device_links_check(&checks, &links);
    assert_row(&checks, "peer_links", CHECK_LOW,
               "PCIe, one switch: 12 ways; PCIe, between NUMA nodes: 8 ways",
               "on 20 of 20 ways, the first from 0 to 1, as a registry key of the driver");
    device_links_release(&links);
    unsetenv("STAND_IN_PEERS");
    unsetenv("FAKE_NVML_P2P");
}

static struct device_link link_of_two(void)
{
    struct device_link link;
    struct device *device;

    setenv("STAND_IN_DEVICES", "2", 1);
    assert_ok(device_open(&device, "cuda", NULL));
    link = device_link(device, 1);
    device_close(device);
    return link;
}

/* CUDA still says whether copies are direct; the kind of link is NVML's to say. */
TEST(an_nvml_that_refuses_leaves_the_kind_unknown)
{
    static const char *const functions[] = { "nvmlDeviceGetTopologyCommonAncestor:3",
                                             "nvmlDeviceGetTopologyCommonAncestor:999",
                                             "nvmlDeviceGetP2PStatus:3",
                                             "nvmlDeviceGetHandleByPciBusId_v2:6", "all:15" };

    for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
        struct device_way way = { .from = 0, .to = 1 };
        const struct device_links links = { .ways = &way, .count = 1, .devices = 2 };
        struct checks checks = { .count = 0 };
        setenv("FAKE_NVML_FAILS", functions[i], 1);
        way.link = link_of_two();
        assert_string_equal(way.link.kind, "");
        device_links_check(&checks, &links);
        assert_row(&checks, "peer_links", CHECK_OK, "unknown: 1 ways", "");
        way.link.direct = -1;
        checks = (struct checks){ .count = 0 };
        device_links_check(&checks, &links);
        assert_int_equal(checks_find(&checks, "peer_links")->status, CHECK_NONE);
        assert_true(checks_find(&checks, "peer_links")->advice[0] != '\0');
    }
    setenv("FAKE_NVML_NVLINKS", "18", 1);
    setenv("FAKE_NVML_FAILS", "nvmlDeviceGetNvLinkState:3", 1);
    assert_string_equal(link_of_two().kind, "NVLink");
    unsetenv("FAKE_NVML_NVLINKS");
    unsetenv("FAKE_NVML_FAILS");
}

TEST(one_device_is_one_row)
{
    struct device_links links = measured("1", "cuda");
    struct checks checks = { .count = 0 };

    device_links_check(&checks, &links);
    assert_int_equal(checks.count, 1);
    assert_row(&checks, "peer_links", CHECK_NONE, "-", "there is one device");
    device_links_release(&links);
}

/* An allocation of a device that is opened in turn, and one at a peer. */
TEST(what_fails_is_the_ways_and_the_row_says_so)
{
    struct device_links links;
    struct checks checks = { .count = 0 };

    setenv("CHOKEPOINT_FAIL", "copy:3", 1);
    links = measured("2", "cuda");
    unsetenv("CHOKEPOINT_FAIL");
    assert_true(links.ways[0].failure[0] != '\0');
    device_links_check(&checks, &links);
    assert_row(&checks, "peer_copy", CHECK_FAIL, "from 0 to 1: failed", "");
    device_links_release(&links);
}

TEST(a_peer_is_another_device_that_there_is)
{
    static const int peers[] = { -1, 0, 2 };
    struct device *device;
    void *memory;

    setenv("STAND_IN_DEVICES", "2", 1);
    assert_ok(device_open(&device, "cuda", NULL));
    for (size_t i = 0; i < ARRAY_SIZE(peers); i++) {
        assert_int_equal(device_peer_alloc(device, peers[i], 64, &memory), STATUS_BAD_USAGE);
        assert_int_equal(device_link(device, peers[i]).direct, -1);
    }
    device_close(device);
}

/* --- Judged --- */

/* 8 devices, four to a node; every way of a kind is alike. */
static struct device_links made(void)
{
    struct device_links links = { .devices = 8, .ways = calloc(56, sizeof *links.ways) };

    for (int from = 0; from < 8; from++)
        for (int to = 0; to < 8; to++) {
            bool near = from / 4 == to / 4;
            struct device_way *way = &links.ways[links.count];
            if (from == to)
                continue;
            links.count++;
            *way = (struct device_way){ .from = from,
                                        .to = to,
                                        .link = device_link_unknown,
                                        .bytes_per_second = near ? 50e9 : 20e9,
                                        .copy_ns = near ? 8000 : 15000 };
            snprintf(way->link.kind, sizeof way->link.kind, near ? "near" : "far");
            way->link.direct = 1;
            way->link.numa_distance = near ? 10 : 21;
        }
    return links;
}

TEST(a_way_is_slow_beside_others_of_its_kind)
{
    static const struct {
        int way; /* 0: 0 to 1, near; 6: 0 to 7, far */
        double rate, ns;
        enum check_status copy, latency;
    } cases[] = {
        { 0, 50e9, 8000, CHECK_OK, CHECK_OK },   { 0, 41e9, 8000, CHECK_OK, CHECK_OK },
        { 0, 39e9, 8000, CHECK_LOW, CHECK_OK },  { 6, 17e9, 15000, CHECK_OK, CHECK_OK },
        { 6, 15e9, 15000, CHECK_LOW, CHECK_OK }, { 0, 50e9, 15000, CHECK_OK, CHECK_OK },
        { 0, 50e9, 17000, CHECK_OK, CHECK_LOW }, { 6, 20e9, 31000, CHECK_OK, CHECK_LOW },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct device_links links = made();
        struct checks checks = { .count = 0 };
        links.ways[cases[i].way].bytes_per_second = cases[i].rate;
        links.ways[cases[i].way].copy_ns = cases[i].ns;
        device_links_check(&checks, &links);
        assert_row(&checks, "peer_links", CHECK_OK, "near: 24 ways; far: 32 ways", "");
        assert_row(&checks, "peer_numa", CHECK_OK, "distance 10 to 21", "");
        assert_int_equal(checks_find(&checks, "peer_copy")->status, cases[i].copy);
        assert_int_equal(checks_find(&checks, "peer_latency")->status, cases[i].latency);
        if (cases[i].copy == CHECK_LOW)
            assert_row(&checks, "peer_copy", CHECK_LOW, cases[i].way == 0 ? "0 to 1" : "0 to 7",
                       "slower");
        device_links_release(&links);
    }
}

TEST(the_tables_have_a_figure_for_every_way)
{
    struct device_links links = made();
    struct json json = { false };
    cJSON *root = json_object(&json, NULL, NULL);
    struct page page;
    size_t size;
    char *text;
    FILE *stream = open_memstream(&text, &size);
    int rates = 0;

    links.ways[0].bytes_per_second = 12.3e9; /* 0 to 1 */
    page = page_markdown(stream);
    device_links_page(&page, &links);
    fclose(stream);
    assert_non_null(strstr(text, "| 0 | - | 12.3 GB/s | 50.0 GB/s |"));
    for (const char *at = text; (at = strstr(at, "GB/s")) != NULL; at++) rates++;
    assert_int_equal(rates, 56);
    device_links_json(&json, root, &links);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(root, "between")), 56);
    cJSON_Delete(root);
    free(text);
    device_links_release(&links);
}
