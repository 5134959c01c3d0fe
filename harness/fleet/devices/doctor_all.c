/* doctor of every device at once.
 *
 * A device that hangs would hang whoever opened it, so each device is looked at by a doctor in a
 * process of its own (side_program.h), which writes JSON: first one after the other, then all at
 * once, since devices that share power, links or cores are slow only together. The files of one
 * look are compared as those of machines are (fleet.h), which names the odd device.
 *
 * Order of the looks: alone, to know each device by itself; all at once; then the links between
 * them. A prolog has no time for that and looks at all at once, and once more only if that may
 * change its verdict. */
#include "harness/fleet/devices/doctor_all.h"

#include "harness/base/facts/system_file.h"
#include "harness/base/figures/quantity.h"
#include "harness/base/rows.h"
#include "harness/base/system/machine.h"
#include "harness/base/system/side_program.h"
#include "harness/base/words/intern.h"
#include "harness/base/words/text.h"
#include "harness/bench/interrupt.h"
#include "harness/checks/prolog_verdict.h"
#include "harness/fleet/fleet_output.h"
#include "harness/lab/doctor/host/host.h"
#include "harness/text/json.h"
#include "harness/text/page_rows.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES_MOST = 16, ALONE = 0, TOGETHER = 1, LOOKS = 2 };

/* Seconds for one look at a device. A prolog has a minute in all, for two looks. */
static const double SECONDS_MOST = 180, PROLOG_SECONDS[LOOKS] = { [TOGETHER] = 30, [ALONE] = 20 },
                    COUNT_SECONDS = 20, LINKS_SECONDS[2] = { 180, 10 };

struct look {
    char *text; /* JSON of doctor; NULL: it gave none */
    struct checks checks;
};

struct one_device {
    char name[16];  /* "cuda:3,apart", "cpu", "cuda:links" */
    char label[24]; /* "device 3", "node 1", "between devices" */
    cpu_set_t cores;
    struct look looks[LOOKS];
    char trouble[320]; /* why there is no JSON; "" */
};

struct all_devices {
    const struct doctor_request *request;
    bool is_cpu, prolog;
    double soak_seconds;
    struct one_device *items; /* [count], and what is between the devices */
    int count;
    bool has_links; /* all devices answered, so the links between them were looked at as well */
    struct fleet fleets[LOOKS];     /* of the devices that answered */
    int nodes[LOOKS][DEVICES_MOST]; /* the device of each of their nodes */
};

bool doctor_is_of_all(const char *device)
{
    return strcmp(device, "cuda:all") == 0 || strcmp(device, "cpu:all") == 0;
}

/* --- The devices --- */

/* In a process of its own as well: the driver may hang when it is asked. */
static enum status count_gpus(int *count)
{
    enum status status = STATUS_OK;
    struct side_program child = { .text = NULL };
    const char *const arguments[] = { "chokepoint", "doctor", "--device=cuda:count", NULL };
    char why[160];

    TRY_OUT(side_program_start(&child, "/proc/self/exe", arguments,
                               &(struct side_program_options){ .seconds = COUNT_SECONDS }));
    side_programs_wait(&child, 1, interrupt_flag());
    *count = atoi(child.text);
    if (side_program_exited(&child, 0) && *count > 0)
        goto out;
    child.said[strcspn(child.said, "\n")] = '\0';
    side_program_ending(why, sizeof why, &child);
    FAIL_OUT(STATUS_NO_DEVICE, "the GPUs could not be counted: %s; %.300s", why, child.said);

out:
    side_program_release(&child);
    return status;
}

/* Nodes with cores that this process may use. */
static int find_nodes(struct one_device items[DEVICES_MOST])
{
    char path[96], line[1024];
    cpu_set_t nodes, allowed;
    int count = 0;

    CPU_ZERO(&allowed);
    sched_getaffinity(0, sizeof allowed, &allowed);
    if (!system_file_line("", "/sys/devices/system/node/online", line, sizeof line) ||
        !cpu_list_parse(line, &nodes))
        return 0;
    for (int i = 0; i < CPU_SETSIZE && count < DEVICES_MOST; i++) {
        struct one_device *item = &items[count];
        snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpulist", i);
        if (!CPU_ISSET((size_t)i, &nodes) || !system_file_line("", path, line, sizeof line) ||
            !cpu_list_parse(line, &item->cores))
            continue;
        CPU_AND(&item->cores, &item->cores, &allowed);
        snprintf(item->label, sizeof item->label, "node %d", i);
        count += CPU_COUNT(&item->cores) > 0;
    }
    return count;
}

static enum status find_devices(struct all_devices *all)
{
    TRY(rows_make(&all->items, DEVICES_MOST + 1));
    if (all->is_cpu) {
        all->count = find_nodes(all->items);
        if (all->count == 0) /* the kernel tells of no nodes: all cores are one */
            snprintf(all->items[all->count++].label, sizeof all->items->label, "node 0");
        for (int i = 0; i < all->count; i++) strcpy(all->items[i].name, "cpu");
        return STATUS_OK;
    }
    TRY(count_gpus(&all->count));
    all->count = all->count < DEVICES_MOST ? all->count : DEVICES_MOST;
    for (int i = 0; i < all->count; i++) {
        snprintf(all->items[i].name, sizeof all->items->name, "cuda:%d,apart", i);
        snprintf(all->items[i].label, sizeof all->items->label, "device %d", i);
    }
    strcpy(all->items[all->count].name, "cuda:links");
    strcpy(all->items[all->count].label, "between devices");

    return STATUS_OK;
}

/* --- A look --- */

static enum status start_one(struct side_program *child, const struct all_devices *all,
                             const struct one_device *item, int which)
{
    bool links = item == &all->items[all->count];
    bool soaks = which == TOGETHER && all->soak_seconds > 0 && !links;
    char device[32], out[PATH_MAX + 8], soak[48];
    const char *arguments[8] = { "chokepoint", "doctor", device, "--format=json", out };
    double seconds = links         ? LINKS_SECONDS[all->prolog]
                     : all->prolog ? PROLOG_SECONDS[which]
                                   : SECONDS_MOST;

    snprintf(device, sizeof device, "--device=%s", item->name);
    snprintf(out, sizeof out, "--out=%s", all->request->out);
    snprintf(soak, sizeof soak, "--soak=%.0fs", fmax(all->soak_seconds, 1));
    if (soaks)
        arguments[5] = soak;
    return side_program_start(
        child, "/proc/self/exe", arguments,
        &(struct side_program_options){
            /* Half of the soak's time is added for what surrounds it. */
            .seconds = seconds + (soaks ? 1.5 * all->soak_seconds : 0),
            .cores = all->is_cpu && CPU_COUNT(&item->cores) > 0 ? &item->cores : NULL });
}

/* An answer that is no whole JSON counts as none: the child was ended, or failed. */
static enum status take_answer(struct one_device *item, struct side_program *child, int which)
{
    struct look *look = &item->looks[which];
    cJSON *root = cJSON_Parse(child->text);
    bool answered = checks_read(&look->checks, root);
    char why[160];

    cJSON_Delete(root);
    free(look->text);
    look->text = NULL;
    if (answered)
        return text_make(&look->text, "%s", child->text);
    side_program_ending(why, sizeof why, child);
    child->said[strcspn(child->said, "\n")] = '\0';
    snprintf(item->trouble, sizeof item->trouble, "%s%s%.150s", why,
             child->said[0] != '\0' ? "; " : "", child->said);

    return STATUS_OK;
}

/* A row of a look; NULL: there is none of that name, or no answer. */
static const struct check *row_of(const struct one_device *item, int which, const char *name)
{
    return item->looks[which].text != NULL ? checks_find(&item->looks[which].checks, name) : NULL;
}

/* The devices from `first` on, `count` of them at once. */
static enum status look_at(struct all_devices *all, int first, int count, int which)
{
    enum status status = STATUS_OK;
    struct side_program *children = NULL;

    TRY_OUT(rows_make(&children, count));
    for (int i = 0; i < count; i++)
        TRY_OUT(start_one(&children[i], all, &all->items[first + i], which));
    side_programs_wait(children, count, interrupt_flag());
    if (interrupt_signal() != 0)
        FAIL_OUT(STATUS_INTERRUPTED, "stopped by %s", interrupt_name());
    for (int i = 0; i < count; i++)
        TRY_OUT(take_answer(&all->items[first + i], &children[i], which));

out:
    for (int i = 0; i < count && children != NULL; i++) side_program_release(&children[i]);
    free(children);
    return status;
}

/* Why a device cannot be compared: it does not answer, or does not open. */
static bool is_in_trouble(char *why, size_t size, const struct one_device *item)
{
    const struct check *opens = row_of(item, TOGETHER, "device");

    if (item->looks[TOGETHER].text == NULL)
        snprintf(why, size, "%s", item->trouble);
    else if (opens != NULL && opens->status == CHECK_FAIL)
        snprintf(why, size, "device: %s%s%s", opens->value, opens->advice[0] != '\0' ? "; " : "",
                 opens->advice);
    else
        return false;
    return true;
}

/* The ways between the devices, if all of them answered: one that hangs would keep the look
 * waiting. */
static enum status look_between(struct all_devices *all, int which)
{
    char why[600];

    all->has_links = !all->is_cpu && all->count > 1;
    for (int i = 0; i < all->count; i++)
        all->has_links = all->has_links && !is_in_trouble(why, sizeof why, &all->items[i]);
    if (!all->has_links)
        return STATUS_OK;
    return look_at(all, all->count, 1, which);
}

/* --- The answer --- */

/* The devices as machines of a fleet, which tells the odd one. */
static enum status compare_devices(struct all_devices *all, int which)
{
    struct fleet *fleet = &all->fleets[which];

    TRY(intern_open(&fleet->names, SIZE_MAX));
    TRY(rows_make(&fleet->nodes, all->count));
    for (int i = 0; i < all->count; i++) {
        if (all->items[i].looks[which].text == NULL)
            continue;
        all->nodes[which][fleet->count] = i;
        TRY(node_read_text(&fleet->nodes[fleet->count++], fleet->names, all->items[i].label,
                           all->items[i].looks[which].text));
    }
    if (fleet->count > 0)
        TRY(fleet_compare(fleet));

    return STATUS_OK;
}

/* Says how a device differs from the others in a look; false: it does not. */
static bool is_out(char *why, size_t size, const struct all_devices *all, int look, int device)
{
    const struct fleet *fleet = &all->fleets[look];

    for (int i = 0; i < fleet->out_count; i++)
        if (all->nodes[look][fleet->out[i]] == device) {
            fleet_why(why, size, fleet, &fleet->out[i], 1);
            return true;
        }
    return false;
}

/* Whether a device is odd, and why: with all at work, or alone. */
static bool is_odd(char *why, size_t size, const struct all_devices *all, int device)
{
    return is_in_trouble(why, size, &all->items[device]) ||
           is_out(why, size, all, TOGETHER, device) || is_out(why, size, all, ALONE, device);
}

/* "low 12 GB/s"; "-" if there is no such row. */
static struct cell cell_of(const struct one_device *item, int look, const char *name)
{
    const struct check *row = row_of(item, look, name);
    bool is_bad = row != NULL && check_is_bad(row);

    return cell("%s%s%.40s", is_bad ? check_status_name(row->status) : "", is_bad ? " " : "",
                row == NULL ? "-" : row->value);
}

/* Figures, and other rows that are not ok somewhere. */
static bool is_shown(const struct all_devices *all, int look, const char *name)
{
    for (int i = 0; i < all->count; i++) {
        const struct check *row = row_of(&all->items[i], look, name);
        if (row != NULL && (check_is_speed(row) || check_is_bad(row)))
            return true;
    }
    return false;
}

static void print_table(const struct page *page, const struct all_devices *all, int look)
{
    struct column columns[DEVICES_MOST + 1] = { { "check", -19, 0 } };
    const struct checks *first = NULL;
    struct page_rows *rows;

    for (int i = 0; i < all->count; i++) {
        columns[i + 1] = (struct column){ all->items[i].label, -12, 0 };
        if (first == NULL && all->items[i].looks[look].text != NULL)
            first = &all->items[i].looks[look].checks;
    }
    page_heading(page, look == ALONE ? "One after the other" : "All at once");
    rows = page_rows_open(columns, all->count + 1);
    for (int r = 0; first != NULL && r < first->count; r++) {
        const char *name = first->rows[r].name;
        struct cell texts[DEVICES_MOST];
        const char *cells[DEVICES_MOST + 1] = { name };
        if (!is_shown(all, look, name))
            continue;
        for (int i = 0; i < all->count; i++) {
            texts[i] = cell_of(&all->items[i], look, name);
            cells[i + 1] = texts[i].text;
        }
        page_rows_add(rows, cells, NULL);
    }
    page_rows_print(page, rows);
}

static void print_links(const struct page *page, const struct all_devices *all)
{
    static const struct column columns[] = { { "check", -19, 0 }, { "", PAGE_CUT, 0 } };
    const struct one_device *links = &all->items[all->count];
    struct page_rows *rows;

    if (!all->has_links)
        return;
    page_heading(page, "Between devices");
    if (links->looks[TOGETHER].text == NULL) {
        page_paragraph(page, INK_DOUBTFUL, "%s", links->trouble);
        return;
    }
    rows = page_rows_open(columns, ARRAY_SIZE(columns));
    for (int r = 0; r < links->looks[TOGETHER].checks.count; r++) {
        const char *name = links->looks[TOGETHER].checks.rows[r].name;
        PAGE_ROW(rows, NULL, name, cell_of(links, TOGETHER, name).text);
    }
    page_rows_print(page, rows);
}

/* Devices that are odd, with the reason, the line for each. */
static void print_odd(const struct page *page, const struct all_devices *all)
{
    char why[600];
    int odd = 0;

    for (int i = 0; i < all->count; i++)
        if (is_odd(why, sizeof why, all, i)) {
            page_summary(page, "Odd: %s (%s)", all->items[i].label, why);
            odd++;
        }
    if (odd == 0 && all->count > 1)
        page_summary(page,
                     fleet_tells(&all->fleets[TOGETHER])
                         ? "No device is odd, of %d."
                         : "It cannot be told whether one of %d devices is odd.",
                     all->count);
}

/* Links that were asked for and gave no answer are one bad row. */
static int count_bad(const struct all_devices *all)
{
    int bad = all->has_links && all->items[all->count].looks[TOGETHER].text == NULL;

    for (int i = 0; i < all->count + all->has_links; i++)
        for (int l = 0; l < LOOKS; l++)
            if (all->items[i].looks[l].text != NULL)
                bad += checks_bad(&all->items[i].looks[l].checks, all->request->strict);
    return bad;
}

static void add_look(struct json *json, cJSON *array, const struct one_device *item, int look)
{
    cJSON *object = JSON_ROW(json, array, KEY("device", item->label),
                             KEY("trouble", item->looks[look].text == NULL ? item->trouble : NULL));

    if (item->looks[look].text != NULL)
        cJSON_AddItemToObject(object, "doctor", cJSON_Parse(item->looks[look].text));
}

static enum status print_json(const struct all_devices *all)
{
    struct json json = { false };
    cJSON *root = JSON_OBJECT(&json, KEY("schema", 1)), *array;
    char why[600];
    for (int l = 0; l < LOOKS; l++) {
        array = json_array(&json, root, l == ALONE ? "alone" : "together");
        for (int i = 0; i < all->count; i++) add_look(&json, array, &all->items[i], l);
    }
    array = json_array(&json, root, "links");
    if (all->has_links)
        add_look(&json, array, &all->items[all->count], TOGETHER);
    array = json_array(&json, root, "odd");
    for (int i = 0; i < all->count; i++)
        if (is_odd(why, sizeof why, all, i))
            json_text(&json, array, NULL, all->items[i].label);
    return json_end(&json, root);
}

static enum status print_all(const struct all_devices *all, int *exit_code)
{
    struct page page = all->request->page;
    char why[600];

    *exit_code = count_bad(all) > 0;
    for (int i = 0; i < all->count && *exit_code == 0; i++)
        *exit_code = is_odd(why, sizeof why, all, i);
    if (all->request->is_json)
        return print_json(all);
    print_table(&page, all, ALONE);
    print_table(&page, all, TOGETHER);
    print_links(&page, all);
    print_odd(&page, all);

    return STATUS_OK;
}

/* --- The prolog --- */

/* Whether a second look can change the verdict on a device. */
static bool wants_second_look(const struct one_device *item)
{
    return item->looks[TOGETHER].text == NULL ||
           prolog_wants_second_look(&item->looks[TOGETHER].checks);
}

/* With two looks, a fault must be in both; one that did not answer at first has the second
 * alone. */
static enum prolog_verdict judge_one(const struct one_device *item, bool again, char *names,
                                     size_t size)
{
    const struct look *first = &item->looks[TOGETHER], *second = &item->looks[ALONE];
    struct machine machine;

    if (!again || !wants_second_look(item))
        return prolog_judge(&first->checks, names, size);
    if (second->text == NULL) {
        snprintf(names, size, "%s", item->trouble);
        machine_read(&machine, "");
        /* A device may have taken long only because other programs keep all cores busy. */
        return machine.load_count > 0 && machine.load[0] > machine.cores_allowed ? PROLOG_BUSY
                                                                                 : PROLOG_UNFIT;
    }
    if (first->text == NULL)
        return prolog_judge(&second->checks, names, size);
    return prolog_judge_both(&first->checks, &second->checks, names, size);
}

static enum status print_prolog(struct all_devices *all, int *exit_code)
{
    enum prolog_verdict worst = PROLOG_FIT;
    char said[1024] = "";
    bool again = false, links_again;

    for (int i = 0; i < all->count; i++) again = again || wants_second_look(&all->items[i]);
    if (again)
        TRY(look_at(all, 0, all->count, ALONE));
    else
        TRY(look_between(all, TOGETHER));
    links_again = all->has_links && wants_second_look(&all->items[all->count]);
    if (links_again)
        TRY(look_between(all, ALONE));
    for (int i = 0; i < all->count + all->has_links; i++) {
        char names[400] = "";
        enum prolog_verdict verdict =
            judge_one(&all->items[i], i < all->count ? again : links_again, names, sizeof names);
        /* The sentence names the devices with the worst verdict only. */
        if (verdict > worst)
            said[0] = '\0';
        if (verdict >= worst && verdict > PROLOG_FIT)
            text_join(said, sizeof said, "; ", "%s: %s", all->items[i].label, names);
        worst = verdict > worst ? verdict : worst;
    }
    *exit_code = prolog_print(worst, said, all->request->strict);

    return STATUS_OK;
}

enum status doctor_all(const struct doctor_request *request, int *exit_code)
{
    enum status status = STATUS_OK;
    struct all_devices all = { .request = request,
                               .is_cpu = strcmp(request->device, "cpu:all") == 0,
                               .prolog = request->prolog,
                               .soak_seconds = request->soak_seconds };

    interrupt_catch();
    TRY_OUT(find_devices(&all));
    for (int i = 0; i < all.count && !all.prolog; i++) TRY_OUT(look_at(&all, i, 1, ALONE));
    TRY_OUT(look_at(&all, 0, all.count, TOGETHER));
    if (!all.prolog)
        TRY_OUT(look_between(&all, TOGETHER));
    if (all.prolog)
        TRY_OUT(print_prolog(&all, exit_code));
    else {
        for (int l = 0; l < LOOKS; l++) TRY_OUT(compare_devices(&all, l));
        TRY_OUT(print_all(&all, exit_code));
    }

out:
    for (int i = 0; i <= all.count && all.items != NULL; i++)
        for (int l = 0; l < LOOKS; l++) free(all.items[i].looks[l].text);
    free(all.items);
    for (int l = 0; l < LOOKS; l++) fleet_release(&all.fleets[l]);
    return status;
}
