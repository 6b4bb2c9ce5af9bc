/* SPDX-License-Identifier: MIT */
#include "scenario.h"

#include "fakes/branches.h"
#include "os/memory.h"
#include "slab/arena.h"
#include "stuck.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define OBJECTS 400
#define MIB ((size_t)1 << 20)

/* Which calls are refused: the `first`-th, and after it all (every = 1), every third (3) ... or none more (0). */
static unsigned first, every;
static unsigned calls, refusals;

static const struct oom_variant *variant;
static bool right = true;

static struct object {
    unsigned char *address;
    size_t size;
} objects[OBJECTS];

/* The scenario's threads run one at a time, so plain counters count. */
static bool
refuse(const char *call)
{
    unsigned now = ++calls;
    bool refused = now == first || (now > first && first != 0 && every != 0 && (now - first) % every == 0);
    refusals += refused;
    return refused;
}

/* To stdout, without malloc: the process that starts the others must not begin to use what they test. */
__attribute__((format(printf, 1, 2))) static void
say(const char *format, ...)
{
    char line[512];
    va_list values;
    va_start(values, format);
    int length = vsnprintf(line, sizeof line, format, values);
    va_end(values);
    if (write(STDOUT_FILENO, line, (size_t)length) != length) {
        _exit(1);
    }
}

void
oom_wrong(const char *what)
{
    if (right) {
        say("  call %u: not true: %s\n", calls, what);
    }
    right = false;
}

static unsigned char
byte_of(size_t object, size_t place)
{
    return (unsigned char)(object * 13 + place / 64 + place);
}

/* All of a small object, the ends of each page of a larger one. */
static size_t
next_place(size_t place, size_t size)
{
    return size <= 2048 ? place + 1 : place % 4096 == 0 ? place + 4095 : place + 1;
}

static void
write_object(size_t number)
{
    struct object *object = &objects[number];
    for (size_t place = 0; place < object->size; place = next_place(place, object->size)) {
        object->address[place] = byte_of(number, place);
    }
}

static bool
holds(size_t number, size_t size)
{
    const struct object *object = &objects[number];
    for (size_t place = 0; place < size; place = next_place(place, object->size)) {
        if (object->address[place] != byte_of(number, place)) {
            return false;
        }
    }
    return true;
}

static void
keep(size_t number, void *address, size_t size)
{
    objects[number] = (struct object){address, address == NULL ? 0 : size};
    write_object(number);
}

static void
drop(size_t number)
{
    if (objects[number].address != NULL && !holds(number, objects[number].size)) {
        oom_wrong("an object holds what was written until it is freed");
    }
    variant->free(objects[number].address);
    objects[number] = (struct object){NULL, 0};
}

static void
resize(size_t number, size_t size)
{
    struct object *object = &objects[number];
    if (object->address == NULL) {
        return;
    }
    size_t kept = size < object->size ? size : object->size;
    unsigned char *resized = variant->realloc(object->address, size);
    if (resized != NULL) {
        object->address = resized;
    }
    if (!holds(number, resized == NULL ? object->size : kept)) {
        oom_wrong("realloc keeps the contents, whether it had memory or not");
    }
    if (resized != NULL) {
        object->size = size;
        write_object(number);
    }
}

static void
take_small(size_t from, size_t to)
{
    for (size_t number = from; number < to; number++) {
        size_t size = number * number * 37 % 14337;
        keep(number, variant->malloc(size), size);
    }
}

static void
take_zeroed(size_t from, size_t to)
{
    for (size_t number = from; number < to; number++) {
        size_t size = (number - from + 1) * (number - from + 1) * 3000;
        unsigned char *object = variant->calloc(3, size / 3);
        for (size_t place = 0; object != NULL && place < size / 3 * 3; place++) {
            if (object[place] != 0) {
                oom_wrong("calloc gives zeros");
                break;
            }
        }
        keep(number, object, size / 3 * 3);
    }
}

static void
take_large(size_t from, size_t to)
{
    for (size_t number = from; number < to; number++) {
        size_t size = 15000 + (number - from) * (number - from) * 4000;
        keep(number, variant->malloc(size), size);
    }
}

static void
take_aligned(size_t from, size_t to)
{
    for (size_t number = from; number < to; number++) {
        size_t alignment = (size_t)16 << (number - from) % 18, size = 100 + (number - from) * 1777;
        unsigned char *object = variant->aligned(alignment, size);
        if (((uintptr_t)object & (alignment - 1)) != 0) {
            oom_wrong("an object is aligned");
        }
        keep(number, object, size);
    }
}

static void *
in_a_thread(void *from)
{
    size_t own = (size_t)(uintptr_t)from;
    take_small(own, own + 40);
    take_large(own + 40, own + 45);
    for (size_t number = 0; number < 100; number += 3) { /* what the first thread has made */
        drop(number);
    }
    for (size_t number = own; number < own + 30; number++) {
        drop(number);
    }
    variant->end_thread();
    return NULL;
}

/* Where there is no memory for a thread, its work is not done. */
static void
run_threads(void)
{
    for (size_t from = 300; from < 400; from += 50) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, in_a_thread, (void *)(uintptr_t)from) == 0) {
            pthread_join(thread, NULL);
        }
    }
}

static void
run_scenario(void)
{
    take_small(0, 100);
    take_large(100, 112);
    take_zeroed(112, 120);
    take_aligned(120, 145);
    keep(145, variant->malloc(10), 10);
    for (size_t size = 20; size <= 3 * MIB; size *= 2) {
        resize(145, size);
    }
    for (size_t number = 1; number < 145; number += 2) {
        drop(number);
    }
    for (size_t number = 0; number < 145; number += 4) {
        resize(number, objects[number].size / 2 + 1);
        resize(number, objects[number].size * 3 + 1);
    }
    run_threads();
    take_small(150, 220);
    take_large(220, 230);
    for (size_t number = 0; number < OBJECTS; number++) {
        drop(number);
    }
    variant->end_thread();
}

/* What is left in the end: bytes handed out, and pages of address space that no heap knows (not with
 * sbrk: what it takes for alignment is in no heap). */
struct remains {
    size_t bytes, pages;
};

static size_t
pages_unknown(void)
{
    char text[64] = "";
    int file = open("/proc/self/statm", O_RDONLY);
    if (file < 0 || read(file, text, sizeof text - 1) <= 0) {
        oom_wrong("what is mapped can be read");
    }
    close(file);
    return strtoul(text, NULL, 10) - atomic_load(&hew_page_mapped) / 4096;
}

/* Gives back whatever address space is free. */
static void
release_all(void)
{
    HEW_EACH_ARENA(arena)
    {
        hew_page_release(arena->pages.heap);
    }
    hew_os_unmap(hew_os_map(4096, 4096), 4096); /* what could not be kept is offered again after any other range */
}

/* With nothing refused any more: what a refused call left behind goes now, or is lost for ever. */
static struct remains
clear_up(bool known)
{
    size_t bytes = variant->left();
    release_all();
    return (struct remains){bytes, known ? pages_unknown() : 0};
}

static bool
is_more(const struct remains *left, const struct remains *most)
{
    if (left->bytes > most->bytes || left->pages > most->pages) {
        say("  left: %zu bytes, and %zu without a refusal; pages of address space %zd more\n", left->bytes, most->bytes,
            left->pages - most->pages);
        return true;
    }
    return false;
}

enum { FAILED = 1, PASSED = 0, PASSED_WITHOUT_REFUSAL = 2 };

/* In a process of its own.  `most`: what is left without a refusal. */
static int
run_once(const char *settings, unsigned at, unsigned again, struct remains most, int report)
{
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    alarm(STUCK_SECONDS);
    first = at;
    every = again;
    variant->begin(settings);
    if (again != 0) { /* without any memory there is no beginning; what is said then is tested in tests/death/ */
        variant->free(variant->malloc(1));
    }
    hew_os_faults.refuse = refuse;
    run_scenario();
    hew_os_faults.refuse = NULL;
    struct remains left = clear_up(settings != NULL && strstr(settings, "dss:disabled") != NULL);
    right = right && !is_more(&left, &most);
    if (write(report, &left, sizeof left) != sizeof left) {
        return FAILED;
    }
    return !right ? FAILED : refusals == 0 ? PASSED_WITHOUT_REFUSAL : PASSED;
}

static int
run_in_child(const char *settings, unsigned at, unsigned again, struct remains most, struct remains *left)
{
    int report[2], status = 0;
    if (pipe(report) != 0) {
        return FAILED;
    }
    pid_t child = fork();
    if (child == 0) {
        int result = run_once(settings, at, again, most, report[1]);
        branches_tell();
        _exit(result);
    }
    close(report[1]);
    bool told = read(report[0], left, sizeof *left) == sizeof *left;
    close(report[0]);
    waitpid(child, &status, 0);
    if (!told || !WIFEXITED(status)) {
        say("  ended with status %#x\n", status);
        return FAILED;
    }
    return WEXITSTATUS(status);
}

/* Refuses the first call, and after it as `again` says; then the second ... until the scenario makes no more calls. */
static bool
run_series(const char *settings, unsigned again, struct remains most)
{
    unsigned at = 1, failed = 0;
    int result = PASSED;
    struct remains left;
    for (; result != PASSED_WITHOUT_REFUSAL && failed < 3; at++) {
        result = run_in_child(settings, at, again, most, &left);
        if (result != PASSED && result != PASSED_WITHOUT_REFUSAL) {
            say("  so it was with call %u refused, and every %u-th after it\n", at, again);
            failed++;
        }
    }
    say("%s - %s: the n-th call refused%s, n up to %u\n", failed == 0 ? "ok" : "not ok",
        settings == NULL ? "default settings" : settings,
        again == 0   ? ""
        : again == 1 ? " and all after it"
                     : " and every third after it",
        at - 1);
    return failed == 0;
}

int
oom_run(const struct oom_variant *chosen)
{
    static const char *const settings[] = {NULL,
                                           "dirty_decay_ms:0,muzzy_decay_ms:100,retain:false,thp:always,dss:disabled",
                                           "dss:primary,tcache:false", "dss:disabled"};
    static const unsigned agains[] = {0, 1, 3};
    bool good = true;
    variant = chosen;
    for (unsigned i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        struct remains left = {SIZE_MAX, SIZE_MAX};
        if (run_in_child(settings[i], 0, 0, left, &left) != PASSED_WITHOUT_REFUSAL) {
            say("not ok - without a refusal\n");
            return 1;
        }
        for (unsigned j = 0; j < sizeof agains / sizeof agains[0]; j++) {
            good = run_series(settings[i], agains[j], left) && good;
        }
    }
    return good ? 0 : 1;
}
