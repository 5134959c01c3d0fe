/* Loaded into chokepoint before it starts: plays `doctor` of one of eight GPUs, as PLAYED says:
 * "slow:3,error:5,hang:6". The program that asks for all of them is the real one. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEVICES = 8 };

static bool is_played(const char *what, int device)
{
    const char *played = getenv("PLAYED");
    char word[32];

    snprintf(word, sizeof word, "%s:%d", what, device);
    return played != NULL && strstr(played, word) != NULL;
}

static void put(const char *name, const char *status, double number, const char *unit)
{
    printf(
        ",{\"name\":\"%s\",\"status\":\"%s\",\"value\":\"%.4g %s\",\"advice\":\"\",\"number\":%g,"
        "\"unit\":\"%s\"}",
        name, status, number, unit, number, unit);
}

static void play(int device)
{
    static const char *const names[] = { "gemm_fp32", "gemm_bf16", "copy_h2d", "copy_d2h" };

    while (is_played("hang", device)) pause();
    if (is_played("dies", device))
        abort();
    printf("{\"context\":{\"host_name\":\"h\",\"device_name\":\"G\",\"device_index\":\"%d\"},"
           "\"checks\":[{\"name\":\"device\",\"status\":\"%s\",\"value\":\"G\",\"advice\":\"\"}",
           device, is_played("error", device) ? "fail" : "ok");
    for (int i = 0; i < 4; i++) {
        double rate = 1e12 * (i + 1) * (1 + 0.002 * ((device * 7 + i * 5) % 11 - 5));
        put(names[i], "ok", rate * (is_played("slow", device) && i == 0 ? 0.6 : 1),
            i < 2 ? "FLOP/s" : "B/s");
    }
    put("other_programs", is_played("busy", device) ? "fail" : "ok", 3, "cores");
    printf("]}\n");
    fflush(stdout);
    _exit(is_played("error", device) ? 1 : 0);
}

/* glibc gives a constructor what main() gets. */
__attribute__((constructor)) static void before_main(int argc, char **argv)
{
    const char *colon;

    if (argc < 3 || strcmp(argv[1], "doctor") != 0 ||
        strncmp(argv[2], "--device=cuda:", strlen("--device=cuda:")) != 0)
        return;
    colon = strchr(argv[2], ':') + 1;
    if (strcmp(colon, "count") == 0) {
        printf("%d\n", DEVICES);
        fflush(stdout);
        _exit(0);
    }
    if (strcmp(colon, "links") == 0) {
        printf("{\"checks\":[{\"name\":\"peer_links\",\"status\":\"%s\",\"value\":\"56 of 56\","
               "\"advice\":\"\"}]}\n",
               is_played("links", 0) ? "fail" : "ok");
        fflush(stdout);
        _exit(0);
    }
    if (*colon >= '0' && *colon <= '9')
        play(atoi(colon));
}
