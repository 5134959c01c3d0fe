/* Four times the rows cost four times the work, in `compare`, and so do four times the numbers that
 * are none in a lenient file. */
#include "harness/desk/compare/comparison.h"
#include "harness/desk/compare/file/benchmark_file.h"
#include "harness/desk/compare/file/lenient_json.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/fixtures/counting/counted_blocks.h"

#include <math.h>
#include <unistd.h>

/* A file of rows of 3 repetitions, in which `number` is each row's time as it is written. */
static void write_rows(char path[32], int rows, const char *number)
{
    FILE *file;

    snprintf(path, 32, "/tmp/linear-XXXXXX");
    file = fdopen(mkstemp(path), "w");
    assert_non_null(file);
    fprintf(file, "{\"context\": {\"date\": \"2026-11-20T21:21:34+00:00\"}, \"benchmarks\": [");
    for (int i = 0; i < 3 * rows; i++)
        fprintf(file,
                "%s{\"name\": \"row_%d\", \"repetitions\": 3, \"repetition_index\": %d, "
                "\"real_time\": %d, \"cpu_time\": %s, \"time_unit\": \"ns\"}\n",
                i > 0 ? ", " : "", i / 3, i % 3, 1000 + i % 7, number);
    fprintf(file, "]}\n");
    assert_int_equal(fclose(file), 0);
}

static double blocks_of_comparison(int rows)
{
    char paths[SIDES][32];
    struct benchmark_file files[SIDES];
    struct compare_files sides[SIDES];
    struct comparison comparison;
    const struct compare_rule rule = { .metric = BENCHMARK_TIME, .threshold = 0.05, .noise = NAN };

    for (int i = 0; i < SIDES; i++) write_rows(paths[i], rows, "5");
    count_blocks();
    for (int i = 0; i < SIDES; i++) {
        assert_ok(benchmark_file_read(&files[i], paths[i], BENCHMARK_TIME));
        sides[i] = (struct compare_files){ &files[i], 1 };
    }
    assert_ok(comparison_make(&comparison, sides, &rule, NULL, NULL));
    assert_int_equal(comparison.count, rows);
    comparison_release(&comparison);
    for (int i = 0; i < SIDES; i++) {
        benchmark_file_release(&files[i]);
        unlink(paths[i]);
    }
    return counted_blocks();
}

static double blocks_of_lenient_json(int rows)
{
    char path[32];
    cJSON *root;

    write_rows(path, rows, "-nan");
    count_blocks();
    assert_ok(lenient_json_read(&root, path));
    cJSON_Delete(root);
    unlink(path);
    return counted_blocks();
}

TEST(the_work_grows_as_the_rows_do)
{
    check_is_linear("compare", blocks_of_comparison(500), blocks_of_comparison(2000));
    check_is_linear("lenient JSON", blocks_of_lenient_json(500), blocks_of_lenient_json(2000));
}
