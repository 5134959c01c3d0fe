/* The names are those of FIPS 180-4: section 4.1.2 has the functions, 4.2.2 the constants, 5 the
 * padding, and 6.2 the computation. */
#include "harness/base/sha256.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 64, LENGTH_BYTES = 8 };

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t K[ROUNDS] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

/* The same of the square roots of the first 8. */
struct sha256 sha256_start(void)
{
    return (struct sha256){ .state = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                                       0x9b05688c, 0x1f83d9ab, 0x5be0cd19 } };
}

static uint32_t rotr(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

/* The message schedule: the block's 16 words, and 48 that follow from them. */
static void schedule(uint32_t w[ROUNDS], const unsigned char block[SHA256_BLOCK])
{
    for (int t = 0; t < 16; t++)
        w[t] = (uint32_t)block[4 * t] << 24 | (uint32_t)block[4 * t + 1] << 16 |
               (uint32_t)block[4 * t + 2] << 8 | block[4 * t + 3];
    for (int t = 16; t < ROUNDS; t++) {
        uint32_t sigma0 = rotr(w[t - 15], 7) ^ rotr(w[t - 15], 18) ^ w[t - 15] >> 3;
        uint32_t sigma1 = rotr(w[t - 2], 17) ^ rotr(w[t - 2], 19) ^ w[t - 2] >> 10;
        w[t] = sigma1 + w[t - 7] + sigma0 + w[t - 16];
    }
}

static void add_block(uint32_t state[8], const unsigned char block[SHA256_BLOCK])
{
    uint32_t w[ROUNDS], s[8];

    schedule(w, block);
    memcpy(s, state, sizeof s);
    for (int t = 0; t < ROUNDS; t++) {
        uint32_t sum1 = rotr(s[4], 6) ^ rotr(s[4], 11) ^ rotr(s[4], 25);
        uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
        uint32_t t1 = s[7] + sum1 + choice + K[t] + w[t];
        uint32_t sum0 = rotr(s[0], 2) ^ rotr(s[0], 13) ^ rotr(s[0], 22);
        uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
        memmove(s + 1, s, 7 * sizeof s[0]);
        s[4] += t1;
        s[0] = t1 + sum0 + majority;
    }
    for (int i = 0; i < 8; i++) state[i] += s[i];
}

void sha256_add(struct sha256 *hash, const void *bytes, size_t count)
{
    const unsigned char *from = bytes;

    while (count > 0) {
        size_t used = hash->bytes % SHA256_BLOCK, room = SHA256_BLOCK - used;
        size_t taken = count < room ? count : room;
        memcpy(hash->block + used, from, taken);
        hash->bytes += taken;
        from += taken;
        count -= taken;
        if (taken == room)
            add_block(hash->state, hash->block);
    }
}

/* Appends a 1 bit, zeros, and the length in bits, to a copy. */
void sha256_print(const struct sha256 *hash, char text[SHA256_TEXT])
{
    static const unsigned char padding[SHA256_BLOCK] = { 0x80 };
    struct sha256 end = *hash;
    size_t used = hash->bytes % SHA256_BLOCK;
    size_t blocks = used < SHA256_BLOCK - LENGTH_BYTES ? 1 : 2;
    unsigned char length[LENGTH_BYTES];

    for (int i = 0; i < LENGTH_BYTES; i++)
        length[i] = (unsigned char)(hash->bytes * 8 >> (8 * (LENGTH_BYTES - 1 - i)));
    sha256_add(&end, padding, blocks * SHA256_BLOCK - LENGTH_BYTES - used);
    sha256_add(&end, length, sizeof length);
    for (int i = 0; i < 8; i++) snprintf(text + 8 * i, 9, "%08x", end.state[i]);
}

enum status sha256_file(const char *path, char text[SHA256_TEXT])
{
    enum status status = STATUS_OK;
    struct sha256 hash = sha256_start();
    unsigned char buffer[1 << 14];
    size_t count;
    FILE *file = fopen(path, "rb");

    if (file == NULL)
        FAIL_OUT(STATUS_IO, "cannot open %.300s: %s", path, strerror(errno));
    while ((count = fread(buffer, 1, sizeof buffer, file)) > 0) sha256_add(&hash, buffer, count);
    if (ferror(file))
        FAIL_OUT(STATUS_IO, "cannot read %.300s: %s", path, strerror(errno));
    sha256_print(&hash, text);

out:
    if (file != NULL)
        fclose(file);
    return status;
}
