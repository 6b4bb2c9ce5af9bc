/* SPDX-License-Identifier: MIT */
/*
 * remote: the thread that answers on the control socket (option `control`; docs/control.md).
 *
 * Owns      one thread, started by the first slow path of malloc after boot or fork; its descriptors lie in a table of its
 *           own, its clients in slots of a fixed number.
 * Promises  without the setting nothing here runs but one look at it, at boot.  A client who is slow or silent loses his
 *           place, and nobody waits for him.
 * Not here  what a request means: request.c.  Where the socket is: place.c.
 */
#ifndef HEW_CONTROL_REMOTE_REMOTE_H
#define HEW_CONTROL_REMOTE_REMOTE_H

#include "base/compiler.h"

/* At boot, when there is such a setting. */
void hew_remote_boot(void);

/* Whether the thread is to be started; and starts it.  From where a thread can be started (see purger.h); keeps errno. */
bool hew_remote_is_due(void);
void hew_remote_start(void);

/* The last of the program's threads is ending.  Returns when ours is gone. */
void hew_remote_end(void);

/* In a fork's child: a thread of its own is due, with a socket of its own. */
void hew_remote_after_fork(void);

#endif
