/* SPDX-License-Identifier: MIT */
/*
 * report: writes the statistics as text for people, or as JSON in jemalloc's structure.
 *
 * Promises  takes a snapshot first; no malloc, no stdio; every JSON key appears once in its object.
 * Locks     none is held while the caller's function is called.
 * Not here  the part about settings: control/ passes a function for it.
 */
#ifndef HEW_STATS_REPORT_H
#define HEW_STATS_REPORT_H

#include "stats/json.h"
#include "stats/snapshot.h"

struct hew_report {
    struct hew_writer out;
    struct hew_json json;
    bool as_json;
    /* Requested parts. */
    bool general, merged, destroyed, arenas, bins, large, mutexes, extents, hpa;
    struct hew_stats_arena *arena; /* the arena that is being printed: a copy, so that no lock is held */
};

/* Destination and contents of a report; `letters` may be NULL. */
struct hew_report_order {
    void (*write)(void *context, const char *piece);
    void *context;
    const char *letters;
    void (*print_general)(struct hew_report *report); /* NULL: leave out this part */
};

void hew_report_print(const struct hew_report_order *order);

/* Writes report->arena under `key`; a single arena also has its name. */
void hew_report_arena_json(struct hew_report *report, const char *key);
void hew_report_arena_text(struct hew_report *report);

/* Writes the JSON of a struct of numbers, key by key; the second, that of a lock. */
void hew_report_fields_json(struct hew_json *json, const struct hew_stats_field *fields, const void *words);
void hew_report_mutex_json(struct hew_json *json, const char *key, const struct hew_stats_mutex *mutex);

/* Writes the table of named locks; `seconds` as in table.h. */
void hew_report_mutexes_text(struct hew_writer *out, const char *const *names, const struct hew_stats_mutex *mutexes,
                             uint64_t seconds);

#endif
