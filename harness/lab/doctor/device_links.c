/* Copies from each device to each other one, with the data checked on the way. A way is judged
 * beside the median of the ways over the same kind of link. */
#include "harness/lab/doctor/doctor.h"

#include "harness/base/clock.h"
#include "harness/base/figures/quantity.h"
#include "harness/base/figures/statistics.h"
#include "harness/base/random.h"
#include "harness/base/rows.h"
#include "harness/base/words/text.h"
#include "harness/text/page_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A large copy takes 75 us over the fastest NVLink of today (900 GB/s), long enough to hide what
 * starting it costs. */
enum { LARGE_BYTES = 64 << 20, FEW_BYTES = 64, TRIES = 5, SHORT_TRIES = 50 };

#define SLOW_COPY    0.8 /* of the median of its kind */
#define SLOW_LATENCY 2.0

/* --- Measuring --- */

struct way_memory {
    unsigned char *host, *back;
    void *own, *returned, *there;
};

/* The fastest try counts: whatever else uses the link or the host only adds time. */
static enum status fastest(double *ns, struct stream *stream, int peer,
                           const struct way_memory *memory, size_t bytes, int tries)
{
    *ns = INFINITY;
    for (int i = 0; i < tries; i++) {
        int64_t start = clock_ns();
        TRY(device_copy_to_peer(stream, peer, memory->there, memory->own, bytes));
        TRY(stream_synchronize(stream));
        *ns = fmin(*ns, (double)(clock_ns() - start));
    }

    return STATUS_OK;
}

static enum status measure_way(struct device_way *way, struct device *device, struct stream *stream,
                               struct way_memory *memory)
{
    enum status status = STATUS_OK;
    double ns;

    memory->there = NULL;
    TRY_OUT(device_peer_alloc(device, way->to, LARGE_BYTES, &memory->there));
    /* There and back, onto zeros. */
    TRY_OUT(device_copy(stream, COPY_HOST_TO_DEVICE, memory->own, memory->host, LARGE_BYTES));
    TRY_OUT(device_memset(stream, memory->returned, 0, LARGE_BYTES));
    TRY_OUT(device_copy_to_peer(stream, way->to, memory->there, memory->own, LARGE_BYTES));
    TRY_OUT(device_copy_from_peer(stream, way->to, memory->returned, memory->there, LARGE_BYTES));
    TRY_OUT(device_copy(stream, COPY_DEVICE_TO_HOST, memory->back, memory->returned, LARGE_BYTES));
    if (memcmp(memory->host, memory->back, LARGE_BYTES) != 0)
        FAIL_OUT(STATUS_INTERNAL, "copies to device %d and back change the data", way->to);
    TRY_OUT(fastest(&ns, stream, way->to, memory, LARGE_BYTES, TRIES));
    way->bytes_per_second = LARGE_BYTES * 1e9 / ns;
    TRY_OUT(fastest(&way->copy_ns, stream, way->to, memory, FEW_BYTES, SHORT_TRIES));

out:
    if (status != STATUS_OK)
        snprintf(way->failure, sizeof way->failure, "%s", status_last()->text);
    if (memory->there != NULL)
        device_peer_free(device, way->to, memory->there);
    return status;
}

/* The ways from an open device, `count` of them. A failure of the device, not of a way, comes
 * back. */
static enum status measure_from(struct device_way *ways, int count, struct device *device,
                                struct way_memory *memory)
{
    enum status status = STATUS_OK;
    struct stream *stream = NULL;

    for (int i = 0; i < count; i++) ways[i].link = device_link(device, ways[i].to);
    TRY_OUT(stream_create(device, &stream));
    TRY_OUT(device_alloc(device, NULL, ALLOCATE_DIRECT, LARGE_BYTES, &memory->own));
    TRY_OUT(device_alloc(device, NULL, ALLOCATE_DIRECT, LARGE_BYTES, &memory->returned));
    for (int i = 0; i < count; i++) (void)measure_way(&ways[i], device, stream, memory);

out:
    device_free(device, NULL, ALLOCATE_DIRECT, memory->own);
    device_free(device, NULL, ALLOCATE_DIRECT, memory->returned);
    memory->own = memory->returned = NULL;
    stream_destroy(stream);
    return status;
}

/* `given` is open, and one of them. */
static void measure_device(struct device_links *links, int from, struct device *given,
                           struct way_memory *memory)
{
    struct device_properties properties = *device_properties(given);
    struct device *device = given;
    int count = links->devices - 1;
    struct device_way *ways = &links->ways[from * count];
    enum status status = STATUS_OK;
    char name[32];

    if (from != properties.index) {
        properties.index = from;
        device_name_print(name, sizeof name, &properties);
        status = device_open(&device, name, NULL);
    }
    if (status == STATUS_OK)
        status = measure_from(ways, count, device, memory);
    for (int i = 0; i < count && status != STATUS_OK; i++)
        snprintf(ways[i].failure, sizeof ways[i].failure, "%s", status_last()->text);
    if (device != given)
        device_close(device);
}

enum status device_links_measure(struct device_links *links, struct device *device)
{
    enum status status = STATUS_OK;
    int devices = device_properties(device)->peers + 1;
    struct way_memory memory = { NULL };

    *links = (struct device_links){ .devices = devices };
    if (devices < 2)
        goto out;
    TRY_OUT(rows_make(&links->ways, (int64_t)devices * devices));
    TRY_OUT(rows_make(&memory.host, LARGE_BYTES));
    TRY_OUT(rows_make(&memory.back, LARGE_BYTES));
    /* Random bytes, among which one that is lost or moved does not look right. */
    struct random random = random_seed(1, 0);
    uint64_t bits;
    for (size_t i = 0; i < LARGE_BYTES; i += sizeof bits) {
        bits = random_bits(&random);
        memcpy(memory.host + i, &bits, sizeof bits);
    }
    for (int from = 0; from < devices; from++)
        for (int to = 0; to < devices; to++)
            if (from != to)
                links->ways[links->count++] = (struct device_way){ .from = from,
                                                                   .to = to,
                                                                   .link = device_link_unknown,
                                                                   .bytes_per_second = NAN,
                                                                   .copy_ns = NAN };
    for (int from = 0; from < devices; from++) measure_device(links, from, device, &memory);

out:
    free(memory.host);
    free(memory.back);
    return status;
}

void device_links_release(struct device_links *links)
{
    free(links->ways);
    *links = (struct device_links){ .ways = NULL };
}

/* --- Rows --- */

/* "NVLink, 18 links up: 12 ways; unknown: 2 ways" */
static void print_kinds(const struct device_links *links, char *text, size_t size)
{
    text[0] = '\0';
    for (int i = 0; i < links->count; i++) {
        const char *kind = links->ways[i].link.kind;
        int count = 0;
        bool is_first = true;
        for (int j = 0; j < links->count; j++)
            if (strcmp(links->ways[j].link.kind, kind) == 0) {
                is_first = is_first && j >= i;
                count++;
            }
        if (is_first)
            text_join(text, size, "; ", "%s: %d ways", kind[0] != '\0' ? kind : "unknown", count);
    }
}

static void check_links(struct checks *checks, const struct device_links *links)
{
    const struct device_way *indirect = NULL;
    const char *why = "the driver does not say";
    char kinds[160], advice[400] = "";
    int unknown = 0, indirects = 0;

    for (int i = 0; i < links->count; i++) {
        const struct device_way *way = &links->ways[i];
        unknown += way->link.kind[0] == '\0' && way->link.direct < 0;
        indirects += way->link.direct == 0;
        if (indirect == NULL && way->link.direct == 0)
            indirect = way;
    }
    if (unknown == links->count) {
        for (int i = links->count - 1; i >= 0; i--)
            if (links->ways[i].link.trouble[0] != '\0')
                why = links->ways[i].link.trouble;
        checks_unknown(checks, "peer_links", "all direct", why);
        return;
    }
    if (indirect != NULL)
        snprintf(
            advice, sizeof advice,
            "copies go through the host's memory on %d of %d ways, the first from %d to %d%s%s: "
            "see nvidia-smi topo -p2p r, and turn off access control on PCIe switches (ACS)",
            indirects, links->count, indirect->from, indirect->to,
            indirect->link.refused[0] != '\0' ? ", as " : "", indirect->link.refused);
    print_kinds(links, kinds, sizeof kinds);
    checks_add(checks, "peer_links", indirect != NULL ? CHECK_LOW : CHECK_OK, "all direct", advice,
               "%s", kinds);
}

static double copy_speed(const struct device_way *way)
{
    return way->bytes_per_second;
}

/* As a speed: more is better. */
static double start_speed(const struct device_way *way)
{
    return 1e9 / way->copy_ns;
}

/* How fast the way is, in medians of the ways over the same kind of link. */
static double share_of_kind(const struct device_links *links, const struct device_way *way,
                            double (*speed)(const struct device_way *way), double *scratch)
{
    int count = 0;

    for (int i = 0; i < links->count; i++)
        if (strcmp(links->ways[i].link.kind, way->link.kind) == 0 &&
            isfinite(speed(&links->ways[i])))
            scratch[count++] = speed(&links->ways[i]);
    return speed(way) / stats_median(scratch, count);
}

static const struct way_figure {
    const char *row, *unit, *expected, *advice;
    double (*speed)(const struct device_way *way);
    bool is_time;
    double least_share;
} figures[] = {
    { "peer_copy", "B/s", "80% of the median of such links, or more",
      "copies over this way are slower than over the others of its kind: look at the link's width "
      "(nvidia-smi topo -m, nvlink -s), at other programs on both devices, and for errors on it",
      copy_speed, false, SLOW_COPY },
    { "peer_latency", "ns", "twice the median of such links, or less",
      "a short copy over this way takes longer than over the others of its kind: see peer_links "
      "and "
      "peer_numa",
      start_speed, true, 1 / SLOW_LATENCY },
};

static double value_of(const struct way_figure *figure, double speed)
{
    return figure->is_time ? 1e9 / speed : speed;
}

static void print_figure(char text[QUANTITY_SIZE], const struct way_figure *figure, double speed)
{
    if (figure->is_time)
        quantity_print(text, value_of(figure, speed) / 1000, "us");
    else
        quantity_print(text, speed, figure->unit);
}

/* The way that is slowest among its kind decides. `scratch` has room for a number of every way. */
static void check_figure(struct checks *checks, const struct device_links *links,
                         const struct way_figure *figure, double *scratch)
{
    const struct device_way *worst = NULL, *failed = NULL;
    double least = INFINITY;
    char text[QUANTITY_SIZE];

    for (int i = 0; i < links->count; i++) {
        const struct device_way *way = &links->ways[i];
        double share = share_of_kind(links, way, figure->speed, scratch);
        if (failed == NULL && way->failure[0] != '\0')
            failed = way;
        if (!(share < least))
            continue;
        least = share;
        worst = way;
    }
    if (failed != NULL) {
        checks_add(checks, figure->row, CHECK_FAIL, figure->expected, failed->failure,
                   "from %d to %d: failed", failed->from, failed->to);
        return;
    }
    if (worst == NULL) {
        checks_unknown(checks, figure->row, figure->expected, "nothing was measured");
        return;
    }
    print_figure(text, figure, figure->speed(worst));
    /* The bound is the speed at which this way would be just fast enough. */
    checks_number(checks, value_of(figure, figure->speed(worst)),
                  value_of(figure, figure->speed(worst) * figure->least_share / least),
                  figure->unit);
    checks_add(checks, figure->row, least >= figure->least_share ? CHECK_OK : CHECK_LOW,
               figure->expected, figure->advice, "%s from %d to %d, %.0f%% of the median", text,
               worst->from, worst->to, figure->is_time ? 100 / least : 100 * least);
}

void device_links_check(struct checks *checks, const struct device_links *links)
{
    double *scratch = calloc((size_t)links->count + 1, sizeof *scratch);

    checks->group = "between devices";
    if (links->devices < 2 || scratch == NULL) {
        checks_add(checks, "peer_links", CHECK_NONE, "",
                   scratch == NULL ? "no memory left" : "there is one device", "-");
    } else {
        check_links(checks, links);
        int least = -1, most = -1;
        for (int i = 0; i < links->count; i++) {
            int distance = links->ways[i].link.numa_distance;
            if (distance < 0)
                continue;
            least = least < 0 || distance < least ? distance : least;
            most = distance > most ? distance : most;
        }
        if (most < 0)
            checks_unknown(checks, "peer_numa", "",
                           "Linux does not say which NUMA nodes they are at");
        else
            checks_add(checks, "peer_numa", CHECK_OK, "", "", "distance %d to %d", least, most);
        for (size_t i = 0; i < ARRAY_SIZE(figures); i++)
            check_figure(checks, links, &figures[i], scratch);
    }
    free(scratch);
}

/* --- Tables --- */

enum { TABLE_DEVICES = PAGE_COLUMNS - 1 };

static void print_table(const struct page *page, const struct device_links *links,
                        const struct way_figure *figure)
{
    struct column columns[PAGE_COLUMNS] = { { "from \\ to", -9, 0 } };
    char headings[PAGE_COLUMNS][16], cells[PAGE_COLUMNS][QUANTITY_SIZE];
    const char *texts[PAGE_COLUMNS];
    struct page_rows *rows;

    for (int i = 0; i < links->devices; i++) {
        snprintf(headings[i], sizeof headings[i], "%d", i);
        columns[i + 1] = (struct column){ headings[i], 10, 0 };
    }
    rows = page_rows_open(columns, links->devices + 1);
    for (int from = 0; from < links->devices; from++) {
        const struct device_way *ways = &links->ways[from * (links->devices - 1)];
        for (int i = 0; i <= links->devices; i++) texts[i] = cells[i];
        snprintf(cells[0], sizeof cells[0], "%d", from);
        for (int to = 0; to < links->devices; to++)
            if (to == from)
                snprintf(cells[to + 1], sizeof cells[to + 1], "-");
            else
                /* A device has no way to itself, so the ways to later ones are one place
                 * earlier. */
                print_figure(cells[to + 1], figure, figure->speed(&ways[to - (to > from)]));
        page_rows_add(rows, texts, NULL);
    }
    page_rows_print(page, rows);
}

void device_links_page(const struct page *page, const struct device_links *links)
{
    if (links->devices < 2 || links->devices > TABLE_DEVICES || links->ways == NULL)
        return;
    page_heading(page, "Copies between devices");
    print_table(page, links, &figures[0]);
    page_heading(page, "A copy of 64 bytes between devices, and the wait for it");
    print_table(page, links, &figures[1]);
}

/* NAN: not known. */
static double number_of(int known)
{
    return known >= 0 ? (double)known : (double)NAN;
}

void device_links_json(struct json *json, cJSON *root, const struct device_links *links)
{
    cJSON *array = json_array(json, root, "between");

    for (int i = 0; i < links->count; i++) {
        const struct device_way *way = &links->ways[i];
        JSON_ROW(json, array, KEY("from", way->from), KEY("to", way->to),
                 KEY("link", way->link.kind), KEY("direct", number_of(way->link.direct)),
                 KEY("numa_distance", number_of(way->link.numa_distance)),
                 KEY("bytes_per_second", way->bytes_per_second), KEY("copy_ns", way->copy_ns),
                 KEY("failure", way->failure));
    }
}
