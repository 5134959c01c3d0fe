/* Files: opened without being led elsewhere where others may have put them there, and written
 * whole. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Opens a file that the program keeps for itself, such as a lock, and makes it if it is not there.
 * `flags` as for open(). -1 and errno: ELOOP for a symbolic link, EMLINK for a file with a second
 * name (a hard link), ENOTSUP for what is no regular file, since writing would go to somebody
 * else's file. Never waits. */
int own_file_open(int folder, const char *name, int flags);

/* Whether `name` is still this open file. Another process may have removed a lock between our
 * open() and our locking it. */
bool own_file_is_there(int folder, const char *name, int file);

/* Opens a regular file to read whose name came from a result or from a folder, not from the user.
 * -1 and errno: ENOTSUP for a FIFO, a device or a folder. Never waits, as open() does for a FIFO
 * that nobody writes to. */
int regular_file_open(int folder, const char *name);

/* Whether a regular file is there, links followed. Names in folders and results may be of
 * anything. */
bool is_regular_file(const char *path);

/* Whether only this user and root can write to the file or folder, links followed: by its owner and
 * permissions. A group with the owner's number is the owner's alone, as login programs set it up.
 * True if it is not there. */
bool only_we_write(const char *path);

/* Whether, besides that, only they can put another in its place: by the folders above it. */
bool only_we_replace(const char *path);

/* Writes all bytes to a file or a pipe, in as many calls as it takes. False: errno says why. */
bool write_all(int descriptor, const void *bytes, size_t count);
