/* SPDX-License-Identifier: MIT */
/* environment: see environment.h. */
#include "os/environment.h"

#include "base/size_class.h"
#include "os/syscall.h"

#include <elf.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

#define PAIRS_MOST 64 /* of the auxiliary vector; the kernel writes about 25 */

struct pair {
    uintptr_t type, value;
};

/* The address where the kernel has put, in this order, the number of arguments, the arguments, the environment and the
 * auxiliary vector.  glibc's loader keeps it.  In a static program it is only near that place.  musl does not have this
 * name. */
extern HEW_WEAK uintptr_t *__libc_stack_end;

static struct pair pairs_read[PAIRS_MOST];
static const struct pair *_Atomic vector; /* relaxed: a thread that reads NULL searches again, with the same result */

/* Returns true for an auxiliary vector: it ends, and has the entries that every vector has. */
static bool
is_vector(const struct pair *pairs)
{
    bool pages = false, random = false, program = false;
    for (unsigned i = 0; i < PAIRS_MOST && pairs[i].type != AT_NULL; i++) {
        pages = pages || (pairs[i].type == AT_PAGESZ && pairs[i].value >= HEW_PAGE);
        random = random || pairs[i].type == AT_RANDOM;
        program = program || pairs[i].type == AT_PHDR;
    }
    return pages && random && program;
}

/* Returns the address after the next zero word. */
static const uintptr_t *
behind_zero(const uintptr_t *words)
{
    while (*words != 0) {
        words++;
    }
    return words + 1;
}

static const struct pair *
vector_of_stack(void)
{
    const uintptr_t *start = &__libc_stack_end == NULL ? NULL : __libc_stack_end;
    if (start == NULL || start[1 + start[0]] != 0) {
        return NULL;
    }
    const struct pair *pairs = (const struct pair *)behind_zero(start + 2 + start[0]);
    return is_vector(pairs) ? pairs : NULL;
}

static HEW_NOINLINE const struct pair *
vector_of_file(void)
{
    long file = hew_syscall4(SYS_openat, AT_FDCWD, "/proc/self/auxv", O_RDONLY | O_CLOEXEC, 0);
    if (file < 0) {
        return NULL;
    }
    /* The last pair stays zero and terminates the vector. */
    long got = hew_syscall3(SYS_read, file, pairs_read, sizeof pairs_read - sizeof pairs_read[0]);
    hew_syscall1(SYS_close, file);
    return got > 0 && is_vector(pairs_read) ? pairs_read : NULL;
}

static const struct pair *
find_vector(void)
{
    const struct pair *found = atomic_load_explicit(&vector, memory_order_relaxed);
    if (found == NULL) {
        found = vector_of_stack();
        found = found == NULL ? vector_of_file() : found;
        atomic_store_explicit(&vector, found, memory_order_relaxed);
    }
    return found;
}

uintptr_t
hew_environment_auxiliary(uintptr_t type)
{
    const struct pair *pair = find_vector();
    while (pair != NULL && pair->type != AT_NULL && pair->type != type) {
        pair++;
    }
    return pair == NULL || pair->type == AT_NULL ? 0 : pair->value;
}

/* Uses the criterion of secure_getenv(). */
bool
hew_environment_is_secure(void)
{
    if (find_vector() != NULL) {
        return hew_environment_auxiliary(AT_SECURE) != 0;
    }
    return hew_syscall1(SYS_getuid, 0) != hew_syscall1(SYS_geteuid, 0) ||
           hew_syscall1(SYS_getgid, 0) != hew_syscall1(SYS_getegid, 0);
}

/* Returns the text after "NAME="; NULL: it is another variable. */
static const char *
value_of(const char *entry, const char *name)
{
    while (*name != '\0' && *name == *entry) {
        name++;
        entry++;
    }
    return *name == '\0' && *entry == '=' ? entry + 1 : NULL;
}

const char *
hew_environment_get(const char *name)
{
    const char *value = NULL;
    for (char **entry = environ; value == NULL && entry != NULL && *entry != NULL; entry++) {
        value = value_of(*entry, name);
    }
    return value == NULL || hew_environment_is_secure() ? NULL : value;
}
