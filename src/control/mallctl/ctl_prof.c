/* SPDX-License-Identifier: MIT */
/*
 * ctl_prof: the leaves of prof.*, thread.prof.* and experimental.hooks.prof_*.
 *
 * Without prof:true switches read as false and cannot be written, as in jemalloc; other rows then return ENOENT
 * (HEW_CTL_PROF).
 */
#include "base/options.h"
#include "control/mallctl/ctl_value.h"
#include "os/fatal.h"
#include "prof/dump.h"
#include "prof/profiler.h"

#include <errno.h>
#include <string.h>

/* A switch for the whole process. */
static int
exchange_switch(const struct hew_ctl_call *call, _Atomic bool *flag)
{
    bool value = hew_options.prof && atomic_load_explicit(flag, memory_order_relaxed);
    if (call->new != NULL && !hew_options.prof) {
        return ENOENT;
    }
    int error = hew_ctl_exchange_bool(call, &value);
    if (error == 0 && call->new != NULL) {
        atomic_store_explicit(flag, value, memory_order_relaxed);
    }
    return error;
}

int
hew_ctl_prof_active(const struct hew_ctl_call *call)
{
    unsigned char wanted = false;
    if (hew_options.prof || call->new == NULL) {
        return exchange_switch(call, &hew_prof_active);
    }
    int error = hew_ctl_write(call, &wanted, sizeof wanted); /* turning it off is permitted even if it cannot be on */
    error = error == 0 && wanted ? ENOENT : error;
    return error != 0 ? error : hew_ctl_read_bool(call, false);
}

int
hew_ctl_prof_thread_active_init(const struct hew_ctl_call *call)
{
    return exchange_switch(call, &hew_prof_active_init);
}

int
hew_ctl_prof_gdump(const struct hew_ctl_call *call)
{
    return exchange_switch(call, &hew_dump_at_peaks);
}

int
hew_ctl_thread_prof_active(const struct hew_ctl_call *call)
{
    struct hew_prof_own *own = hew_options.prof ? hew_prof_own() : NULL;
    bool value = own != NULL && own->active;
    if (call->new != NULL && !hew_options.prof) {
        return ENOENT;
    }
    if (call->new != NULL && own == NULL) {
        return EAGAIN;
    }
    int error = hew_ctl_exchange_bool(call, &value);
    if (error == 0 && call->new != NULL) {
        own->active = value;
    }
    return error;
}

/* Whether the name is printable; blanks are allowed, NULL is not a name. */
static bool
is_name(const char *name)
{
    for (; *name != '\0'; name++) {
        if ((*name < ' ' && *name != '\t') || *name > '~') {
            return false;
        }
    }
    return true;
}

static int
set_name(const char *name)
{
    struct hew_prof_own *own = hew_prof_own();
    struct hew_prof_thread *thread = own == NULL ? NULL : hew_prof_thread_of(own);
    if (name == NULL || !is_name(name)) {
        return EINVAL;
    }
    if (hew_options.prof_sys_thread_name) {
        return ENOENT;
    }
    if (thread == NULL) {
        return EAGAIN;
    }
    size_t length = strlen(name);
    length = length < sizeof thread->name ? length : sizeof thread->name - 1;
    hew_mutex_lock(&hew_prof_lock);
    memset(thread->name, 0, sizeof thread->name);
    memcpy(thread->name, name, length);
    hew_mutex_unlock(&hew_prof_lock);
    return 0;
}

int
hew_ctl_thread_prof_name(const struct hew_ctl_call *call)
{
    if (call->old != NULL && call->new != NULL) {
        return EPERM;
    }
    if (call->new != NULL) {
        const char *name = NULL;
        int error = hew_ctl_write(call, &name, sizeof name);
        return error != 0 ? error : set_name(name);
    }
    struct hew_prof_own *own = hew_prof_own();
    struct hew_prof_thread *thread = own == NULL ? NULL : hew_prof_thread_of(own);
    return hew_ctl_read_pointer(call, thread == NULL ? "" : thread->name);
}

int
hew_ctl_prof_dump(const struct hew_ctl_call *call)
{
    const char *path = NULL;
    int error = hew_ctl_write(call, &path, sizeof path);
    struct hew_prof_own *own = error == 0 ? hew_prof_own() : NULL;
    /* A thread without a cache is never sampled. */
    if (error != 0 || (own != NULL && !hew_prof_enter(own))) {
        return error != 0 ? error : EAGAIN;
    }
    bool written = hew_dump_write(path);
    if (own != NULL) {
        hew_prof_leave(own);
    }
    return written ? 0 : EFAULT;
}

int
hew_ctl_prof_prefix(const struct hew_ctl_call *call)
{
    const char *prefix = NULL;
    int error = hew_ctl_write(call, &prefix, sizeof prefix);
    if (error != 0) {
        return error;
    }
    return prefix != NULL && hew_dump_set_prefix(prefix) ? 0 : EFAULT;
}

int
hew_ctl_prof_reset(const struct hew_ctl_call *call)
{
    size_t lg_sample = atomic_load_explicit(&hew_prof_lg_sample, memory_order_relaxed);
    int error = hew_ctl_write(call, &lg_sample, sizeof lg_sample);
    if (error == 0) {
        hew_prof_reset(lg_sample < 63 ? (unsigned)lg_sample : 63);
    }
    return error;
}

int
hew_ctl_prof_interval(const struct hew_ctl_call *call)
{
    return hew_ctl_read_uint64(call, hew_options.prof ? hew_dump_interval() : 0);
}

int
hew_ctl_prof_lg_sample(const struct hew_ctl_call *call)
{
    return hew_ctl_read_uint64(call, atomic_load_explicit(&hew_prof_lg_sample, memory_order_relaxed));
}

/* The row's field is an enum hew_prof_hook. */
int
hew_ctl_prof_hook(const struct hew_ctl_call *call)
{
    _Atomic(hew_prof_function) *hook = &hew_prof_hooks[call->row->field];
    hew_prof_function before = atomic_load_explicit(hook, memory_order_relaxed), after = NULL;
    if (call->new != NULL && !hew_options.prof) {
        return ENOENT;
    }
    if (call->old == NULL && call->new == NULL) {
        return EINVAL;
    }
    int error = hew_ctl_write(call, &after, sizeof after);
    if (error == 0 && call->new != NULL && after == NULL && call->row->field == HEW_PROF_ON_BACKTRACE) {
        error = EINVAL;
    }
    error = error != 0 ? error : hew_ctl_read(call, &before, sizeof before);
    if (error == 0 && call->new != NULL) {
        atomic_store_explicit(hook, after, memory_order_relaxed);
    }
    return error;
}

int
hew_ctl_prof_log_start(const struct hew_ctl_call *call)
{
    const char *path = NULL;
    int error = hew_ctl_write(call, &path, sizeof path);
    return error != 0 || hew_dump_log_begin(path) ? error : EFAULT;
}

int
hew_ctl_prof_log_stop(const struct hew_ctl_call *call)
{
    return hew_dump_log_end() ? 0 : EFAULT;
}

int
hew_ctl_prof_recent_max(const struct hew_ctl_call *call)
{
    ssize_t before = hew_event_recent_most(), after = before;
    int error = hew_ctl_write(call, &after, sizeof after);
    if (error == 0 && call->new != NULL && after < -1) {
        error = EINVAL;
    }
    error = error != 0 ? error : hew_ctl_read(call, &before, sizeof before);
    if (error == 0 && call->new != NULL) {
        hew_event_keep_recent(after);
    }
    return error;
}

static void
write_error(void *context, const char *text)
{
    hew_os_write_error(text, strlen(text));
}

int
hew_ctl_prof_recent_dump(const struct hew_ctl_call *call)
{
    struct {
        void (*write)(void *context, const char *text);
        void *context;
    } packet;
    int error = hew_ctl_must_write(call, &packet, sizeof packet);
    if (error != 0) {
        return error;
    }
    bool told =
        hew_event_tell_recent(packet.write == NULL ? write_error : packet.write, packet.context, hew_prof_interval());
    return told ? 0 : EAGAIN;
}

int
hew_ctl_prof_bin_index(const struct hew_ctl_call *call)
{
    return call->mib[call->depth - 1] < hew_small_classes ? 0 : ENOENT;
}

int
hew_ctl_prof_lextent_index(const struct hew_ctl_call *call)
{
    return call->mib[call->depth - 1] < HEW_CLASSES_LARGE ? 0 : ENOENT;
}

/* prof.stats.{bins,lextents}.<i>.{live,accum}: two bits of the field select bins or lextents, and live or accum. */
int
hew_ctl_prof_class(const struct hew_ctl_call *call)
{
    struct {
        uint64_t bytes, count;
    } value;
    if (!hew_options.prof_stats) {
        return ENOENT;
    }
    size_t index = call->mib[3] + ((call->row->field & HEW_PROF_CLASS_LARGE) != 0 ? HEW_CODE_SMALL_LAST : 0);
    struct hew_prof_class counts = hew_prof_class_counts((unsigned)index);
    bool ever = (call->row->field & HEW_PROF_CLASS_EVER) != 0;
    value.bytes = ever ? counts.ever_bytes : counts.live_bytes;
    value.count = ever ? counts.ever_count : counts.live_count;
    return hew_ctl_read(call, &value, sizeof value);
}
