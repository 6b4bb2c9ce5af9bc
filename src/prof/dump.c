/* SPDX-License-Identifier: MIT */
#include "prof/dump.h"

#include "base/options.h"
#include "base/size_class.h"
#include "base/text.h"
#include "os/fatal.h"
#include "os/memory.h"
#include "os/syscall.h"
#include "page/heap.h"
#include "prof/event.h"
#include "prof/heap_v2.h"
#include "prof/pprof.h"
#include "prof/profiler.h"

#include <fcntl.h>
#include <string.h>

#define PATH_BYTES 1280 /* a prefix of up to 1023 bytes, and the rest */

struct hew_mutex hew_dump_lock = HEW_MUTEX(dump);
_Atomic bool hew_dump_at_peaks;

/* Guarded by hew_dump_lock. */
static char prefix[sizeof hew_options.prof_prefix];
static uint64_t sequence;
static uint64_t logs;
static char log_path[PATH_BYTES];
static uint64_t sequences['u' - 'f' + 1]; /* one for each kind's letter */

static _Atomic uint64_t allocated; /* estimated bytes since the last profile by interval */
static _Atomic size_t peak;        /* largest amount mapped at the last check */

/* A profile while it is written: too large for the stack. */
struct dump {
    struct hew_sink sink;
    struct hew_snapshot snapshot;
    char path[PATH_BYTES];
};

void
hew_dump_boot(void)
{
    memcpy(prefix, hew_options.prof_prefix, sizeof prefix);
    atomic_store(&hew_dump_at_peaks, hew_options.prof_gdump);
}

bool
hew_dump_set_prefix(const char *wanted)
{
    size_t length = strlen(wanted);
    if (length >= sizeof prefix) {
        return false;
    }
    hew_mutex_lock(&hew_dump_lock);
    memcpy(prefix, wanted, length + 1);
    hew_mutex_unlock(&hew_dump_lock);
    return true;
}

uint64_t
hew_dump_interval(void)
{
    return hew_options.lg_prof_interval < 0 ? 0 : UINT64_C(1) << hew_options.lg_prof_interval;
}

/* Appends "4026531836" from the link "pid:[4026531836]". */
static void
put_pid_namespace(struct hew_text *text)
{
    char link[64];
    long length = hew_syscall4(SYS_readlinkat, AT_FDCWD, "/proc/self/ns/pid", link, sizeof link);
    for (long i = 0; i < length; i++) {
        if (link[i] >= '0' && link[i] <= '9') {
            hew_text_put_bytes(text, &link[i], 1);
        }
    }
}

/* Lock held.  Appends the common prefix of all names, up to the number in the process. */
static void
put_beginning(struct hew_text *text, uint64_t number)
{
    hew_text_put(text, prefix);
    if (hew_options.prof_pid_namespace) {
        hew_text_put(text, ".");
        put_pid_namespace(text);
    }
    hew_text_put(text, ".");
    hew_text_put_unsigned(text, (uint64_t)hew_syscall1(SYS_getpid, 0));
    hew_text_put(text, ".");
    hew_text_put_unsigned(text, number);
}

/* Makes the next name of a kind, unless profiles have no names.  False if there is none, or it does not fit. */
static bool
make_name(char *path, char kind)
{
    struct hew_text text;
    hew_text_begin(&text, path, PATH_BYTES);
    hew_mutex_lock(&hew_dump_lock);
    bool named = prefix[0] != '\0';
    put_beginning(&text, sequence++);
    hew_text_put(&text, ".");
    hew_text_put_bytes(&text, &kind, 1);
    if (kind != 'f') {
        hew_text_put_unsigned(&text, sequences[kind - 'f']++);
    }
    hew_mutex_unlock(&hew_dump_lock);
    hew_text_put(&text, hew_options.prof_format == HEW_PROF_FORMAT_PPROF ? ".pb.gz" : ".heap");
    path[0] = named ? path[0] : '\0';
    return named && !text.truncated;
}

bool
hew_dump_log_begin(const char *path)
{
    struct hew_text text;
    if (!hew_event_log_begin()) {
        return false;
    }
    hew_mutex_lock(&hew_dump_lock);
    hew_text_begin(&text, log_path, sizeof log_path);
    if (path != NULL) {
        hew_text_put(&text, path);
    } else {
        put_beginning(&text, logs++);
        hew_text_put(&text, ".json");
    }
    hew_mutex_unlock(&hew_dump_lock);
    return true;
}

bool
hew_dump_log_end(void)
{
    char path[sizeof log_path];
    hew_mutex_lock(&hew_dump_lock);
    memcpy(path, log_path, sizeof path);
    hew_mutex_unlock(&hew_dump_lock);
    return hew_event_log_end(path);
}

/* Writes to `file` if it is open, else to `path`. */
static bool
write_snapshot(struct dump *dump, int file, const char *path)
{
    bool open = file >= 0 ? hew_sink_begin(&dump->sink, file) : hew_sink_open(&dump->sink, path);
    if (!open) {
        return false;
    }
    if (hew_options.prof_format == HEW_PROF_FORMAT_PPROF) {
        dump->sink.failed = !hew_pprof_write(&dump->sink, &dump->snapshot) || dump->sink.failed;
    } else {
        hew_heap_v2_write(&dump->sink, &dump->snapshot);
    }
    if (!hew_sink_close(&dump->sink)) {
        return false;
    }
    hew_prof_function hook = atomic_load_explicit(&hew_prof_hooks[HEW_PROF_ON_DUMP], memory_order_relaxed);
    if (hook != NULL) {
        ((hew_prof_on_dump)hook)(path);
    }
    return true;
}

/* Writes a profile to `file`; if that is -1, to `path`; if that is NULL, to the next name of its kind.  Stores an
 * estimate of what is live in `leak`, which may be NULL. */
static bool
write_profile(int file, const char *path, char kind, struct hew_dump_leak *leak)
{
    size_t bytes = hew_system_pages(sizeof(struct dump));
    struct dump *dump = hew_os_map(bytes, HEW_PAGE);
    if (dump == NULL) {
        return false;
    }
    bool written = false;
    if ((path != NULL || make_name(dump->path, kind)) && hew_snapshot_take(&dump->snapshot, hew_prof_interval())) {
        written = write_snapshot(dump, file, path != NULL ? path : dump->path);
        if (leak != NULL) {
            struct hew_prof_shown live = hew_weight_estimate(&dump->snapshot.live, hew_options.prof_unbias);
            *leak = (struct hew_dump_leak){live.objects, live.bytes, 0};
            for (size_t i = 0; i < dump->snapshot.stack_count; i++) {
                leak->stacks += dump->snapshot.stacks[i].live.objects != 0;
            }
        }
        hew_snapshot_give(&dump->snapshot);
    }
    if (!written && dump->path[0] != '\0') { /* no caller to return the error to */
        hew_warn("a heap profile could not be written", dump->path);
    }
    hew_os_unmap(dump, bytes);
    return written;
}

bool
hew_dump_write(const char *path)
{
    return write_profile(-1, path, 'm', NULL);
}

bool
hew_dump_write_file(int file, const char *path)
{
    return write_profile(file, path, 'm', NULL);
}

struct hew_dump_leak
hew_dump_final(void)
{
    struct hew_dump_leak leak = {0, 0, 0};
    if (hew_options.prof_final) {
        write_profile(-1, NULL, 'f', &leak);
    }
    return leak;
}

/* True for exactly one thread each time the count passes the interval. */
static bool
interval_is_over(uint64_t bytes)
{
    uint64_t interval = hew_dump_interval();
    if (interval == 0) {
        return false;
    }
    uint64_t before = atomic_fetch_add_explicit(&allocated, bytes, memory_order_relaxed);
    return before / interval != (before + bytes) / interval;
}

static bool
is_new_peak(void)
{
    size_t mapped = atomic_load_explicit(&hew_page_mapped, memory_order_relaxed);
    size_t most = atomic_load_explicit(&peak, memory_order_relaxed);
    return mapped > most && atomic_compare_exchange_strong(&peak, &most, mapped);
}

void
hew_dump_notice(uint64_t bytes)
{
    if (interval_is_over(bytes)) {
        write_profile(-1, NULL, 'i', NULL);
    }
    if (atomic_load_explicit(&hew_dump_at_peaks, memory_order_relaxed) && is_new_peak()) {
        write_profile(-1, NULL, 'u', NULL);
    }
}
