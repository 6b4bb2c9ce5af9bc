/* SPDX-License-Identifier: MIT */
/*
 * place: the path of the control socket.
 *
 * Promises  a directory for `auto` belongs to this user alone (mode 0700, not a link).  An existing file is replaced
 *           only if it is this user's socket and no process serves it.  Only the socket created here is removed.
 * Called    hew_place_boot() at boot, by one thread; the rest by the serving thread, except hew_place_leave(), at exit.
 */
#ifndef HEW_CONTROL_REMOTE_PLACE_H
#define HEW_CONTROL_REMOTE_PLACE_H

#include "base/compiler.h"

/* Saves the environment's values while they can be read. */
void hew_place_boot(void);

/* The listening socket; below 0: none, and the error has been reported. */
int hew_place_take(void);

/* Removes the socket's file if this process created it. */
void hew_place_leave(void);

/* Expands the setting's value to a path of at most HEW_SOCKET_PATH bytes; "" when the value names none.  False when it
 * is too long. */
bool hew_place_expand(const char *setting, uint64_t process, char *path);

#endif
