/* SPDX-License-Identifier: MIT */
/*
 * weeks: does a server's memory follow its live objects, or does it drift?  Days of some seconds each.
 *
 * Load rises and falls with the day and is lower on two days of seven.  Each thread keeps three tenths of its live bytes in
 * sessions, of several small objects that end together, the rest in a cache of objects of 64 bytes to 16 KiB of which any may
 * be dropped; both are replaced several times a day.  A quarter of the sessions end in a neighbour's hands.  Each tick uses buffers
 * up to 1 MiB.  Every third day is a new version: its objects are larger or smaller than those before.
 *
 * What each thread does depends on nothing but the seed, so every allocator has the same to do.  Live bytes are those asked for;
 * resident ones are counted from what the program had before its first object.
 */
#include "workload.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

enum {
    THREADS_MOST = 64,
    ENTRIES_MOST = 1 << 17,
    SESSIONS_MOST = 1 << 15,
    PARTS_MOST = 40,
    DAYS_MOST = 1000,
    TICK_MS = 20
};

struct session {
    struct session *next; /* in a neighbour's mailbox */
    size_t bytes;
    unsigned parts;
    unsigned char *part[];
};

struct entry {
    unsigned char *data;
    size_t size;
};

struct server {
    pthread_t thread;
    uint64_t random, sum;
    size_t in_sessions, in_cache;
    unsigned sessions, entries;
    struct session *session[SESSIONS_MOST];
    struct entry entry[ENTRIES_MOST];
    _Atomic(struct session *) mailbox; /* pushed with release, emptied with acquire */
    _Atomic size_t live;               /* relaxed: read for the figures */
};

struct day {
    double live, resident, peak_live, peak_resident;
    long samples;
};

static long days = 14, day_seconds = 85, threads = 4, peak_mib = 128, turnover = 20, seed = 1;
static struct server *server;
static struct day day[DAYS_MOST];
static _Atomic long working, late; /* late: ticks that began after the next one was due */
static double begin;

static long
ticks_of_day(void)
{
    return day_seconds * 1000 / TICK_MS;
}

/* The part of the peak that is wanted at a tick: lowest at midnight, two days of seven weaker. */
static double
load_at(long tick)
{
    double time = (double)tick / (double)ticks_of_day();
    double wave = 0.5 - 0.5 * cos(2 * M_PI * time);
    return 0.3 + 0.7 * wave * ((long)time % 7 >= 5 ? 0.5 : 1.0);
}

/* How much larger a version's objects are than the first one's, 0.6 to 1.8. */
static double
scale_at(long tick)
{
    uint64_t random = workload_scramble((uint64_t)(seed + tick / (3 * ticks_of_day())));
    return 0.6 + (double)(random % 1000) / 1000 * 1.2;
}

static unsigned char *
make(size_t size)
{
    unsigned char *data = workload_take(size);
    memset(data, (int)size, size);
    return data;
}

static uint64_t
drop(unsigned char *data, size_t size)
{
    if (data[0] != (unsigned char)size || data[size - 1] != (unsigned char)size)
        workload_fail("weeks", "an object has changed while it was kept");
    free(data);
    return size;
}

/* Parts of a session are all of one size, which their first 8 bytes hold. */
static void
begin_session(struct server *self, double scale)
{
    unsigned parts = (unsigned)workload_between(&self->random, 4, PARTS_MOST);
    struct session *session = workload_take(sizeof *session + parts * sizeof *session->part);
    *session = (struct session){.bytes = sizeof *session + parts * sizeof *session->part, .parts = parts};
    for (unsigned i = 0; i < parts; i++) {
        size_t size = sizeof(size_t) + (size_t)(scale * (double)workload_log_size(&self->random, 4, 9));
        session->part[i] = workload_take(size);
        memcpy(session->part[i], &size, sizeof size);
        memset(session->part[i] + sizeof size, (int)size, size - sizeof size);
        session->bytes += size;
    }
    self->in_sessions += session->bytes;
    self->session[self->sessions++] = session;
}

static void
free_session(struct session *session)
{
    for (unsigned i = 0; i < session->parts; i++) {
        size_t size;
        memcpy(&size, session->part[i], sizeof size);
        if (session->part[i][size - 1] != (unsigned char)size)
            workload_fail("weeks", "a session has changed while it was kept");
        free(session->part[i]);
    }
    free(session);
}

/* Any session ends; one in four in the hands of the next thread. */
static void
end_session(struct server *self)
{
    unsigned which = (unsigned)workload_between(&self->random, 0, self->sessions - 1);
    struct session *session = self->session[which];
    self->session[which] = self->session[--self->sessions];
    self->in_sessions -= session->bytes;
    self->sum = workload_mix(self->sum, session->bytes);
    if (workload_random(&self->random) % 4 != 0) {
        free_session(session);
        return;
    }
    struct server *next = &server[(self - server + 1) % threads];
    session->next = atomic_load_explicit(&next->mailbox, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&next->mailbox, &session->next, session, memory_order_release,
                                                  memory_order_relaxed))
        continue;
}

static void
empty_mailbox(struct server *self)
{
    struct session *session = atomic_exchange_explicit(&self->mailbox, NULL, memory_order_acquire);
    while (session != NULL) {
        struct session *next = session->next;
        free_session(session);
        session = next;
    }
}

static void
keep_entry(struct server *self, double scale)
{
    size_t size = (size_t)(scale * (double)workload_log_size(&self->random, 6, 14));
    self->entry[self->entries++] = (struct entry){make(size), size};
    self->in_cache += size;
}

static void
drop_entry(struct server *self)
{
    unsigned which = (unsigned)workload_between(&self->random, 0, self->entries - 1);
    struct entry entry = self->entry[which];
    self->entry[which] = self->entry[--self->entries];
    self->in_cache -= entry.size;
    self->sum = workload_mix(self->sum, drop(entry.data, entry.size));
}

static void
use_buffers(struct server *self)
{
    unsigned char *buffer[3];
    size_t size[3];
    unsigned count = (unsigned)workload_between(&self->random, 0, 3);
    for (unsigned i = 0; i < count; i++) {
        size[i] = workload_log_size(&self->random, 16, 20);
        buffer[i] = make(size[i]);
    }
    while (count-- > 0)
        self->sum = workload_mix(self->sum, drop(buffer[count], size[count]));
}

/* Lets go until `replaced` bytes less than wanted are left, and fills up again. */
static void
serve_tick(struct server *self, long tick)
{
    double wanted = load_at(tick) * (double)peak_mib * 1048576 / (double)threads, scale = scale_at(tick);
    double replaced = wanted * (double)turnover / (double)ticks_of_day();
    empty_mailbox(self);
    while (self->sessions > 0 && (double)self->in_sessions > 0.3 * (wanted - replaced))
        end_session(self);
    while (self->entries > 0 && (double)self->in_cache > 0.7 * (wanted - replaced))
        drop_entry(self);
    while (self->sessions < SESSIONS_MOST && (double)self->in_sessions < 0.3 * wanted)
        begin_session(self, scale);
    while (self->entries < ENTRIES_MOST && (double)self->in_cache < 0.7 * wanted)
        keep_entry(self, scale);
    use_buffers(self);
    atomic_store_explicit(&self->live, self->in_sessions + self->in_cache, memory_order_relaxed);
}

static void *
serve(void *argument)
{
    struct server *self = argument;
    for (long tick = 0; tick < days * ticks_of_day(); tick++) {
        double wait = begin + (double)(tick * TICK_MS) / 1000 - workload_seconds();
        if (wait > 0)
            workload_sleep_ms((long)(wait * 1000) + 1);
        late += wait < -TICK_MS / 1000.0;
        serve_tick(self, tick);
    }
    working--;
    return NULL;
}

/* One reading, counted to the day that it falls in. */
static void
sample(long base_kib)
{
    long today = (long)((workload_seconds() - begin) / (double)day_seconds);
    double live = 0, resident = (double)(workload_rss_kib() - base_kib) / 1024;
    for (long i = 0; i < threads; i++)
        live += (double)atomic_load_explicit(&server[i].live, memory_order_relaxed) / 1048576;
    if (today >= days)
        return;
    struct day *now = &day[today];
    now->samples++;
    now->live += live;
    now->resident += resident;
    now->peak_live = live > now->peak_live ? live : now->peak_live;
    now->peak_resident = resident > now->peak_resident ? resident : now->peak_resident;
}

static double
over(const struct day *one)
{
    return one->live > 0 ? one->resident / one->live : 0;
}

static void
report(void)
{
    struct day all = {0};
    for (long i = 0; i < days; i++) {
        const struct day *one = &day[i];
        double count = one->samples > 0 ? (double)one->samples : 1;
        fprintf(
            stderr,
            "{\"day\":%ld,\"live_mib\":%.2f,\"resident_mib\":%.2f,\"peak_live_mib\":%.2f,\"peak_resident_mib\":%.2f}\n",
            i + 1, one->live / count, one->resident / count, one->peak_live, one->peak_resident);
        all.live += one->live;
        all.resident += one->resident;
    }
    fprintf(stderr, "resident %.3f of live; day 2 %.3f, the last day %.3f; %ld late ticks\n", over(&all),
            over(&day[days > 1]), over(&day[days - 1]), (long)late);
}

int
main(int argc, char **argv)
{
    const struct workload_option options[] = {
        {"days", &days, "days"},
        {"day", &day_seconds, "seconds a day"},
        {"threads", &threads, "threads"},
        {"peak", &peak_mib, "MiB alive at noon"},
        {"turnover", &turnover, "how often a day what lives is replaced"},
        {"seed", &seed, "of sizes and lifetimes"},
    };
    workload_parse(argc, argv, "A server over weeks, with days of some seconds: resident memory beside live bytes.",
                   options, 6);
    workload_require("days", days, 1, DAYS_MOST);
    workload_require("day", day_seconds, 1, 86400);
    workload_require("threads", threads, 1, THREADS_MOST);
    workload_require("peak", peak_mib, 1, 1024 * threads);
    workload_require("turnover", turnover, 0, 10000);
    server = mmap(NULL, (size_t)threads * sizeof *server, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (server == MAP_FAILED)
        workload_fail("weeks", "no memory for the tables");
    long base_kib = workload_rss_kib();
    begin = workload_seconds();
    working = threads;
    for (long i = 0; i < threads; i++) {
        server[i].random = workload_scramble((uint64_t)(seed * THREADS_MOST + i));
        if (pthread_create(&server[i].thread, NULL, serve, &server[i]) != 0)
            workload_fail("weeks", "cannot start a thread");
    }
    while (working > 0) {
        workload_sleep_ms(100);
        sample(base_kib);
    }
    uint64_t checksum = 0;
    for (long i = 0; i < threads; i++) {
        pthread_join(server[i].thread, NULL);
        empty_mailbox(&server[i]);
        checksum += server[i].sum;
    }
    report();
    workload_report("weeks", (uint64_t)(days * ticks_of_day() * threads), workload_seconds() - begin, checksum);
    return 0;
}
