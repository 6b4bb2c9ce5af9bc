/* SPDX-License-Identifier: MIT */
/* file: see file.h. */
#include "record/file.h"

#include "base/text.h"
#include "format/format.h"
#include "os/clock.h"
#include "os/environment.h"
#include "os/object.h"
#include "os/syscall.h"
#include "record/about.h"
#include "record/calls.h"
#include "record/cycles.h"
#include "record/ids.h"
#include "record/large.h"
#include "record/lost.h"
#include "record/thread.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

_Alignas(4096) union hew_trace_page hew_trace_page;
struct hew_trace_settings hew_trace_settings;

static char path[4096];   /* of this process's file */
static char wished[4096]; /* set by hew_trace_wish(); "": use the environment */
static bool started_before, settled;

#define HIGH_DESCRIPTOR 512
#define LEASE_NS UINT64_C(60000000000)
#define NAMES 1000 /* names that are tried for a file */

static void
complain(const char *what, const char *why)
{
    char line[sizeof(path) + 128];
    struct hew_text text;

    hew_text_begin(&text, line, sizeof(line));
    hew_text_put(&text, "hew record: ");
    hew_text_put(&text, path);
    hew_text_put(&text, ": ");
    hew_text_put(&text, what);
    hew_text_put(&text, why);
    hew_text_put(&text, "\n");
    hew_syscall3(SYS_write, 2, text.at, text.length);
}

static uint64_t
number_of(const char *name, uint64_t otherwise)
{
    const char *text = hew_environment_get(name);
    uint64_t value = 0;

    if (text == NULL || *text == '\0') {
        return otherwise;
    }
    for (; *text >= '0' && *text <= '9'; text++) {
        value = value > UINT64_MAX / 10 - 9 ? UINT64_MAX / 2 : value * 10 + (uint64_t)(*text - '0');
    }
    return *text == '\0' ? value : otherwise;
}

/* Writing beyond the file size limit would send a signal to the program, so the file is kept below it. */
static void
bound_file(void)
{
    struct rlimit limit;

    if (hew_syscall4(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) == 0 && limit.rlim_cur < hew_trace_settings.most) {
        hew_trace_settings.most = limit.rlim_cur;
    }
}

static void
read_settings(void)
{
    uint64_t sampling = number_of("HEW_TRACE_THREADS", 1);

    hew_trace_settings.most = number_of("HEW_TRACE_MAX", UINT64_C(1) << 40);
    hew_trace_settings.thread_sampling = sampling == 0 ? 1 : sampling;
    hew_trace_settings.stack_sampling = number_of("HEW_TRACE_STACKS", 0);
    hew_trace_settings.sample_bytes = number_of("HEW_TRACE_SAMPLE", 0);
    hew_trace_settings.seed = number_of("HEW_TRACE_SEED", 0);
    hew_trace_settings.children = number_of("HEW_TRACE_CHILDREN", 1) != 0;
    bound_file();
}

/* Creates FILE, else FILE.PID, else FILE.PID.1 and so on; never opens an existing file. */
static int
make_file(const char *wanted)
{
    for (unsigned i = started_before; i < NAMES; i++) {
        struct hew_text text;
        long file;
        hew_text_begin(&text, path, sizeof(path));
        hew_text_put(&text, wanted);
        if (i > 0) {
            hew_text_put(&text, ".");
            hew_text_put_unsigned(&text, (uint64_t)hew_syscall1(SYS_getpid, 0));
        }
        if (i > 1) {
            hew_text_put(&text, ".");
            hew_text_put_unsigned(&text, i - 1);
        }
        file = hew_syscall4(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (file != -EEXIST || text.truncated || !hew_trace_settings.children) {
            return (int)file;
        }
    }
    return -EEXIST;
}

static bool
keep_file(int file)
{
    long high = hew_syscall3(SYS_fcntl, file, F_DUPFD_CLOEXEC, HIGH_DESCRIPTOR);
    struct stat about;

    if (high >= 0) {
        hew_syscall1(SYS_close, file);
        file = (int)high;
    }
    if (hew_syscall2(SYS_fstat, file, &about) != 0) {
        return false;
    }
    hew_trace_shared.file = file;
    hew_trace_shared.device = about.st_dev;
    hew_trace_shared.inode = about.st_ino;
    return true;
}

static bool
is_ours(int file)
{
    struct stat about;

    return hew_syscall2(SYS_fstat, file, &about) == 0 && about.st_dev == hew_trace_shared.device &&
           about.st_ino == hew_trace_shared.inode;
}

/* Whether the descriptor is still the trace's.  If the program has closed it, the file is opened again. */
static bool
still_ours(void)
{
    long file;

    if (is_ours(hew_trace_shared.file)) {
        return true;
    }
    file = hew_syscall4(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0);
    if (file < 0) {
        return false;
    }
    if (!is_ours((int)file)) {
        hew_syscall1(SYS_close, file);
        return false;
    }
    return keep_file((int)file);
}

void
hew_trace_stop(uint32_t flag)
{
    __atomic_store_n(&hew_trace_shared.phase, HEW_TRACE_STOPPED, __ATOMIC_RELAXED);
    __atomic_store_n(&hew_trace_shared.generation, 0, __ATOMIC_RELAXED);
    if (hew_trace_shared.header != NULL) {
        __atomic_fetch_or(&hew_trace_shared.header->flags, flag, __ATOMIC_RELAXED);
    }
}

/* Allocates disk space, so that a full disk is an error here and not a SIGBUS in the program. */
static bool
reserve(uint64_t offset, size_t size)
{
    char zero = 0;
    long result;

    do { /* tmpfs returns early when a signal is pending */
        result = hew_syscall4(SYS_fallocate, hew_trace_shared.file, 0, offset, size);
    } while (result == -EINTR);
    if (result != -EOPNOTSUPP && result != -ENOSYS) {
        return result == 0;
    }
    for (uint64_t at = offset; at < offset + size; at += 4096) {
        if (hew_syscall4(SYS_pwrite64, hew_trace_shared.file, &zero, 1, at) != 1) {
            return false;
        }
    }
    return hew_syscall4(SYS_pwrite64, hew_trace_shared.file, &zero, 1, offset + size - 1) == 1;
}

static bool
is_current(uint64_t generation)
{
    return __atomic_load_n(&hew_trace_shared.generation, __ATOMIC_ACQUIRE) == generation;
}

void *
hew_trace_take_room(size_t size, uint64_t generation)
{
    long mapped = -ENOSPC;
    uint64_t offset;

    if (!is_current(generation)) {
        return NULL;
    }
    offset = __atomic_fetch_add(&hew_trace_shared.file_end, size, __ATOMIC_RELAXED);
    if (offset + size <= hew_trace_settings.most && still_ours() && reserve(offset, size)) {
        mapped = hew_syscall6(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                              hew_trace_shared.file, (long)offset);
    }
    if (mapped >= 0) {
        return (void *)mapped;
    }
    if (is_current(generation)) {
        hew_trace_stop(HEW_TRACE_FULL);
    }
    return NULL;
}

void
hew_trace_leave_room(void *room, size_t size)
{
    hew_syscall2(SYS_munmap, room, size);
}

uint64_t
hew_trace_time(void)
{
    return (hew_clock_ns() - hew_trace_shared.first_ns) / 1000;
}

static bool
write_header(void)
{
    struct hew_trace_header *header = hew_trace_take_room(4096, 0);

    if (header == NULL) {
        return false;
    }
    *header = (struct hew_trace_header){
        .magic = HEW_TRACE_MAGIC,
        .version = HEW_TRACE_VERSION,
        .first_block = 4096,
        .started = hew_clock_wall_ns(),
        .pid = (uint32_t)hew_syscall1(SYS_getpid, 0),
        .batch_operations = HEW_TRACE_BATCH_ALONE,
        .batch_microseconds = HEW_TRACE_BATCH_MICROSECONDS,
        .thread_sampling = (uint32_t)hew_trace_settings.thread_sampling,
        .stack_sampling = (uint32_t)hew_trace_settings.stack_sampling,
        .sample_bytes = hew_trace_settings.sample_bytes,
        .flags = hew_trace_settings.sample_bytes != 0 ? HEW_TRACE_SAMPLED : 0,
    };
    hew_trace_shared.header = header;
    return hew_trace_write_about();
}

static bool
start(const char *wanted)
{
    int file;

    if (hew_trace_shared.file != 0 && is_ours(hew_trace_shared.file)) { /* from an earlier recording */
        hew_syscall1(SYS_close, hew_trace_shared.file);
    }

    if (!settled) {
        read_settings();
        settled = true;
    }
    if (started_before && !hew_trace_settings.children) {
        return false;
    }
    hew_trace_shared.whole = !started_before && wished[0] == '\0';
    file = make_file(wanted);
    started_before = true;
    if (file < 0) {
        if (hew_trace_settings.children || file != -EEXIST) {
            complain("cannot be made: ", file == -EACCES || file == -EROFS ? "not allowed"
                                         : file == -ENOENT                 ? "no such folder"
                                         : file == -EEXIST                 ? "there are too many already"
                                                                           : "the system refused");
        }
        return false;
    }
    hew_large_begin(); /* if it fails, large objects are recorded like others */
    hew_trace_shared.first_ns = hew_clock_ns();
    hew_trace_shared.first_cycles = hew_trace_cycles();
    hew_trace_shared.cycles_per_ms = 2000000; /* a guess until it has been measured */
    if (!hew_trace_ids_begin()) {
        complain("it cannot be written: ", "no memory for the table of objects");
        return false;
    }
    if (!keep_file(file) || !write_header()) {
        complain("it cannot be written: ", "no room on the disk, or --max is too small");
        return false;
    }
    return true;
}

void
hew_trace_extend(void)
{
    __atomic_store_n(&hew_trace_shared.until_ns, hew_clock_ns() + LEASE_NS, __ATOMIC_RELAXED);
}

bool
hew_trace_wish(const char *file)
{
    struct hew_trace_state *state = &hew_trace_shared;

    if (strlen(file) >= sizeof(wished)) {
        return false;
    }
    memcpy(wished, file, strlen(file) + 1);
    bound_file();
    settled = true;
    started_before = false;
    state->ticket = state->file_end = 0;
    state->floor = state->threads;
    hew_trace_extend();
    state->header = NULL;
    state->names = NULL;
    state->tree = NULL; /* a thread of the previous recording may still be reading it: it stays in memory */
    __atomic_store_n(&state->phase, HEW_TRACE_UNBORN, __ATOMIC_RELEASE);
    return true;
}

bool
hew_trace_start(void)
{
    uint32_t unborn = HEW_TRACE_UNBORN;
    const char *wanted;

    if (!__atomic_compare_exchange_n(&hew_trace_shared.phase, &unborn, HEW_TRACE_STARTING, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
        return unborn == HEW_TRACE_RECORDING;
    }
    wanted = wished[0] != '\0' ? wished : hew_environment_get("HEW_TRACE");
    if (wanted == NULL && !hew_os_loader_is_done()) { /* libc may not have set up the environment yet */
        __atomic_store_n(&hew_trace_shared.phase, HEW_TRACE_UNBORN, __ATOMIC_RELEASE);
        return false;
    }
    if (wanted == NULL ||
        *wanted == '\0' || /* a forked child must see zeros here: otherwise it would write into this trace */
        hew_syscall3(SYS_madvise, &hew_trace_page, sizeof(hew_trace_page), MADV_WIPEONFORK) != 0 || !start(wanted)) {
        hew_trace_stop(0);
        return false;
    }
    __atomic_store_n(&hew_trace_shared.generation, hew_trace_shared.first_ns | 1, __ATOMIC_RELEASE);
    unborn = HEW_TRACE_STARTING;
    if (!__atomic_compare_exchange_n(&hew_trace_shared.phase, &unborn, HEW_TRACE_RECORDING, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) { /* it was stopped meanwhile */
        __atomic_store_n(&hew_trace_shared.generation, 0, __ATOMIC_RELAXED);
        return false;
    }
    return true;
}

/* Runs after the program's own destructors: everything later belongs to the end of the process. */
__attribute__((destructor)) static void
end(void)
{
    if (__atomic_load_n(&hew_trace_shared.phase, __ATOMIC_RELAXED) == HEW_TRACE_RECORDING) {
        hew_trace_touched_at_end();
        if (hew_trace_settings.stack_sampling != 0) {
            hew_trace_write_modules(0, UINTPTR_MAX, hew_trace_shared.generation);
            hew_trace_write_threads(hew_trace_shared.generation);
            hew_trace_write_lost();
        }
        __atomic_fetch_or(&hew_trace_shared.header->flags, HEW_TRACE_ENDED, __ATOMIC_RELAXED);
    }
}
