/* SPDX-License-Identifier: MIT */
/*
 * socket: a local socket in a private table of file descriptors, by system calls.
 *
 * Promises  Allocates nothing, keeps errno, waits only in hew_socket_wait(), raises no SIGPIPE.  A negative result is
 *           -errno.
 * Called    By one thread, which has made its table private.  The program can neither see nor close the table's
 *           descriptors, they take no number that the program uses, and no child inherits them.
 */
#ifndef HEW_OS_SOCKET_H
#define HEW_OS_SOCKET_H

#include "base/compiler.h"

#include <poll.h>

#define HEW_SOCKET_PATH 108 /* bytes, including the NUL at the end */

/* Gives the calling thread an empty descriptor table of its own.  False: before Linux 5.9, or if a system call filter
 * forbids it. */
bool hew_socket_leave_table(void);

/* Sets the thread's name, as ps shows it; 15 bytes at most. */
void hew_socket_name_thread(const char *name);

/* hew_socket_borrow_error() makes the process's standard error available to this thread, if there is one.
 * hew_socket_return_error() closes it again, because hew must not keep open what the program has closed. */
void hew_socket_borrow_error(void);
void hew_socket_return_error(void);

/* Creates a listening socket at `path`, which only this user can open. */
int hew_socket_listen(const char *path);

/* Returns true if a process listens there. */
bool hew_socket_is_alive(const char *path);

/* Accepts the next connection; *user is the user ID of the peer. */
int hew_socket_accept(int listener, unsigned *user);

/* Return the number of bytes moved; 0: the peer has closed; -EAGAIN: nothing possible now. */
long hew_socket_receive(int socket, void *bytes, size_t most);
long hew_socket_send(int socket, const void *bytes, size_t count);

void hew_socket_close(int socket);

/* Returns when an event occurs on a socket, or after `timeout_ms` milliseconds (-1: no timeout). */
void hew_socket_wait(struct pollfd *sockets, unsigned count, int64_t timeout_ms);

/* Creates a descriptor that becomes readable when hew_socket_wake() is called for the thread that created it. */
int hew_socket_alarm(void);
void hew_socket_wake(unsigned thread_number);

#endif
