/* SPDX-License-Identifier: MIT */
/*
 * socket: a local socket, and the private table of descriptors in which it lies, by system calls.
 *
 * Promises  allocates nothing, keeps errno, never waits but in hew_socket_wait(), raises no SIGPIPE.  A result below 0 is
 *           -errno.
 * Called    by one thread, which has made its table private: the program can neither see nor close what is in it, no number
 *           that the program uses is taken, and no child inherits anything.
 */
#ifndef HEW_OS_SOCKET_H
#define HEW_OS_SOCKET_H

#include "base/compiler.h"

#include <poll.h>

#define HEW_SOCKET_PATH 108 /* bytes, the NUL at the end included */

/* From now on the calling thread has a table of descriptors of its own, which is empty.  False before Linux 5.9, or where a
 * filter of system calls forbids it. */
bool hew_socket_leave_table(void);

/* What ps and others call the calling thread, 15 bytes at most. */
void hew_socket_name_thread(const char *name);

/* The process's standard error becomes ours, where it has one; and no longer: what a program has closed, we must not keep
 * open. */
void hew_socket_borrow_error(void);
void hew_socket_return_error(void);

/* A socket at `path`, which only our own user can open. */
int hew_socket_listen(const char *path);

/* Whether somebody listens there. */
bool hew_socket_is_alive(const char *path);

/* The next one who has come; *user is who made him. */
int hew_socket_accept(int listener, unsigned *user);

/* Bytes that were moved; 0: the other end has gone; -EAGAIN: none for now. */
long hew_socket_receive(int socket, void *bytes, size_t most);
long hew_socket_send(int socket, const void *bytes, size_t count);

void hew_socket_close(int socket);

/* Returns when something has happened to one of them, or after so many milliseconds (-1: never). */
void hew_socket_wait(struct pollfd *sockets, unsigned count, int64_t timeout_ms);

/* A descriptor that can be read when hew_socket_wake() is called for the thread that made it. */
int hew_socket_alarm(void);
void hew_socket_wake(unsigned thread_number);

#endif
