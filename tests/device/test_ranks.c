/* Ranks and the collectives of their devices. The program runs as every rank of a job that
 * under_mpi.sh starts; alone it is a process without a job. */
#include "harness/device/many_ranks.h"

#include "harness/base/system/machine.h"
#include "kernels/dialect/half.h"
#include "tests/fixtures/lab/cpu_device.h"

#include <math.h>
#include <sched.h>

static int ranks = 1;

/* Element `i` of rank `rank`: values whose sum depends on the order of additions. */
static float value(int rank, int64_t i)
{
    return ldexpf(1 + (float)((i * 7 + rank * 13) % 97) / 97, (int)((i + 5 * rank) % 40) - 20);
}

/* In the order of ranks. */
static float sum_of(int64_t i)
{
    float sum = value(0, i);

    for (int rank = 1; rank < ranks; rank++) sum += value(rank, i);
    return sum;
}

struct fixture {
    struct device *device;
    struct stream *stream;
    float *data, *host;
    int64_t count;
    int communicating; /* kernels in the records */
    struct activity last;
};

static void record(void *context, const struct activity *activity)
{
    struct fixture *fixture = context;

    if (activity->kind != ACTIVITY_KERNEL || activity->collective == NULL)
        return;
    fixture->communicating++;
    fixture->last = *activity;
}

enum { LONGEST = 3 * (200 << 10) };

static int open_device(void **state)
{
    static struct fixture fixture;
    const struct device_options options = { .spin_ns = -1, .sink = { record, &fixture, NULL } };

    fixture = (struct fixture){ 0 };
    OK(test_device_open(&fixture.device, &options));
    assert_ok(stream_create(fixture.device, &fixture.stream));
    assert_ok(device_alloc(fixture.device, NULL, ALLOCATE_DIRECT, LONGEST * sizeof(float),
                           (void **)&fixture.data));
    fixture.host = malloc(LONGEST * sizeof(float));
    assert_non_null(fixture.host);
    *state = &fixture;
    return 0;
}

static int close_device(void **state)
{
    struct fixture *fixture = *state;

    device_free(fixture->device, NULL, ALLOCATE_DIRECT, fixture->data);
    stream_destroy(fixture->stream);
    device_close(fixture->device);
    free(fixture->host);
    return 0;
}

/* Every rank's own values go to the device, the collective runs, and the result comes back. */
static void collect(struct fixture *fixture, enum collective_kind kind, int64_t count)
{
    size_t bytes = (size_t)count * sizeof(float);
    const struct collective collective = { kind, fixture->data, count, .dtype = DTYPE_F32 };

    for (int64_t i = 0; i < count; i++) fixture->host[i] = value(ranks_rank(), i);
    assert_ok(
        device_copy(fixture->stream, COPY_HOST_TO_DEVICE, fixture->data, fixture->host, bytes));
    assert_ok(device_collective(fixture->stream, &collective));
    assert_ok(
        device_copy(fixture->stream, COPY_DEVICE_TO_HOST, fixture->host, fixture->data, bytes));
}

static void assert_same(float got, float wanted, int64_t i)
{
    if (memcmp(&got, &wanted, sizeof got) != 0)
        fail_msg("element %lld is %.9g, not %.9g", (long long)i, (double)got, (double)wanted);
}

/* Short and long ones, one element, and more than a round holds, divided evenly or not. */
static void all_reduce_adds_in_the_order_of_ranks(void **state)
{
    static const int64_t counts[] = { 1, 2, 1023, 1025, 70001, LONGEST - 1 };

    for (size_t c = 0; c < ARRAY_SIZE(counts); c++) {
        collect(*state, COLLECTIVE_ALL_REDUCE, counts[c]);
        for (int64_t i = 0; i < counts[c]; i++)
            assert_same(((struct fixture *)*state)->host[i], sum_of(i), i);
    }
}

static void reduce_scatter_leaves_each_rank_its_part(void **state)
{
    const struct fixture *fixture = *state;
    int64_t count = 66000 * ranks, part = count / ranks;

    collect(*state, COLLECTIVE_REDUCE_SCATTER, count);
    for (int64_t i = part * ranks_rank(); i < part * (ranks_rank() + 1); i++)
        assert_same(fixture->host[i], sum_of(i), i);
}

static void all_gather_takes_the_part_of_each_rank(void **state)
{
    const struct fixture *fixture = *state;
    int64_t count = 66000 * ranks, part = count / ranks;

    collect(*state, COLLECTIVE_ALL_GATHER, count);
    for (int64_t i = 0; i < count; i++) assert_same(fixture->host[i], value((int)(i / part), i), i);
}

static void broadcast_takes_what_the_first_rank_has(void **state)
{
    const struct fixture *fixture = *state;

    collect(*state, COLLECTIVE_BROADCAST, 70001);
    for (int64_t i = 0; i < 70001; i++) assert_same(fixture->host[i], value(0, i), i);
}

/* --- Messages --- */

enum { MESSAGE = 70001 }; /* longer than MPI sends before its receiver comes */

/* This rank's values are in the first half of the memory, and what it receives comes behind it. */
static void pass(struct fixture *fixture, enum collective_kind kind, int peer)
{
    const struct collective message = { .kind = kind,
                                        .data = kind == COLLECTIVE_RECV ? fixture->data + MESSAGE
                                                                        : fixture->data,
                                        .count = MESSAGE,
                                        .peer = peer,
                                        .received = fixture->data + MESSAGE };

    OK(device_collective(fixture->stream, &message));
}

static void fill_own(struct fixture *fixture)
{
    for (int64_t i = 0; i < MESSAGE; i++) fixture->host[i] = value(ranks_rank(), i);
    OK(device_copy(fixture->stream, COPY_HOST_TO_DEVICE, fixture->data, fixture->host,
                   MESSAGE * sizeof(float)));
}

static void assert_received(struct fixture *fixture, int from)
{
    OK(device_copy(fixture->stream, COPY_DEVICE_TO_HOST, fixture->host, fixture->data + MESSAGE,
                   MESSAGE * sizeof(float)));
    for (int64_t i = 0; i < MESSAGE; i++) assert_same(fixture->host[i], value(from, i), i);
}

/* Along the line of ranks: each takes what the one before it has. */
static void a_message_goes_from_one_rank_to_another(void **state)
{
    struct fixture *fixture = *state;
    int rank = ranks_rank();

    fill_own(fixture);
    if (rank > 0)
        pass(fixture, COLLECTIVE_RECV, rank - 1);
    if (rank + 1 < ranks)
        pass(fixture, COLLECTIVE_SEND, rank + 1);
    if (rank > 0)
        assert_received(fixture, rank - 1);
}

/* The first two talk, while a third goes on. */
static bool is_in_pair(void)
{
    return ranks > 1 && ranks_rank() < 2;
}

static void two_ranks_send_to_each_other_at_once(void **state)
{
    struct fixture *fixture = *state;
    int rank = ranks_rank();

    fill_own(fixture);
    for (int i = 0; i < 3 && is_in_pair(); i++) {
        pass(fixture, COLLECTIVE_SEND_RECV, 1 - rank);
        assert_received(fixture, 1 - rank);
    }
}

/* One does both at once, and the other one after the other. */
static void both_at_once_meets_one_after_the_other(void **state)
{
    struct fixture *fixture = *state;
    int rank = ranks_rank();

    fill_own(fixture);
    if (!is_in_pair())
        return;
    if (rank == 0) {
        pass(fixture, COLLECTIVE_SEND_RECV, 1);
    } else {
        pass(fixture, COLLECTIVE_SEND, 0);
        pass(fixture, COLLECTIVE_RECV, 0);
    }
    assert_received(fixture, 1 - rank);
}

static void messages_are_counted_and_recorded(void **state)
{
    static const char *const names[] = { "send", "recv", "batch_isend_irecv" };
    struct fixture *fixture = *state;
    int rank = ranks_rank();

    fill_own(fixture);
    for (int i = 0; i < 3 && is_in_pair(); i++) {
        int kind = i < 2 ? (i + rank) % 2 : i; /* what one sends the other receives */
        struct device_counters before = device_counters(fixture->device), after;
        pass(fixture, COLLECTIVE_SEND + kind, 1 - rank);
        OK(stream_synchronize(fixture->stream));
        OK(device_activity_flush(fixture->device));
        after = device_counters(fixture->device);
        assert_int_equal(after.collectives - before.collectives, 1);
        assert_int_equal(after.collective_bytes - before.collective_bytes,
                         (kind == 2 ? 2 : 1) * MESSAGE * 4);
        assert_string_equal(fixture->last.collective, names[kind]);
        assert_string_equal(fixture->last.name, "ncclDevKernel_SendRecv");
        assert_int_equal(fixture->last.bytes, MESSAGE * 4);
    }
}

static void a_message_without_another_rank_is_refused(void **state)
{
    struct fixture *fixture = *state;
    float *data = fixture->data;
    const struct collective cases[] = {
        { COLLECTIVE_SEND, data, 64, .peer = ranks_rank() },
        { COLLECTIVE_SEND, data, 64, .peer = -1 },
        { COLLECTIVE_RECV, data, 64, .peer = ranks },
        { COLLECTIVE_SEND_RECV, data, 64, .peer = (ranks_rank() + 1) % ranks },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(device_collective(fixture->stream, &cases[i]), STATUS_BAD_USAGE);
}

/* --- All to all --- */

enum { PIECES = 2, RANKS_MOST = 16, HALF = LONGEST / 2 };

/* Elements of piece `piece` from one rank to another: none for some, all of the last rank's go to
 * the first, and the last one gets none. */
static int64_t piece_length(int from, int to, int piece)
{
    if (ranks > 1 && to == ranks - 1)
        return 0;
    if (from == ranks - 1 && to != 0)
        return 0;
    return (from * 3 + to * 5 + piece * 7) % 4 * INT64_C(10007);
}

/* Pieces are sent in their order, and received in the order of pieces and then of ranks. */
static struct collective all_to_all(const struct fixture *fixture, struct collective_piece *pieces)
{
    struct collective collective = { .kind = COLLECTIVE_ALL_TO_ALL,
                                     .data = fixture->data,
                                     .received = fixture->data + HALF,
                                     .pieces = pieces,
                                     .rank_pieces = PIECES };
    int64_t at = 0;

    for (int i = 0; i < ranks * PIECES; i++) {
        pieces[i].sent_first = collective.count;
        pieces[i].sent = piece_length(ranks_rank(), i / PIECES, i % PIECES);
        collective.count += pieces[i].sent;
    }
    for (int i = 0; i < ranks * PIECES; i++) {
        struct collective_piece *piece = &pieces[i % ranks * PIECES + i / ranks];
        piece->received_first = at;
        piece->received = piece_length(i % ranks, ranks_rank(), i / ranks);
        at += piece->received;
    }
    return collective;
}

/* The first element that `from` sends of a piece. */
static int64_t sent_first(int from, int to, int piece)
{
    int64_t first = 0;

    for (int i = 0; i < to * PIECES + piece; i++)
        first += piece_length(from, i / PIECES, i % PIECES);
    return first;
}

static void each_rank_gets_its_piece_of_each(void **state)
{
    struct fixture *fixture = *state;
    struct collective_piece pieces[RANKS_MOST * PIECES];
    struct collective collective = all_to_all(fixture, pieces);

    for (int64_t i = 0; i < HALF; i++) fixture->host[i] = value(ranks_rank(), i);
    OK(device_copy(fixture->stream, COPY_HOST_TO_DEVICE, fixture->data, fixture->host,
                   HALF * sizeof(float)));
    OK(device_collective(fixture->stream, &collective));
    OK(device_copy(fixture->stream, COPY_DEVICE_TO_HOST, fixture->host, fixture->data + HALF,
                   HALF * sizeof(float)));
    for (int p = 0; p < ranks * PIECES; p++)
        for (int64_t i = 0; i < pieces[p].received; i++)
            assert_same(fixture->host[pieces[p].received_first + i],
                        value(p / PIECES, sent_first(p / PIECES, ranks_rank(), p % PIECES) + i), i);
}

static void an_all_to_all_is_counted_and_recorded(void **state)
{
    struct fixture *fixture = *state;
    struct collective_piece pieces[RANKS_MOST * PIECES];
    struct collective collective = all_to_all(fixture, pieces);
    int64_t received = collective_received(&collective, ranks);
    struct device_counters before = device_counters(fixture->device), after;

    OK(device_collective(fixture->stream, &collective));
    OK(stream_synchronize(fixture->stream));
    OK(device_activity_flush(fixture->device));
    after = device_counters(fixture->device);
    assert_int_equal(after.collectives - before.collectives, 1);
    assert_int_equal(after.collective_bytes - before.collective_bytes,
                     (collective.count + received) * 4);
    assert_string_equal(fixture->last.collective, "all_to_allv");
    assert_string_equal(fixture->last.name, "ncclDevKernel_SendRecv");
    assert_int_equal(fixture->last.bytes, collective.count * 4);
}

static void pieces_that_are_not_all_that_is_sent_are_refused(void **state)
{
    const struct fixture *fixture = *state;
    struct collective_piece pieces[RANKS_MOST * PIECES];
    struct collective whole = all_to_all(fixture, pieces), cases[] = { whole, whole, whole, whole };

    cases[0].count++;
    cases[1].received = NULL;
    cases[2].pieces = NULL;
    cases[3].rank_pieces = 0;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(device_collective(fixture->stream, &cases[i]), STATUS_BAD_USAGE);
    pieces[0].received = -1;
    assert_int_equal(device_collective(fixture->stream, &whole), STATUS_BAD_USAGE);
}

/* --- Narrow types --- */

static uint16_t narrow(float value, enum dtype dtype)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return dtype == DTYPE_BF16 ? (uint16_t)(bits >> 16) : half_narrow(value);
}

/* Whole numbers that both types hold exactly, as they do the sums of three. */
static float whole_number(int rank, int64_t i)
{
    return (float)((i * 7 + rank * 13) % 61);
}

static void collect_halves(struct fixture *fixture, enum collective_kind kind, int64_t count,
                           enum dtype dtype)
{
    const struct collective collective = { kind, fixture->data, count, .dtype = dtype };
    uint16_t *halves = (uint16_t *)fixture->host;
    size_t bytes = (size_t)count * sizeof *halves;

    for (int64_t i = 0; i < count; i++) halves[i] = narrow(whole_number(ranks_rank(), i), dtype);
    OK(device_copy(fixture->stream, COPY_HOST_TO_DEVICE, fixture->data, halves, bytes));
    OK(device_collective(fixture->stream, &collective));
    OK(device_copy(fixture->stream, COPY_DEVICE_TO_HOST, halves, fixture->data, bytes));
}

static float whole_sum(int64_t i)
{
    float sum = 0;

    for (int rank = 0; rank < ranks; rank++) sum += whole_number(rank, i);
    return sum;
}

static void narrow_types_communicate_too(void **state)
{
    static const int64_t counts[] = { 1, 1023, 1025, 70001 };
    struct fixture *fixture = *state;
    const uint16_t *halves = (const uint16_t *)fixture->host;
    int64_t count = 66000 * ranks, part = count / ranks;

    for (enum dtype dtype = DTYPE_BF16; dtype <= DTYPE_F16; dtype++) {
        for (size_t c = 0; c < ARRAY_SIZE(counts); c++) {
            collect_halves(fixture, COLLECTIVE_ALL_REDUCE, counts[c], dtype);
            for (int64_t i = 0; i < counts[c]; i++)
                assert_int_equal(halves[i], narrow(whole_sum(i), dtype));
        }
        collect_halves(fixture, COLLECTIVE_REDUCE_SCATTER, count, dtype);
        for (int64_t i = part * ranks_rank(); i < part * (ranks_rank() + 1); i++)
            assert_int_equal(halves[i], narrow(whole_sum(i), dtype));
        collect_halves(fixture, COLLECTIVE_ALL_GATHER, count, dtype);
        for (int64_t i = 0; i < count; i++)
            assert_int_equal(halves[i], narrow(whole_number((int)(i / part), i), dtype));
        collect_halves(fixture, COLLECTIVE_BROADCAST, count, dtype);
        for (int64_t i = 0; i < count; i++)
            assert_int_equal(halves[i], narrow(whole_number(0, i), dtype));
    }
}

/* In bf16 256 + 1 is 256, and so would be 256 + 1 + 1, added one by one: it is 258. */
static void sums_are_rounded_once(void **state)
{
    struct fixture *fixture = *state;
    const struct collective collective = { COLLECTIVE_ALL_REDUCE, fixture->data, 1,
                                           .dtype = DTYPE_BF16 };
    uint16_t half = narrow(ranks_rank() == 0 ? 256 : 1, DTYPE_BF16);

    OK(device_copy(fixture->stream, COPY_HOST_TO_DEVICE, fixture->data, &half, sizeof half));
    OK(device_collective(fixture->stream, &collective));
    OK(device_copy(fixture->stream, COPY_DEVICE_TO_HOST, &half, fixture->data, sizeof half));
    assert_int_equal(half, narrow(ranks == 3 ? 258 : 256, DTYPE_BF16));
}

static void collectives_are_in_the_order_of_their_stream(void **state)
{
    struct fixture *fixture = *state;
    const struct collective collective = { COLLECTIVE_ALL_REDUCE, fixture->data, 4096,
                                           .dtype = DTYPE_F32 };
    float first = 0;

    assert_ok(device_memset(fixture->stream, fixture->data, 0, 4096 * sizeof(float)));
    for (int i = 0; i < 3; i++) {
        assert_ok(device_collective(fixture->stream, &collective));
        assert_ok(
            device_memset(fixture->stream, fixture->data, i == 2 ? 0x3f : 0, 4096 * sizeof(float)));
    }
    assert_ok(
        device_copy(fixture->stream, COPY_DEVICE_TO_HOST, &first, fixture->data, sizeof first));
    assert_same(first, 0x1.7e7e7ep-1f, 0); /* all bytes 0x3f */
}

static void they_are_counted_and_recorded(void **state)
{
    struct fixture *fixture = *state;
    struct device_counters before = device_counters(fixture->device), after;
    static const char kernel[] = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";
    int recorded;

    assert_ok(device_activity_flush(fixture->device));
    recorded = fixture->communicating;
    collect(fixture, COLLECTIVE_ALL_REDUCE, 5000);
    assert_ok(device_activity_flush(fixture->device));
    after = device_counters(fixture->device);
    assert_int_equal(after.collectives - before.collectives, 1);
    assert_int_equal(after.collective_bytes - before.collective_bytes, 20000);
    assert_int_equal(fixture->communicating - recorded, 1);
    assert_string_equal(fixture->last.collective, "allreduce");
    /* NCCL chooses the algorithm. */
    assert_memory_equal(fixture->last.name, kernel, strlen("ncclDevKernel_AllReduce_Sum_f32"));
    assert_int_equal(fixture->last.bytes, 20000);
    assert_true(fixture->last.end_ns > fixture->last.start_ns);
}

static void what_cannot_be_divided_is_refused(void **state)
{
    struct fixture *fixture = *state;
    const struct collective cases[] = {
        { COLLECTIVE_ALL_GATHER, fixture->data, ranks + 1, .dtype = DTYPE_F32 },
        { COLLECTIVE_REDUCE_SCATTER, fixture->data, ranks + 1, .dtype = DTYPE_F32 },
        { COLLECTIVE_ALL_REDUCE, fixture->data, 0, .dtype = DTYPE_F32 },
        { COLLECTIVE_ALL_REDUCE, NULL, 64, .dtype = DTYPE_F32 },
        { COLLECTIVE_COUNT, fixture->data, 64, .dtype = DTYPE_F32 },
        { COLLECTIVE_ALL_REDUCE, fixture->data, 64, .dtype = DTYPE_COUNT },
    };

    /* One rank divides everything. */
    for (size_t i = ranks > 1 ? 0 : 2; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(device_collective(fixture->stream, &cases[i]), STATUS_BAD_USAGE);
}

static void a_capture_refuses_them(struct fixture *fixture)
{
    const struct collective collective = { COLLECTIVE_ALL_REDUCE, fixture->data, 64,
                                           .dtype = DTYPE_F32 };
    struct graph *graph = NULL;

    assert_ok(graph_begin(fixture->stream));
    assert_int_equal(device_collective(fixture->stream, &collective), STATUS_CAPTURE);
    assert_int_equal(graph_end(fixture->stream, &graph), STATUS_CAPTURE);
}

/* Each launch of the graph adds up what the launch before it left. */
static void a_graph_runs_them_again(struct fixture *fixture)
{
    enum { COUNT = 64, LAUNCHES = 3 };
    const struct collective collective = { COLLECTIVE_ALL_REDUCE, fixture->data, COUNT,
                                           .dtype = DTYPE_F32 };
    struct graph *graph = NULL;
    float wanted = 1;

    for (int i = 0; i < COUNT; i++) fixture->host[i] = 1;
    for (int i = 0; i < LAUNCHES; i++) wanted *= (float)ranks;
    assert_ok(device_copy(fixture->stream, COPY_HOST_TO_DEVICE, fixture->data, fixture->host,
                          COUNT * sizeof(float)));
    assert_ok(graph_begin(fixture->stream));
    assert_ok(device_collective(fixture->stream, &collective));
    assert_ok(graph_end(fixture->stream, &graph));
    for (int i = 0; i < LAUNCHES; i++) assert_ok(graph_launch(fixture->stream, graph));
    assert_ok(device_copy(fixture->stream, COPY_DEVICE_TO_HOST, fixture->host, fixture->data,
                          COUNT * sizeof(float)));
    graph_destroy(graph);
    for (int i = 0; i < COUNT; i++) assert_same(fixture->host[i], wanted, i);
}

static void a_capture_takes_them_where_the_device_can(void **state)
{
    struct fixture *fixture = *state;

    if (device_properties(fixture->device)->is_gpu)
        a_graph_runs_them_again(fixture);
    else
        a_capture_refuses_them(fixture);
}

/* --- The hosts --- */

static void hosts_agree(void **state)
{
    double sums[2] = { 1, ranks_rank() };
    int number = 100 + ranks_rank();

    assert_ok(ranks_wait());
    assert_ok(ranks_take_first(&number, sizeof number));
    assert_int_equal(number, 100);
    assert_ok(ranks_sum(sums, 2));
    assert_true(sums[0] == ranks);
    assert_int_equal((int)sums[1], ranks * (ranks - 1) / 2);
}

/* Where there are cores enough, no core belongs to two ranks. */
static void each_has_its_share_of_the_cores(void **state)
{
    const struct fixture *fixture = *state;
    double users[CPU_SETSIZE] = { 0 };
    cpu_set_t own;
    int cores = 0;

    assert_int_equal(sched_getaffinity(0, sizeof own, &own), 0);
    for (int i = 0; i < CPU_SETSIZE; i++) users[i] = CPU_ISSET((size_t)i, &own) ? 1 : 0;
    assert_ok(ranks_sum(users, CPU_SETSIZE));
    for (int i = 0; i < CPU_SETSIZE; i++) cores += users[i] > 0;
    for (int i = 0; i < CPU_SETSIZE; i++) assert_true(users[i] <= (cores >= ranks ? 1 : ranks));
    assert_int_equal(device_properties(fixture->device)->host_cores, machine_cores());
}

/* --- Without a job --- */

static void one_rank_needs_nobody(void **state)
{
    struct fixture *fixture = *state;
    const struct collective collective = { COLLECTIVE_ALL_REDUCE, fixture->data, 64,
                                           .dtype = DTYPE_F32 };
    double sum = 3;
    int number = 7;

    assert_false(ranks_are_started());
    assert_int_equal(ranks_rank(), 0);
    assert_int_equal(ranks_count(), 1);
    assert_null(ranks_driver());
    assert_ok(ranks_wait());
    assert_ok(ranks_sum(&sum, 1));
    assert_ok(ranks_take_first(&number, sizeof number));
    assert_float_equal(sum, 3, 0);
    assert_int_equal(number, 7);
    ranks_abort(1);
    ranks_leave();
    assert_int_equal(device_collective(fixture->stream, &collective), STATUS_BAD_USAGE);
}

static void a_missing_plugin_is_named(void **state)
{
    setenv("CHOKEPOINT_PLUGINS", "/nowhere/at/all", 1);
    assert_int_equal(ranks_load(), STATUS_NO_LIBRARY);
    assert_non_null(strstr(status_last()->text, "libchokepoint_mpi.so is not in /nowhere"));
    unsetenv("CHOKEPOINT_PLUGINS");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest alone[] = {
        cmocka_unit_test(one_rank_needs_nobody),
        cmocka_unit_test(a_missing_plugin_is_named),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_reduce_adds_in_the_order_of_ranks),
        cmocka_unit_test(reduce_scatter_leaves_each_rank_its_part),
        cmocka_unit_test(all_gather_takes_the_part_of_each_rank),
        cmocka_unit_test(broadcast_takes_what_the_first_rank_has),
        cmocka_unit_test(a_message_goes_from_one_rank_to_another),
        cmocka_unit_test(two_ranks_send_to_each_other_at_once),
        cmocka_unit_test(both_at_once_meets_one_after_the_other),
        cmocka_unit_test(messages_are_counted_and_recorded),
        cmocka_unit_test(a_message_without_another_rank_is_refused),
        cmocka_unit_test(each_rank_gets_its_piece_of_each),
        cmocka_unit_test(an_all_to_all_is_counted_and_recorded),
        cmocka_unit_test(pieces_that_are_not_all_that_is_sent_are_refused),
        cmocka_unit_test(narrow_types_communicate_too),
        cmocka_unit_test(sums_are_rounded_once),
        cmocka_unit_test(collectives_are_in_the_order_of_their_stream),
        cmocka_unit_test(they_are_counted_and_recorded),
        cmocka_unit_test(what_cannot_be_divided_is_refused),
        cmocka_unit_test(a_capture_takes_them_where_the_device_can),
        cmocka_unit_test(hosts_agree),
        cmocka_unit_test(each_has_its_share_of_the_cores),
    };
    int failed;

    if (argc < 2)
        return cmocka_run_group_tests_name("no job", alone, open_device, close_device);
    ranks = atoi(argv[1]);
    if (ranks_join(ranks) != STATUS_OK) {
        fprintf(stderr, "%s\n", status_last()->text);
        return 1;
    }
    failed = cmocka_run_group_tests_name("ranks", tests, open_device, close_device);
    ranks_leave();
    return failed;
}
