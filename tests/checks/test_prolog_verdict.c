/* Who is to blame for a row that fails: the machine, or others on it. */
#include "harness/base/status.h"
#include "harness/checks/prolog_verdict.h"
#include "tests/fixtures/cmocka_prelude.h"

/* A look: rows as "name status unit", apart by commas. */
static struct checks look_of(const char *rows)
{
    static const char *const units[] = { "FLOP/s", "ns", "B/s", "Hz", "cores" };
    struct checks checks = { .count = 0 };
    char text[512], *row, *rest = text;

    strcpy(text, rows);
    while ((row = strsep(&rest, ",")) != NULL) {
        const char *name = strsep(&row, " "), *status = strsep(&row, " ");
        for (size_t i = 0; row != NULL && i < ARRAY_SIZE(units); i++)
            if (strcmp(row, units[i]) == 0)
                checks_number(&checks, 1, 2, units[i]);
        checks_add(&checks, name,
                   strcmp(status, "fail") == 0  ? CHECK_FAIL
                   : strcmp(status, "low") == 0 ? CHECK_LOW
                                                : CHECK_OK,
                   "", "", "v");
    }
    return checks;
}

TEST(others_make_a_machine_busy_and_its_own_faults_unfit)
{
    static const struct {
        const char *rows;
        enum prolog_verdict verdict;
        const char *names;
        bool second_look;
    } cases[] = {
        { "cpu ok", PROLOG_FIT, "", false },
        { "virtualisation low", PROLOG_CARE, "virtualisation: v", false },
        { "other_programs low", PROLOG_CARE, "other_programs: v", false },
        { "other_programs fail cores", PROLOG_BUSY, "other_programs: v", false },
        { "load fail,memory fail,smt low", PROLOG_BUSY, "load: v, memory: v", false },
        { "gemm_fp32 fail FLOP/s", PROLOG_UNFIT, "gemm_fp32: v", true },
        { "gemm_fp32 fail FLOP/s,other_programs low cores", PROLOG_BUSY, "gemm_fp32: v", false },
        { "wait fail ns,gpu_others low", PROLOG_BUSY, "wait: v", false },
        { "tracing fail,load low", PROLOG_BUSY, "tracing: v", false },
        { "gpu_link fail,other_programs fail", PROLOG_UNFIT, "gpu_link: v", true },
        { "numerics_gemm fail,other_programs fail", PROLOG_UNFIT, "numerics_gemm: v", false },
        { "soak_fp32_bits fail", PROLOG_UNFIT, "soak_fp32_bits: v", false },
        { "gpu_ecc fail", PROLOG_UNFIT, "gpu_ecc: v", false },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct checks checks = look_of(cases[i].rows);
        char names[256];
        if (prolog_judge(&checks, names, sizeof names) != cases[i].verdict ||
            strcmp(names, cases[i].names) != 0 ||
            prolog_wants_second_look(&checks) != cases[i].second_look)
            fail_msg("%s: \"%s\"", cases[i].rows, names);
    }
}

TEST(a_fault_counts_if_both_looks_have_it)
{
    static const struct {
        const char *first, *second;
        enum prolog_verdict verdict;
        const char *names;
    } cases[] = {
        { "gpu_link fail", "gpu_link fail", PROLOG_UNFIT, "gpu_link: v" },
        { "gpu_link fail", "gpu_link ok", PROLOG_FIT, "" },
        { "gpu_link fail", "gpu_link ok,smt low", PROLOG_CARE, "smt: v" },
        { "gemm_fp32 fail FLOP/s", "gemm_fp32 fail FLOP/s,load low", PROLOG_BUSY, "gemm_fp32: v" },
        { "gemm_fp32 fail FLOP/s", "gpu_link fail", PROLOG_CARE, "gpu_link: v" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct checks first = look_of(cases[i].first), second = look_of(cases[i].second);
        char names[256];
        if (prolog_judge_both(&first, &second, names, sizeof names) != cases[i].verdict ||
            strcmp(names, cases[i].names) != 0)
            fail_msg("%s, then %s: \"%s\"", cases[i].first, cases[i].second, names);
    }
}

TEST(the_line_says_it_in_words)
{
    char text[128];

    prolog_line(text, sizeof text, PROLOG_BUSY, "load: 8 over a minute");
    assert_string_equal(text, "Fit to measure: busy (load: 8 over a minute)");
    prolog_line(text, sizeof text, PROLOG_FIT, "");
    assert_string_equal(text, "Fit to measure: yes");
}
