/* SPDX-License-Identifier: MIT */
/*
 * report: the statistics as text for people, or as JSON in jemalloc's outline.
 *
 * Promises  takes a snapshot first; no malloc, no stdio; every JSON key once in its object.
 * Locks     none is held while the caller's function is called.
 * Not here  the part about settings, which control/ knows: it is handed in.
 */
#ifndef HEW_STATS_REPORT_H
#define HEW_STATS_REPORT_H

#include "stats/json.h"
#include "stats/snapshot.h"

struct hew_report {
    struct hew_writer out;
    struct hew_json json;
    bool as_json;
    /* Parts that are wanted. */
    bool general, merged, destroyed, arenas, bins, large, mutexes, extents, hpa;
    struct hew_stats_arena *arena; /* the one that is being printed: a copy, so that no lock is held */
};

/* Where a report goes and what is in it; `letters` NULL is none. */
struct hew_report_order {
    void (*write)(void *context, const char *piece);
    void *context;
    const char *letters;
    void (*print_general)(struct hew_report *report); /* NULL: there is no such part */
};

void hew_report_print(const struct hew_report_order *order);

/* report->arena under `key`; one of a single arena has a name. */
void hew_report_arena_json(struct hew_report *report, const char *key);
void hew_report_arena_text(struct hew_report *report);

/* The JSON of a struct of numbers, key by key; of a lock's. */
void hew_report_fields_json(struct hew_json *json, const struct hew_stats_field *fields, const void *words);
void hew_report_mutex_json(struct hew_json *json, const char *key, const struct hew_stats_mutex *mutex);

/* The table of locks that have names; `seconds` as in table.h. */
void hew_report_mutexes_text(struct hew_writer *out, const char *const *names, const struct hew_stats_mutex *mutexes,
                             uint64_t seconds);

#endif
