/* chokepoint doctor: whether this machine is fit to measure, and as fast as it should be.
 *
 * The checks are in harness/lab/doctor; this file calls them in their order, from what costs
 * nothing to what keeps the device busy, and prints each row when it is known. `cuda:all` and
 * `cpu:all` are left to doctor_all.h, which starts this command once for each device. */
#include "harness/lab/doctor/doctor.h"
#include "harness/base/figures/quantity.h"
#include "harness/base/rows.h"
#include "harness/base/words/text.h"
#include "harness/bench/device_context.h"
#include "harness/bench/interrupt.h"
#include "harness/checks/checks.h"
#include "harness/checks/prolog_verdict.h"
#include "harness/cli/job/job_flags.h"
#include "harness/cli/line/commands.h"
#include "harness/cli/machine/against.h"
#include "harness/engine/data/images/cache_folder.h"
#include "harness/fleet/devices/doctor_all.h"
#include "harness/fleet/devices/soak.h"
#include "harness/lab/doctor/gpu.h"
#include "harness/lab/doctor/host/host.h"
#include "harness/lab/experiment/parent/progress.h"
#include "harness/text/machine_context.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* On two cores the generated images of 17 sizes, which many runs had asked for, took 254 MB, and
 * the traces of the core scenarios 22 MB. Copies of a user's own images may take more
 * (own_images.h). */
enum { CACHE_BYTES = 512 << 20, RESULT_BYTES = 512 << 20 };

enum { SCHEMA = 2 }; /* of the JSON */

enum {
    SOAK_MOST = 24 * 3600
}; /* seconds: the times of so many steps of a millisecond take some 200 MB */

struct doctor {
    struct flags flags;
    bool prolog;         /* one line is all */
    double soak_seconds; /* 0: no soak */
    struct against against;
    struct device *device;       /* NULL: it could not be opened */
    struct device_health health; /* as it was last */
    struct machine machine;
    struct device_links links;
    char name[16]; /* of a device that is looked at apart from the others */
    bool apart;
    struct checks checks;
    struct checks_printer printer;
};

/* --- Under load --- */

static void add_readings(char *line, size_t size, const struct soak_readings *readings)
{
    const struct device_vitals *now = &readings->last.now;
    char limits[96];

    if (isfinite(now->clock_mhz))
        text_append(line, size, ", %.0f MHz", now->clock_mhz);
    if (isfinite(now->temperature_c))
        text_append(line, size, ", %.0f C", now->temperature_c);
    if (isfinite(now->power_w))
        text_append(line, size, ", %.0f W", now->power_w);
    if (readings->limits >= 0)
        text_append(line, size, ", throttled: %s",
                    health_limits_print(limits, sizeof limits, readings->limits));
    if (soak_new_errors(readings) >= 0)
        text_append(line, size, ", ECC %lld", (long long)soak_new_errors(readings));
}

static void show_soak(void *context, const struct soak *soak)
{
    const struct progress *progress = context;
    char line[256] = "", time[QUANTITY_SIZE];
    int64_t iterations = 0;

    for (int i = 0; i < SOAK_PARTS; i++) iterations += soak->parts[i].iterations;
    text_append(line, sizeof line, "soak: %lld iterations", (long long)iterations);
    for (int i = 0; i < SOAK_PARTS; i++) {
        const struct soak_part *part = &soak->parts[i];
        if (part->iterations == 0)
            continue;
        quantity_print(time, part->step_ns[part->iterations - 1] / 1000, "us");
        text_append(line, sizeof line, ", %s %s", part->precision, time);
        if (part->differing > 0)
            text_append(line, sizeof line, " (%lld differ)", (long long)part->differing);
    }
    add_readings(line, sizeof line, &soak->readings);
    progress_show(progress, fmin(soak->seconds / soak->planned_seconds, 1), "%s", line);
}

/* Under load, with a line of progress, until the time is over or Ctrl-C: from now on signals are
 * caught (interrupt.h). */
static enum status soak_device(struct checks *checks, struct device *device, double seconds)
{
    enum status status = STATUS_OK;
    struct progress progress = progress_start(1);
    struct soak soaked = { .seconds = 0 };
    const struct soak_plan plan = {
        .seconds = seconds, .stop = interrupt_flag(), .progress = show_soak, .context = &progress
    };

    interrupt_catch();
    TRY_OUT(soak_run(&soaked, device, &plan));
    progress_clear(&progress);
    soak_check(checks, &soaked, device_properties(device));

out:
    soak_release(&soaked);
    return status;
}

/* --- The rows --- */

static void check_folders(struct checks *checks, const char *out, bool prolog)
{
    struct folder_facts facts;
    char cache[PATH_MAX];

    checks->group = "folders";
    if (prolog) /* whose user is not the job's */
        return;
    if (cache_folder_path(cache) == STATUS_OK) {
        folder_look(&facts, cache);
        folder_check(checks, "cache_folder", &facts, CACHE_BYTES, NULL);
    } else {
        checks_add(checks, "cache_folder", CHECK_FAIL, "writable", status_last()->text, "none");
    }
    folder_look(&facts, out);
    folder_check(checks, "result_folder", &facts, RESULT_BYTES,
                 "results are lost at the next start, and writing to disk cannot be measured here: "
                 "choose a folder on a disk (--out)");
}

static enum status check_device(struct doctor *doctor)
{
    const struct device_properties *properties = device_properties(doctor->device);
    struct device_health *health = &doctor->health;
    struct cpu_times first, second;
    struct pressure before, after;
    struct host_limits limits;

    cpu_times_read(&first, "");
    pressure_read(&before, "");
    /* Measured while the device is idle: its figures are compared with these limits. */
    TRY(host_limits_measure(&limits, PERFORMANCE_COPY_BYTES));
    numerics_check(&doctor->checks, doctor->device);
    *health = device_health(doctor->device);
    performance_check(&doctor->checks, doctor->device, health, &limits, doctor->machine.mhz);
    cpu_times_read(&second, "");
    pressure_read(&after, "");
    if (doctor->soak_seconds > 0)
        TRY(soak_device(&doctor->checks, doctor->device, doctor->soak_seconds));
    /* Once more, since a GPU shows its clocks and its link only after work. */
    *health = device_health(doctor->device);
    gpu_check_health(&doctor->checks, properties, properties->is_gpu ? health : NULL,
                     doctor->machine.affinity, getenv("CUDA_MPS_PIPE_DIRECTORY"));
    if (!doctor->apart) {
        TRY(device_links_measure(&doctor->links, doctor->device));
        device_links_check(&doctor->checks, &doctor->links);
    }
    recording_check(&doctor->checks, doctor->flags.device);
    /* The cores that others used while the figures above were measured; the soak is not in
     * it. */
    disturbance_check(&doctor->checks, &first, &second, doctor->machine.cores_allowed);
    pressure_check(&doctor->checks, &before, &after);

    return STATUS_OK;
}

/* The machine and the device are stated as in the files of `run` and `bench`. */
static enum status print_json(const struct doctor *doctor)
{
    struct json json = { false };
    cJSON *root = JSON_OBJECT(&json, KEY("schema", SCHEMA)), *context;

    context = json_object(&json, root, "context");
    machine_context(&doctor->machine, &json, context);
    if (doctor->device != NULL)
        device_context(&json, context, device_properties(doctor->device), &doctor->health);
    checks_json(&json, root, &doctor->checks);
    device_links_json(&json, root, &doctor->links);
    if (doctor->against.where != NULL)
        machine_ranks_json(&json, root, "check", &doctor->against.standings);
    return json_end(&json, root);
}

/* Only speeds are placed among those of other machines; other figures have no better and worse. */
static enum status compare_with_others(struct doctor *doctor)
{
    struct own_figure figures[CHECKS_MAX];
    int count = 0;

    if (doctor->device == NULL)
        return STATUS_OK;
    for (int i = 0; i < doctor->checks.count; i++) {
        const struct check *check = &doctor->checks.rows[i];
        if (figure_is_speed(check->unit))
            figures[count++] = (struct own_figure){ check->name, check->unit, check->number };
    }
    return against_place(&doctor->against, figures, count, device_properties(doctor->device),
                         doctor->machine.cpu_model);
}

static enum status end_printing(struct doctor *doctor)
{
    if (doctor->flags.format == FORMAT_JSON)
        return print_json(doctor);
    checks_print_rows(&doctor->printer);
    device_links_page(&doctor->printer.page, &doctor->links);
    if (doctor->against.where != NULL)
        machine_ranks_page(&doctor->printer.page, &doctor->against.standings,
                           doctor->against.where);
    checks_print_end(&doctor->printer);
    return STATUS_OK;
}

/* All rows, of a machine whose device opened or not. */
static enum status look_at_device(struct doctor *doctor, enum status opened)
{
    const char *why = opened == STATUS_OK ? "" : status_last()->text;
    struct checks *checks = &doctor->checks;

    checks->group = "device";
    checks_add(checks, "device", opened == STATUS_OK ? CHECK_OK : CHECK_FAIL, "opens", why, "%s",
               opened == STATUS_OK ? device_properties(doctor->device)->name
                                   : doctor->flags.device);
    if (opened == STATUS_OK)
        checks_add(checks, "instructions", CHECK_OK, "", "", "%s, %s",
                   device_properties(doctor->device)->isa,
                   device_properties(doctor->device)->gemm_library);
    machine_read(&doctor->machine, "");
    host_check_processors(checks, "", &doctor->machine);
    host_check_memory(checks, "");
    check_folders(checks, doctor->flags.out, doctor->prolog);
    environment_check(checks, environ);
    /* Also if no device opens: the state of the driver matters most then. */
    gpu_check_driver(checks, "", device_name_wants_gpu(doctor->flags.device));
    if (opened == STATUS_OK)
        TRY(check_device(doctor));

    return STATUS_OK;
}

/* One line on standard output: "node17: Fit to measure: busy (other_programs: 1.00 of 2 cores)". A
 * fault is looked at twice, since a scheduler takes the machine away for it. */
static enum status run_prolog(struct doctor *doctor, int *exit_code)
{
    enum status status = STATUS_OK, opened = flags_open_device(&doctor->device, &doctor->flags);
    struct checks *first = NULL;
    enum prolog_verdict verdict;
    char names[512];

    if (opened == STATUS_BAD_USAGE)
        return opened;
    TRY_OUT(rows_make(&first, 1));
    TRY_OUT(look_at_device(doctor, opened));
    verdict = prolog_judge(&doctor->checks, names, sizeof names);
    if (opened == STATUS_DEVICE_OUT_OF_MEMORY) { /* which others have */
        verdict = PROLOG_BUSY;
        snprintf(names, sizeof names, "device: %.200s", status_last()->text);
    } else if (opened == STATUS_OK && prolog_wants_second_look(&doctor->checks)) {
        *first = doctor->checks;
        memset(&doctor->checks, 0, sizeof doctor->checks);
        device_links_release(&doctor->links);
        TRY_OUT(look_at_device(doctor, opened));
        verdict = prolog_judge_both(first, &doctor->checks, names, sizeof names);
    }
    *exit_code = prolog_print(verdict, names, doctor->flags.strict);
    if (opened != STATUS_OK && verdict == PROLOG_UNFIT)
        FAIL_OUT(opened, "there is no device to check: %.300s", names);

out:
    free(first);
    return status;
}

/* "cuda:3,apart" is cuda:3. */
static void take_apart(struct doctor *doctor)
{
    static const char apart[] = ",apart";
    size_t length = strlen(doctor->flags.device);

    doctor->apart =
        ends_in(doctor->flags.device, apart) && length - strlen(apart) < sizeof doctor->name;
    if (!doctor->apart)
        return;
    snprintf(doctor->name, sizeof doctor->name, "%.*s", (int)(length - strlen(apart)),
             doctor->flags.device);
    doctor->flags.device = doctor->name;
}

/* One device, with all its rows. */
static enum status run_one(struct doctor *doctor, int *exit_code)
{
    enum status opened;
    int bad;

    TRY(against_read(&doctor->against, "doctor", node_read));
    opened = flags_open_device(&doctor->device, &doctor->flags);
    if (opened == STATUS_BAD_USAGE)
        return opened;
    doctor->printer =
        (struct checks_printer){ .page = flags_page(&doctor->flags), .checks = &doctor->checks };
    if (doctor->flags.format != FORMAT_JSON) { /* that is one document at the end */
        doctor->checks.added = checks_print_new;
        doctor->checks.context = &doctor->printer;
    }
    TRY(look_at_device(doctor, opened));
    TRY(compare_with_others(doctor));
    TRY(end_printing(doctor));
    if (opened != STATUS_OK) /* For its exit code; the text has been printed as a row. */
        FAIL(opened, "there is no device to check: see the rows device and gpu_driver");
    bad = checks_bad(&doctor->checks, doctor->flags.strict);
    *exit_code = bad > 0 ? 1 : 0;
    if (bad == 0 && interrupt_signal() != 0) /* Else the rows that fail decide. */
        FAIL(STATUS_INTERRUPTED, "stopped by %s; the row soak_time has the time that was soaked",
             interrupt_name());

    return STATUS_OK;
}

static enum status run_doctor(void *context, int *exit_code)
{
    struct doctor *doctor = context;

    if (strcmp(doctor->flags.device, "cuda:count") == 0) {
        /* doctor_all.c asks children for these, since opening a device may hang: how many devices
         * there are, what is between them, and a look at one apart from the others. */
        doctor->flags.device = "cuda:0";
        TRY(flags_open_device(&doctor->device, &doctor->flags));
        printf("%d\n", device_properties(doctor->device)->peers + 1);

        return STATUS_OK;
    }
    if (strcmp(doctor->flags.device, "cuda:links") == 0) {
        doctor->flags.device = "cuda:0";
        TRY(flags_open_device(&doctor->device, &doctor->flags));
        TRY(device_links_measure(&doctor->links, doctor->device));
        device_links_check(&doctor->checks, &doctor->links);

        return print_json(doctor);
    }
    take_apart(doctor);
    if (!doctor_is_of_all(doctor->flags.device))
        return doctor->prolog ? run_prolog(doctor, exit_code) : run_one(doctor, exit_code);
    if (doctor->against.where != NULL)
        FAIL(STATUS_BAD_USAGE,
             "--against places one device among others: leave it out, or name a device");
    return doctor_all(&(struct doctor_request){ .device = doctor->flags.device,
                                                .out = doctor->flags.out,
                                                .page = flags_page(&doctor->flags),
                                                .soak_seconds = doctor->soak_seconds,
                                                .prolog = doctor->prolog,
                                                .strict = doctor->flags.strict,
                                                .is_json = doctor->flags.format == FORMAT_JSON },
                      exit_code);
}

static void doctor_release(void *context)
{
    struct doctor *doctor = context;

    device_close(doctor->device);
    device_links_release(&doctor->links);
    against_release(&doctor->against);
}

static const struct option_row options[] = {
    FLAG_DEVICE("what to check; cuda:all: every GPU, cpu:all: the cores of each NUMA node, one "
                "after the other and all at "
                "once, each in a process of its own"),
    FLAG_DEVICE_MEMORY,
    FLAG_OUT("the folder that results will be written to", 2),
    FLAG_STRICT("pass only if no row is low either", 2),
    { "soak", "DURATION",
      "keep the device under load for so long (60s, 10m, 1h), and tell whether it computes the "
      "same "
      "bits each time and stays as fast; Ctrl-C ends it early",
      1, value_duration, .offset = offsetof(struct doctor, soak_seconds), .most = SOAK_MOST },
    { "against", "FILE|DIR",
      "place each figure among those of other machines with this device, from their files of "
      "doctor --format=json",
      2, value_text, .offset = offsetof(struct doctor, against.where) },
    { "prolog", NULL,
      "print one line, for a job scheduler: the host's name, and whether it is fit to measure; "
      "what others do on it "
      "makes it busy (exit code 4), and a fault is looked at twice",
      2, value_boolean, .offset = offsetof(struct doctor, prolog) },
    FLAG_FORMAT("console|json|markdown"),
    FLAG_COLOR,
    FLAG_VERBOSE,
    OPTIONS_END,
};

const struct command command_doctor = {
    .name = "doctor",
    .text = "check that this machine is fit to measure, and fast enough",
    .help = "Checks whether this machine is fit to measure, and as fast as it should be. Each "
            "row is ok, low, fail or n/a, with advice. A figure is shown beside what is "
            "expected: for the CPU device, from what the host does without it; for a GPU, "
            "from its clocks, widths and link. Copies between GPUs are measured where there are "
            "several. "
            "The last line answers the question: yes, with care, or "
            "no. Takes less than 30 s, and with --soak so much longer.\v"
            "Examples:\n"
            "  chokepoint doctor\n"
            "  chokepoint doctor --device=cuda:1 --out=/data/results\n"
            "  chokepoint doctor --format=json\n"
            "  chokepoint doctor --against=results/\n"
            "  chokepoint doctor --prolog\n"
            "  chokepoint doctor --soak=10m    load, bit for bit the same each time\n"
            "\n" EXIT_CODES("no row fails", "a row fails; with --strict, a row is low",
                            "the device does not open") " 4 with --prolog: nothing is wrong with "
                                                        "the machine, but others use it now.",
    .options = options,
    .context_size = sizeof(struct doctor),
    .run = run_doctor,
    .release = doctor_release,
};
