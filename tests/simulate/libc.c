/* SPDX-License-Identifier: MIT */
/*
 * libc: what the library asks of libc that has to do with threads, time, the process and its environment, simulated.
 *
 * A call that the library begins to make, and that is neither here nor in libc_kept.txt, does not link: the linker names it.
 */
#include "kernel.h"
#include "machine.h"
#include "process.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define DECLARED(result, name, parameters)                                                                             \
    result simulated_##name parameters;                                                                                \
    result simulated_##name parameters

char simulated___libc_single_threaded;
struct process_handlers process_handlers;
static void (*destructors[MACHINE_KEYS])(void *value);
static unsigned keys_made;
static int host_error_number;
static char random_bytes[16];

/* No arguments, no environment, and the vector that the kernel gives. */
static uintptr_t stack_end[] = {
    0,         0,                                            /* arguments */
    0,                                                       /* environment */
    AT_PHDR,   0x400040, AT_RANDOM, (uintptr_t)random_bytes, /* vector */
    AT_PAGESZ, 4096,     AT_NULL,   0,
};
#define PAGE_AT 8 /* the number behind AT_PAGESZ */
char **simulated_environ;
uintptr_t *simulated___libc_stack_end = stack_end;
char *simulated___curbrk;

void
process_set_page(size_t bytes)
{
    stack_end[PAGE_AT] = bytes;
}

DECLARED(int *, __errno_location, (void))
{
    return machine_self == NULL ? &host_error_number : &machine_self->error_number;
}

DECLARED(void, exit, (int status))
{
    machine_finding("the library has ended the process (exit)");
}

DECLARED(int, atexit, (void (*act)(void)))
{
    return 0;
}

DECLARED(int, fprintf, (FILE * file, const char *format, ...))
{
    return 0;
}

DECLARED(int, dl_iterate_phdr, (int (*look)(struct dl_phdr_info *info, size_t size, void *context), void *context))
{
    return dl_iterate_phdr(look, context);
}

DECLARED(int, __register_atfork, (void (*before)(void), void (*parent)(void), void (*child)(void), void *library))
{
    process_handlers = (struct process_handlers){before, parent, child};
    return 0;
}

DECLARED(int, pthread_atfork, (void (*before)(void), void (*parent)(void), void (*child)(void)))
{
    process_handlers = (struct process_handlers){before, parent, child};
    return 0;
}

/* What the library sets is the action; no signal comes. */
DECLARED(int, sigaction, (int number, const struct sigaction *action, struct sigaction *before))
{
    static struct sigaction now;
    if (before != NULL) {
        *before = now;
    }
    if (action != NULL) {
        now = *action;
    }
    return 0;
}

DECLARED(int, pthread_key_create, (pthread_key_t * key, void (*destructor)(void *value)))
{
    if (keys_made == MACHINE_KEYS) {
        return EAGAIN;
    }
    destructors[keys_made] = destructor;
    *key = keys_made++;
    return 0;
}

DECLARED(int, pthread_setspecific, (pthread_key_t key, const void *value))
{
    machine_self->keys[key] = (void *)(uintptr_t)value;
    return 0;
}

void threads_end(struct machine_thread *thread, unsigned rounds);

void
threads_end(struct machine_thread *thread, unsigned rounds)
{
    for (bool again = true; again && rounds > 0; rounds--) {
        again = false;
        for (unsigned key = 0; key < keys_made; key++) {
            void *value = thread->keys[key];
            thread->keys[key] = NULL;
            if (value != NULL && destructors[key] != NULL) {
                destructors[key](value);
                again = true;
            }
        }
    }
}

DECLARED(int, pthread_create,
         (pthread_t * thread, const pthread_attr_t *attributes, void *(*work)(void *), void *argument))
{
    if (kernel_refuses(KERNEL_THREAD)) {
        return EAGAIN;
    }
    struct machine_thread *made = machine_birth(work, argument);
    *thread = (pthread_t)made;
    simulated___libc_single_threaded = 0;
    return made == NULL ? EAGAIN : 0;
}

DECLARED(int, pthread_join, (pthread_t thread, void **result))
{
    machine_join((struct machine_thread *)thread);
    return 0;
}

DECLARED(int, pthread_attr_init, (pthread_attr_t * attributes))
{
    return 0;
}

DECLARED(int, pthread_attr_destroy, (pthread_attr_t * attributes))
{
    return 0;
}

DECLARED(int, pthread_attr_setstacksize, (pthread_attr_t * attributes, size_t size))
{
    return 0;
}
