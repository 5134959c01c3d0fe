/* A file for each sample, on storage that has to be asked.
 *
 * A disk, a network's file system or an object store answers each request after some time, however
 * little is asked for, and a loader that opens a small file for each sample asks once per sample,
 * in random order, so that nothing can be read ahead. The first epoch is slow then, and all others
 * are if the data set is larger than the host's memory, where Linux would keep what was read (the
 * page cache). Decoding has no part in this: the processor waits, and more workers are worth it for
 * as long as the storage can answer several at once. Shards hold many samples one behind the other
 * (WebDataset's tar files, TFRecords, Parquet), so that one request, and what the system reads
 * ahead, brings them all; the order is shuffled among the shards, and in a buffer.
 *
 * Here both variants read the same bytes in the same order of samples, and drop each file's pages
 * from the page cache first (posix_fadvise(2)): 1024 files, or 8 shards, in each epoch. */
#include "scenarios/scenario.h"

const struct scenario scenario_cold_storage = {
    .name = "cold_storage",
    .title = "Reading a small file for each sample",
    .also = "slow storage, NFS, I/O-bound, WebDataset, TFRecord, LMDB, Parquet, MosaicML "
            "Streaming, page cache, first epoch",
    .group = GROUP_DATA,
    .symptom = "the first epoch is slow, or all are; the device waits for data while the "
               "processors are idle, too",
    .cause = "the storage is asked for one small file after the other, and each takes its time to "
             "come",
    .fix = "store samples in shards of 100 MB or so and read these in one go (WebDataset, "
           "TFRecord, Parquet), or copy the data set to local memory or disk before the run",
    .look = "a loader that waits for its files and computes little: processes in state D, and "
            "iostat -x with many small reads",
    .cost = "a copy of the data set, whose samples can be shuffled among shards and in a buffer "
            "only; gains nothing once the page cache has all files",
    .pytorch = {
        .before = "for i in range(16):\n"
                  "    torch.save(dataset[i], f\"{i}.pt\")\n"
                  "\n"
                  "for i in torch.randperm(16).tolist():\n"
                  "    inputs, label = torch.load(f\"{i}.pt\")\n"
                  "    train_step(inputs[None], label[None])\n",
        .after = "for shard in range(2):\n"
                 "    samples = [dataset[8 * shard + i] for i in range(8)]\n"
                 "    torch.save(samples, f\"{shard}.pt\")\n"
                 "\n"
                 "for shard in torch.randperm(2).tolist():\n"
                 "    samples = torch.load(f\"{shard}.pt\")\n"
                 "    for i in torch.randperm(8).tolist():\n"
                 "        inputs, label = samples[i]\n"
                 "        train_step(inputs[None], label[None])\n",
    },
    .base = "model=light blocks=1 data=images tokens=5 batch=32 input=decoded workers=0 "
            "launch=graph page_cache=dropped",
    .knob = "storage",
    .before = "files",
    .after = "shards",
    .needs = WHERE_TWO_CORES, /* as all that waits for its input */
    .least_cost = { METRIC_READ_TIME, .share = 0.15 },
    .loss = LOSS_IDENTICAL,
    .expect = {
        /* 32 and 1/4: a shard of 128 samples is read once in an epoch. */
        { METRIC_READS_PER_STEP, SHRINKS, .at_least = 60 },
        /* Ten quick runs on a virtual disk (ext4) and two cores of an EPYC, on which others wanted
         * ten times as many: 22 to 37, 6.1 to 10.7 and 2.8 to 4.4. On the quiet machine a file took
         * 59 us, and its part of a shard 4. */
        { METRIC_READ_TIME, SHRINKS, .at_least = 3 },
        { METRIC_DATA_WAIT, SHRINKS, .at_least = 1.3 },
        { METRIC_STEP_TIME, SHRINKS, .at_least = 1.1 },
    },
    /* A disk answers unevenly, too. */
    .accept = { { "data_loading", ANYWHERE }, { "data_jitter", ANYWHERE } },
    /* The loop still decodes, the first steps of an epoch read their shards, and compute shares the
     * host's cores. */
    .tolerated_after = { { "data_loading", ANYWHERE },
                         { "device_wait", WHERE_CPU_DEVICE },
                         { "data_jitter", ANYWHERE },
                         { "epoch_gap", ANYWHERE },
                         { "host_sync", ANYWHERE } },
};
