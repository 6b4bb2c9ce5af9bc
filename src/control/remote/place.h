/* SPDX-License-Identifier: MIT */
/*
 * place: where the control socket is.
 *
 * Promises  a directory that we use for `auto` is ours alone (mode 0700, not a link); what is at the place is replaced only
 *           when it is a socket of our user's that nobody serves; what is taken away is the socket that was made here.
 * Called    hew_place_boot() at boot, by one thread; the rest by the thread that serves, but for hew_place_leave(), at exit.
 */
#ifndef HEW_CONTROL_REMOTE_PLACE_H
#define HEW_CONTROL_REMOTE_PLACE_H

#include "base/compiler.h"

/* Remembers what the environment says, while it can be read. */
void hew_place_boot(void);

/* The listening socket; below 0: there is none, and whoever should know has been told. */
int hew_place_take(void);

/* The file goes away, if it is this process's. */
void hew_place_leave(void);

/* Makes a path from the setting's value; "" when it is none.  At most HEW_SOCKET_PATH bytes; false when it is too long. */
bool hew_place_expand(const char *setting, uint64_t process, char *path);

#endif
