/* SPDX-License-Identifier: MIT */
/*
 * faults: a system that refuses the memory calls that a test names.
 *
 *     faults_refuse("mmap", 2, 1);      lets two mmap pass, refuses one, lets the rest pass
 *     faults_refuse(NULL, 0, FAULTS_ALL);   refuses whatever is asked
 *     faults_end();
 *
 * Owns      hew_os_faults between faults_refuse() or faults_count() and faults_end().
 * Promises  counts are atomic; the script itself is set by one thread while no other asks the system.
 */
#ifndef HEW_TESTS_FAKES_FAULTS_H
#define HEW_TESTS_FAKES_FAULTS_H

#include "os/memory.h"

#include <stdatomic.h>
#include <string.h>

#define FAULTS_ALL 1000000

static const char *faults_call; /* NULL: every call */
static atomic_int faults_pass, faults_left;
static atomic_int faults_asked, faults_refused;

static inline bool
faults_hook(const char *call)
{
    if (faults_call != NULL && strcmp(call, faults_call) != 0) {
        return false;
    }
    atomic_fetch_add(&faults_asked, 1);
    if (atomic_fetch_sub(&faults_pass, 1) > 0 || atomic_fetch_sub(&faults_left, 1) <= 0) {
        return false;
    }
    atomic_fetch_add(&faults_refused, 1);
    return true;
}

/* Of the calls named `call`, lets `pass` through, then refuses `refuse`. */
static inline void
faults_refuse(const char *call, int pass, int refuse)
{
    faults_call = call;
    atomic_store(&faults_pass, pass);
    atomic_store(&faults_left, refuse);
    atomic_store(&faults_asked, 0);
    atomic_store(&faults_refused, 0);
    hew_os_faults.refuse = faults_hook;
}

/* Only counts in faults_asked. */
static inline void
faults_count(const char *call)
{
    faults_refuse(call, 0, 0);
}

static inline void
faults_end(void)
{
    hew_os_faults.refuse = NULL;
}

#endif
