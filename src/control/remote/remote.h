/* SPDX-License-Identifier: MIT */
/*
 * remote: the thread that answers on the control socket (option `control`; docs/control.md).
 *
 * Owns      one thread, started by the first slow path of malloc after boot or fork.  The thread has its own descriptor
 *           table and a fixed number of client slots.
 * Promises  without the setting nothing here runs except one check at boot.  A client that is slow or silent loses its
 *           slot; no other client waits for it.
 * Not here  the meaning of a request: request.c.  The socket's path: place.c.
 */
#ifndef HEW_CONTROL_REMOTE_REMOTE_H
#define HEW_CONTROL_REMOTE_REMOTE_H

#include "base/compiler.h"

/* Called at boot if the setting is present. */
void hew_remote_boot(void);

/* Whether the thread must be started, and the start.  Call them where a thread can start (see purger.h); they keep
 * errno. */
bool hew_remote_is_due(void);
void hew_remote_start(void);

/* The last of the program's threads is ending.  Returns when the serving thread has ended. */
void hew_remote_end(void);

/* In a fork's child: the child needs its own thread and its own socket. */
void hew_remote_after_fork(void);

#endif
