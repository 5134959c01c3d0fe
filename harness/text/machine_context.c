/* Google Benchmark's members come first and have its types. The further ones are strings, as its
 * tools expect of custom members. */
#include "harness/text/machine_context.h"

#include "harness/base/figures/quantity.h"
#include "harness/base/system/environment.h"
#include "harness/text/commit.h"

#include <unistd.h>

static void add_caches(const struct machine *machine, struct json *json, cJSON *context)
{
    cJSON *caches = json_array(json, context, "caches");

    for (int i = 0; i < machine->cache_count; i++) {
        const struct machine_cache *cache = &machine->caches[i];
        JSON_ROW(json, caches, KEY("type", cache->type), KEY("level", cache->level),
                 KEY("size", cache->bytes), KEY("num_sharing", cache->sharing));
    }
}

static void add_known_text(struct json *json, cJSON *context, const char *name, const char *value)
{
    if (value[0] != '\0')
        json_text(json, context, name, value);
}

void machine_context(const struct machine *machine, struct json *json, cJSON *context)
{
    char environment[512];

    JSON_ADD(json, context, KEY("date", machine->date), KEY("host_name", machine->host_name));
    if (machine->executable[0] != '\0')
        json_text(json, context, "executable", machine->executable);
    JSON_ADD(json, context, KEY("num_cpus", machine->cpus), KEY("mhz_per_cpu", machine->mhz));
    if (machine->scaling != NOT_KNOWN)
        json_bool(json, context, "cpu_scaling_enabled", machine->scaling == KNOWN_YES);
    if (machine->aslr != NOT_KNOWN)
        json_bool(json, context, "aslr_enabled", machine->aslr == KNOWN_YES);
    add_caches(machine, json, context);
    JSON_ADD(json, context,
             KEY("load_avg", json_series(json, machine->load, machine->load_count, 6)));
    json_text(json, context, "library_version", "chokepoint " CHOKEPOINT_VERSION);
#ifdef NDEBUG
    json_text(json, context, "library_build_type", "release");
#else
    json_text(json, context, "library_build_type", "debug");
#endif
    json_integer(json, context, "json_schema_version", 1);
    add_known_text(json, context, "commit", CHOKEPOINT_COMMIT);
    add_known_text(json, context, "cpu_model", machine->cpu_model);
    add_known_text(json, context, "kernel", machine->kernel);
    JSON_ADD(json, context, KEY("memory_bytes", quantity_count(machine->memory_bytes).text),
             KEY("cores_allowed", quantity_count(machine->cores_allowed).text));
    add_known_text(json, context, "affinity", machine->affinity);
    add_known_text(json, context, "cpu_quota", machine->cpu_quota);
    environment_print(environ, environment, sizeof environment);
    json_text(json, context, "environment", environment);
}
