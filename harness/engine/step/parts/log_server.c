/* A service that keeps lines and answers, as a tracker in the network does. Both ends are in this
 * process: a socket that connects to itself over the loopback, and a thread that reads, writes to
 * the file, waits and answers. No port stays open once they are connected. */
#include "harness/engine/step/parts/line_log.h"

#include "harness/base/rows.h"
#include "harness/base/system/files.h"
#include "harness/base/system/thread.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* So that a thread that hangs ends the log with a sentence and not the training. */
enum { ANSWER_TIMEOUT_S = 10 };

struct log_server {
    int client, served; /* the two ends of the connection; -1: none */
    int file;
    bool has_thread;
    pthread_t thread;
};

/* --- The service --- */

/* Reads a message, which an empty line ends. The bytes of its lines; 0: the client has left. */
static size_t read_message(int served, char message[LOG_MESSAGE_BYTES + 1])
{
    size_t bytes = 0;

    while (bytes < 2 || memcmp(message + bytes - 2, "\n\n", 2) != 0) {
        ssize_t got = recv(served, message + bytes, LOG_MESSAGE_BYTES + 1 - bytes, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return 0;
        bytes += (size_t)got;
    }
    return bytes - 1;
}

/* One message after the other, each answered with 0 or an errno, until the client leaves. */
static void *serve(void *argument)
{
    struct log_server *server = argument;
    char message[LOG_MESSAGE_BYTES + 1];
    size_t bytes;

    while ((bytes = read_message(server->served, message)) > 0) {
        int32_t error = write_all(server->file, message, bytes) ? 0 : errno;
        struct timespec left = { .tv_nsec = LOG_SERVER_ANSWERS_AFTER_US * 1000L };
        while (nanosleep(&left, &left) != 0 && errno == EINTR) continue;
        if (send(server->served, &error, sizeof error, MSG_NOSIGNAL) != sizeof error)
            break;
    }
    shutdown(server->served, SHUT_RDWR); /* so that nobody waits for an answer */
    return NULL;
}

/* --- Connecting --- */

/* TCP_NODELAY: a message is sent when it is complete, without waiting for the acknowledgement of
 * the one before. */
static bool set_limits(int socket)
{
    struct timeval timeout = { .tv_sec = ANSWER_TIMEOUT_S };
    int at_once = 1;

    return setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout) == 0 &&
           setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout) == 0 &&
           setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once) == 0;
}

/* Whether the accepted connection is the client's, and not that of another program that tries
 * ports. */
static bool is_of_client(int client, const struct sockaddr_in *peer)
{
    struct sockaddr_in own;
    socklen_t size = sizeof own;

    return getsockname(client, (struct sockaddr *)&own, &size) == 0 &&
           own.sin_port == peer->sin_port && own.sin_addr.s_addr == peer->sin_addr.s_addr;
}

/* The kernel completes a connection before it is accepted, so no second thread is needed. */
static bool connect_ends(struct log_server *server, int listener)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof address;

    if (!set_limits(listener) || !set_limits(server->client) ||
        bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 8) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &size) != 0 ||
        connect(server->client, (struct sockaddr *)&address, size) != 0)
        return false;
    for (;;) {
        struct sockaddr_in peer;
        socklen_t peer_size = sizeof peer;
        int accepted = accept4(listener, (struct sockaddr *)&peer, &peer_size, SOCK_CLOEXEC);

        if (accepted < 0)
            return false;
        if (is_of_client(server->client, &peer)) {
            int at_once = 1;
            server->served = accepted;
            return setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once) == 0;
        }
        close(accepted);
    }
}

enum status log_server_open(struct log_server **opened, int file)
{
    enum status status = STATUS_OK;
    struct log_server *server = NULL;
    int listener = -1, error;

    *opened = NULL;
    TRY_OUT(rows_make(&server, 1));
    *server = (struct log_server){ .client = -1, .served = -1, .file = file };
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    server->client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || server->client < 0 || !connect_ends(server, listener))
        FAIL_OUT(STATUS_UNSUPPORTED,
                 "no service for the log can be reached on the loopback (127.0.0.1): %s; set "
                 "log=synced, log=queued or log=none",
                 strerror(errno));
    error = thread_start(&server->thread, "log service", serve, server);
    if (error != 0)
        FAIL_OUT(STATUS_REFUSED,
                 "the thread that serves the log cannot be started: %s; set log=synced or log=none",
                 strerror(error));
    server->has_thread = true;
    *opened = server;
    server = NULL;

out:
    if (listener >= 0)
        close(listener);
    log_server_close(server);
    return status;
}

void log_server_close(struct log_server *server)
{
    if (server == NULL)
        return;
    /* The thread then reads an end and leaves. */
    if (server->client >= 0)
        shutdown(server->client, SHUT_RDWR);
    if (server->has_thread)
        pthread_join(server->thread, NULL);
    if (server->client >= 0)
        close(server->client);
    if (server->served >= 0)
        close(server->served);
    free(server);
}

/* --- The client --- */

int log_server_send(struct log_server *server, const char *lines, size_t bytes)
{
    char message[LOG_MESSAGE_BYTES];
    int32_t answer;
    ssize_t got;

    if (bytes == 0 || bytes + 1 > sizeof message)
        return EMSGSIZE;
    memcpy(message, lines, bytes);
    message[bytes] = '\n';
    for (size_t at = 0; at <= bytes; at += got > 0 ? (size_t)got : 0) {
        got = send(server->client, message + at, bytes + 1 - at, MSG_NOSIGNAL);
        if (got < 0 && errno != EINTR)
            return errno;
    }
    do {
        got = recv(server->client, &answer, sizeof answer, MSG_WAITALL);
    } while (got < 0 && errno == EINTR);

    return got == (ssize_t)sizeof answer ? answer : got < 0 ? errno : ECONNRESET;
}
