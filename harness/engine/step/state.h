/* The training state: all that a run needs to go on as if it had never stopped.
 *
 * It is one piece of host memory, and a file is that piece: a header, then every parameter's master
 * weights and moments, then the optimizer's own state. The header has the settings, what was
 * trained on, the number of steps and a checksum of everything. Nothing else is needed: parameters
 * in 16 bits are the rounded masters, and the seed and the number of a step give its samples.
 * Nothing that is random is drawn while training.
 *
 * Numbers are stored as the machine has them; all that the program runs on are little-endian. */
#pragma once

#include "harness/engine/step/training.h"

#include <limits.h>

/* The file in the user's folder. */
#define STATE_FILE "training.state"
enum status state_path(char path[PATH_MAX], const char *folder);

enum { STATE_HEADER = 4096 }; /* bytes; the tensors follow */

size_t state_bytes(const struct training *training);

/* Queues copies of the device's part to `state`, host memory of state_bytes(); waits for each of
 * them where `blocking`. */
enum status state_copy(struct training *training, char *state, bool blocking);

/* Queues copies of the device's part to device memory of state_bytes(). */
enum status state_keep(struct training *training, char *memory);

/* Queues copies back from there: the training is again as it was, after `steps` steps. */
enum status state_restore(struct training *training, const char *memory, int64_t steps);

/* Once the copies are done: writes the header. By any thread. `settings` are those of
 * knobs_print(). */
void state_seal(char *state, size_t bytes, const char *settings,
                const struct dataset_identity *data, int64_t steps);

/* Whether the state in the folder that the settings name can be gone on from. One that is missing,
 * cut, damaged, of something else, or of a run with other settings or data is refused (BAD_INPUT,
 * or IO where it cannot be read). */
enum status state_check(const struct training_config *config, const struct dataset *dataset);

/* Makes that state the one of `training`, which has done no step, and sets its number of steps.
 * Refused as above before anything is changed. */
enum status state_load(struct training *training);
