/* SPDX-License-Identifier: MIT */
/* operations: calls on objects; see operations.h. */
#include "operations.h"

#include "kernel.h"
#include "machine.h"
#include "objects.h"
#include "pools.h"
#include "run.h"
#include "settings.h"
#include "tested.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#define BYTES_MOST ((size_t)48 << 20) /* that the program holds */
#define ERRNO_BEFORE 4711

struct saying {
    const char *format;
    va_list values;
};

static void
say_on_host(void *context)
{
    struct saying *saying = context;
    printf("  thread %ld op %u.%-5u ", (long)(machine_self - machine_threads), machine_self->at_thread,
           machine_self->at_operation);
    vprintf(saying->format, saying->values);
    puts("");
}

void
operations_say(const char *format, ...)
{
    if (run_plan->say) {
        struct saying saying = {.format = format};
        va_start(saying.values, format);
        machine_on_host(say_on_host, &saying);
        va_end(saying.values);
    }
}

static size_t
draw_size(void)
{
    static const size_t fixed[] = {1,     8,     16,    48,    64,    100,     512,          4096,
                                   14336, 14337, 16384, 20000, 65536, 1 << 20, (1 << 20) + 1};
    unsigned kind = program_habits.size_kind;
    kind = kind == 0 || machine_below(20) == 0 ? 1 + (unsigned)machine_below(5) : kind;
    switch (kind) {
    case 1:
        return machine_below(130);
    case 2:
        return machine_below(machine_below(4) == 0 ? 14500 : 1500);
    case 3:
        return machine_below(65536);
    case 4:
        return 14000 + machine_below(machine_below(12) == 0 ? (3 << 20) : (200 << 10));
    default:
        return fixed[machine_below(sizeof fixed / sizeof fixed[0])];
    }
}

/* A request has failed: it may, if the system has refused something since it began. */
static void
note_failure(const char *call, size_t size, uint64_t refused_before)
{
    operations_say("%s(%zu) -> NULL", call, size);
    if (kernel_refused_memory == refused_before) {
        machine_finding("null: %s(%zu) has no memory, though the system has refused nothing", call, size);
    }
}

static void
check_errno(const char *call, int wanted)
{
    if (machine_self->error_number != wanted) {
        machine_finding("errno: %d after %s, not %d", machine_self->error_number, call, wanted);
    }
}

struct request {
    const char *call;
    size_t size, alignment;
    bool zero;
    int flags;
};

static void *
ask(const struct request *request, unsigned kind)
{
    void *object = NULL;
    switch (kind) {
    case 0:
        return tested_calloc(1, request->size);
    case 1:
        return tested_posix_memalign(&object, request->alignment, request->size) == 0 ? object : NULL;
    case 2:
        return tested_aligned_alloc(request->alignment, request->size);
    case 3:
        return tested_mallocx(request->size, request->flags);
    default:
        return tested_malloc(request->size);
    }
}

static void
make(struct object *object)
{
    static const char *const calls[] = {"calloc", "posix_memalign", "aligned_alloc", "mallocx", "malloc"};
    unsigned kind = (unsigned)machine_below(12);
    kind = kind > 4 ? 4 : kind;
    struct request request = {calls[kind], draw_size(), 8, kind == 0, 0};
    int arena = -1, cache = -1;
    if (kind == 1 || kind == 2) {
        request.alignment = (size_t)8 << machine_below(machine_below(8) == 0 ? 18 : 10);
    } else if (kind == 3) {
        unsigned lg = (unsigned)machine_below(machine_below(8) == 0 ? 20 : 8);
        request.zero = machine_below(3) == 0;
        arena = machine_below(2) == 0 ? controls_borrow_arena() : -1;
        cache = arena < 0 && machine_below(2) == 0 ? controls_borrow_cache() : -1;
        request.alignment = lg < 3 ? 8 : (size_t)1 << lg;
        request.flags = (int)lg | (request.zero ? TESTED_ZERO : 0) |
                        (arena >= 0 ? TESTED_ARENA(arena) | TESTED_NO_CACHE : 0) |
                        (cache >= 0                           ? TESTED_CACHE(cache)
                         : arena < 0 && machine_below(2) == 0 ? TESTED_NO_CACHE
                                                              : 0);
    }
    uint64_t refused = kernel_refused_memory;
    machine_self->error_number = ERRNO_BEFORE;
    void *address = ask(&request, kind);
    if (address == NULL) {
        note_failure(request.call, request.size, refused);
    } else {
        operations_say("%s(%zu) at %zu flags %#x -> %p", request.call, request.size, request.alignment,
                       (unsigned)request.flags, address);
        check_errno(request.call, ERRNO_BEFORE);
        objects_born(object, address, request.size, request.size < 8 && kind == 4 ? 1 : request.alignment,
                     request.zero);
        object->arena = (uint32_t)(arena + 1);
    }
    controls_return_arena((uint32_t)(arena + 1));
    controls_return_cache(cache);
}

static void
end(struct object *object)
{
    unsigned kind = (unsigned)machine_below(8);
    int cache = object->arena == 0 && kind == 1 ? controls_borrow_cache() : -1;
    void *address = object->address;
    size_t size = object->size;
    objects_check(object);
    objects_leave(object);
    object->address = NULL;
    machine_self->error_number = ERRNO_BEFORE;
    operations_say("free of the %zu bytes at %p, kind %u", size, address, kind);
    if (object->arena != 0 || kind == 0) {
        tested_dallocx(address, TESTED_NO_CACHE);
    } else if (cache >= 0) {
        tested_dallocx(address, TESTED_CACHE(cache));
    } else if (kind == 2) {
        tested_realloc(address, 0); /* zero_realloc:free */
    } else {
        tested_free(address);
    }
    check_errno("free", ERRNO_BEFORE);
    controls_return_cache(cache);
}

static size_t
new_size(const struct object *object)
{
    switch (machine_below(4)) {
    case 0:
        return 1 + draw_size();
    case 1:
        return object->size + 1 + machine_below(object->size / 2 + 100);
    case 2:
        return 1 + machine_below(object->usable + 1); /* with hardening:full, malloc(0) has none */
    default:
        return object->usable + 1 + machine_below(8192);
    }
}

static void
resize(struct object *object)
{
    size_t size = new_size(object);
    bool with_flags = object->arena != 0 || machine_below(4) == 0, zero = with_flags && machine_below(2) == 0;
    int flags = (zero ? TESTED_ZERO : 0) | (object->arena != 0 ? TESTED_ARENA(object->arena - 1) | TESTED_NO_CACHE : 0);
    size_t kept = size < object->size ? size : object->size;
    uint64_t refused = kernel_refused_memory;
    objects_check(object);
    void *before = object->address;
    objects_leave(object);
    void *address = with_flags ? tested_rallocx(before, size, flags) : tested_realloc(before, size);
    if (address == NULL) {
        note_failure("realloc", size, refused);
        objects_return(object);
        return;
    }
    operations_say("realloc of the %zu bytes at %p to %zu -> %p", object->size, before, size, address);
    objects_resized(object, address, size, kept, zero);
}

static void
make_pooled(struct object *object)
{
    size_t size = 1 + machine_below(machine_below(8) == 0 ? 20000 : 600);
    bool zero = machine_below(3) == 0;
    object->pooled = true;
    object->arena = 0;
    void *address = pools_take(size, zero);
    operations_say("pool %s(%zu) -> %p", zero ? "calloc" : "malloc", size, address);
    if (address != NULL) {
        objects_born(object, address, size, 8, zero);
    }
}

static void
end_pooled(struct object *object)
{
    void *address = object->address;
    operations_say("free of the pool's %zu bytes at %p", object->size, address);
    objects_check(object);
    objects_leave(object);
    object->address = NULL;
    pools_give(address);
}

/* In place only. */
static void
stretch(struct object *object)
{
    size_t size = new_size(object), extra = machine_below(2) * machine_below(100000);
    objects_check(object);
    objects_leave(object);
    size_t before = object->usable, usable = tested_xallocx(object->address, size, extra, 0);
    operations_say("xallocx of the %zu bytes at %p to %zu and %zu -> %zu", object->size, (void *)object->address, size,
                   extra, usable);
    if (usable != tested_malloc_usable_size(object->address)) {
        machine_finding("usable: xallocx says %zu, malloc_usable_size %zu", usable,
                        tested_malloc_usable_size(object->address));
    }
    if (usable < size && usable != before) {
        machine_finding("usable: xallocx to %zu has failed and left %zu of %zu", size, usable, before);
    }
    size_t kept = usable < object->size ? usable : object->size;
    objects_resized(object, object->address, usable < size ? kept : size, kept < size ? kept : size, false);
}

void
operations_on_object(unsigned thread)
{
    unsigned own = program_habits.slots / program_habits.threads, from = own * thread;
    bool remote = machine_below(256) < program_habits.remote;
    struct object *object = &objects[remote ? machine_below(own * program_habits.threads) : from + machine_below(own)];
    bool makes = !(program_habits.free_only && thread == program_habits.threads - 1);
    if (object->busy || (object->address == NULL && (!makes || objects_bytes > BYTES_MOST)) ||
        (object->address != NULL && !controls_borrow_arena_of(object->arena))) {
        return;
    }
    uint32_t arena = object->address == NULL ? 0 : object->arena;
    if (object->owner != NULL && object->owner != machine_self) {
        machine_drain(object->owner);
    }
    object->owner = machine_self;
    object->busy = true;
    if (object->address == NULL && pools_there() && machine_below(2) == 0) {
        make_pooled(object);
    } else if (object->address == NULL) {
        object->pooled = false;
        make(object);
    } else if (object->pooled) {
        end_pooled(object);
    } else if (machine_below(256) < program_habits.keeps && objects_bytes < BYTES_MOST) {
        unsigned kind = (unsigned)machine_below(4);
        if (kind == 0) {
            stretch(object);
        } else if (makes && kind < 3) {
            resize(object);
        } else {
            objects_check(object);
        }
    } else {
        end(object);
    }
    object->busy = false;
    controls_return_arena(arena);
}

void
operations_free_all(void)
{
    for (unsigned i = 0; i < OBJECTS_MOST; i++) {
        if (objects[i].address != NULL) {
            (objects[i].pooled ? end_pooled : end)(&objects[i]);
        }
    }
}
