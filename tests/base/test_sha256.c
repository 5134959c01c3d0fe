/* SHA-256 against the known answers of NIST, and in pieces of any length. */
#include "harness/base/sha256.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* FIPS 180-2, appendix B, and the empty message of NIST's test vectors (SHA256ShortMsg.rsp). */
static const struct {
    const char *text, *digest;
} answers[] = {
    { "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
    { "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
    { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
};

static void known_answers(void **state)
{
    char text[SHA256_TEXT];
    (void)state;

    for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
        struct sha256 hash = sha256_start();
        sha256_add(&hash, answers[i].text, strlen(answers[i].text));
        sha256_print(&hash, text);
        assert_string_equal(text, answers[i].digest);
    }
}

static void a_million_letters(void **state)
{
    struct sha256 hash = sha256_start();
    char text[SHA256_TEXT], letters[1000];
    (void)state;

    memset(letters, 'a', sizeof letters);
    for (int i = 0; i < 1000; i++) sha256_add(&hash, letters, sizeof letters);
    sha256_print(&hash, text);
    assert_string_equal(text, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* Every length around the borders of a block, in pieces of every size. */
static void pieces_make_the_same_as_the_whole(void **state)
{
    unsigned char bytes[200];
    char whole[SHA256_TEXT], pieces[SHA256_TEXT];
    (void)state;

    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)(i * 7);
    for (size_t length = 0; length <= sizeof bytes; length++)
        for (size_t piece = 1; piece <= 65; piece += 4) {
            struct sha256 one = sha256_start(), several = sha256_start();
            sha256_add(&one, bytes, length);
            for (size_t at = 0; at < length; at += piece)
                sha256_add(&several, bytes + at, length - at < piece ? length - at : piece);
            sha256_print(&one, whole);
            sha256_print(&several, pieces);
            assert_string_equal(whole, pieces);
        }
}

static void a_file_has_the_digest_of_its_bytes(void **state)
{
    char path[] = "/tmp/test_sha256_XXXXXX", text[SHA256_TEXT];
    int descriptor = mkstemp(path);
    (void)state;

    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, "abc", 3), 3);
    close(descriptor);
    assert_int_equal(sha256_file(path, text), STATUS_OK);
    assert_string_equal(text, answers[1].digest);
    unlink(path);
    assert_int_equal(sha256_file(path, text), STATUS_IO);
    assert_non_null(strstr(status_last()->text, path));
    assert_int_equal(sha256_file("/", text), STATUS_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_answers),
        cmocka_unit_test(a_million_letters),
        cmocka_unit_test(pieces_make_the_same_as_the_whole),
        cmocka_unit_test(a_file_has_the_digest_of_its_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
