/* SPDX-License-Identifier: MIT */
/*
 * objects: the model: what the program holds, and what must therefore be true.
 *
 * Owns      the table of objects, with what was written into each; a bit for each 8 bytes of the simulated address space,
 *           set where an object lies.
 * Promises  a finding for: an object that overlaps another, is not aligned, is too small, has changed by itself, or does
 *           not read as zeros where it should.
 */
#ifndef HEW_SIMULATE_OBJECTS_H
#define HEW_SIMULATE_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OBJECTS_MOST 4096

struct object {
    unsigned char *address; /* NULL: none */
    size_t size;            /* as asked for */
    size_t usable;
    uint64_t pattern;
    uint32_t arena;               /* number + 1 of the arena that the program made; 0: any */
    bool pooled;                  /* of the pool set */
    bool busy;                    /* a thread is at it */
    struct machine_thread *owner; /* who was at it last: his stores are seen by whom he hands it to */
};

extern struct object objects[OBJECTS_MOST];
extern size_t objects_bytes; /* usable, of all that is malloc's */
extern uint64_t objects_checks;
extern bool
    objects_thorough; /* a word in each page of a large object is written and looked at, not only three of all */

void objects_boot(void);

/* The library has given `address` for this request. */
/* object->pooled says whose it is. */
void objects_born(struct object *object, void *address, size_t size, size_t alignment, bool zero);

/* The object has changed its size, and perhaps its place: the first `kept` bytes must be as they were. */
void objects_resized(struct object *object, void *address, size_t size, size_t kept, bool zero);

/* The object is about to be freed, or to be resized: no thread may find it in the table. */
void objects_leave(struct object *object);
void objects_return(struct object *object); /* it was not resized after all */

/* What was written is still there. */
void objects_check(const struct object *object);
void objects_check_all(void);

#endif
