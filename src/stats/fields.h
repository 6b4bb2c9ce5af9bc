/* SPDX-License-Identifier: MIT */
/*
 * fields: every statistic as a struct member, and tables that describe the members.
 *
 * Expanded from the .def files in this folder.  Each number is a uint64_t (signed ones too).  The members of a struct
 * have the order of its table: member k is word k.  Sums, reports and mallctl use this to reach every member.  Pure
 * data.
 */
#ifndef HEW_STATS_FIELDS_H
#define HEW_STATS_FIELDS_H

#include "slab/arena.h"

/* The sizes of jemalloc's tables; classes beyond the address space stay 0. */
#define HEW_STATS_BINS ((unsigned)HEW_CODE_SMALL_LAST)
#define HEW_STATS_BUCKETS 199u
#define HEW_STATS_HPA_BUCKETS 64u

enum hew_stats_type { HEW_STATS_UNSIGNED, HEW_STATS_U32, HEW_STATS_U64, HEW_STATS_SIZE, HEW_STATS_SSIZE };
enum hew_stats_merge { HEW_STATS_ADD, HEW_STATS_MAX, HEW_STATS_NONE };
/* Where a number is printed. */
enum hew_stats_part {
    HEW_STATS_JSON,
    HEW_STATS_NO_JSON, /* in the text and in mallctl */
    HEW_STATS_HEAD,
    HEW_STATS_TAIL,
    HEW_STATS_HPA,
};

#define HEW_STATS_NAME_BYTES 24

/* One row of a .def; a row without a name ends the table.  The name is stored inline: pointers would need relocation in
 * each process, on private pages. */
struct hew_stats_field {
    char name[HEW_STATS_NAME_BYTES];
    uint8_t type, merge, part;
    uint8_t width; /* of its column in the text */
};

struct hew_stats_totals {
#define HEW_STATS_TOTAL(name, type, what) uint64_t name;
#include "stats/totals.def"
};

/* The per-CPU caches, all together. */
struct hew_stats_depot {
#define HEW_STATS_DEPOT(name, type, what) uint64_t name;
#include "stats/depot.def"
};

/* At the moment when the heaps held most: peak.h. */
struct hew_stats_peak {
#define HEW_STATS_PEAK(name, type, what) uint64_t name;
#include "stats/peak.def"
};

/* Guarded objects: guard/guard.h. */
struct hew_stats_guard {
#define HEW_STATS_GUARD(name, type, what) uint64_t name;
#include "stats/guard.def"
};

struct hew_stats_mutex {
#define HEW_STATS_GLOBAL_MUTEX(name, what)
#define HEW_STATS_ARENA_MUTEX(name, what)
#include "stats/mutex.def"
#define HEW_STATS_MEMBER(of, name, type, merge, width, what) uint64_t name;
    HEW_STATS_MUTEX_FIELDS(HEW_STATS_MEMBER, )
#undef HEW_STATS_MEMBER
};

enum {
#define HEW_STATS_GLOBAL_MUTEX(name, what) HEW_STATS_GLOBAL_##name,
#define HEW_STATS_ARENA_MUTEX(name, what)
#include "stats/mutex.def"
    HEW_STATS_GLOBAL_MUTEXES
};

enum {
#define HEW_STATS_GLOBAL_MUTEX(name, what)
#define HEW_STATS_ARENA_MUTEX(name, what) HEW_STATS_ARENA_##name,
#include "stats/mutex.def"
    HEW_STATS_ARENA_MUTEXES
};

struct hew_stats_group {
#define HEW_STATS_GROUP(name, type, what) uint64_t name;
#include "stats/group.def"
};

struct hew_stats_bin {
#define HEW_STATS_BIN(name, type, part, width, what) uint64_t name;
#include "stats/bin.def"
    struct hew_stats_mutex mutex;
};

struct hew_stats_lextent {
#define HEW_STATS_LEXTENT(name, type, part, width, what) uint64_t name;
#include "stats/lextent.def"
};

struct hew_stats_extents {
#define HEW_STATS_EXTENTS(name, type, width, what) uint64_t name;
#include "stats/extents.def"
};

/* One arena, or a sum of arenas. */
struct hew_stats_arena {
#define HEW_STATS_ARENA(name, type, merge, part, what) uint64_t name;
#include "stats/arena.def"
    struct hew_stats_group small, large;
    struct hew_stats_mutex mutexes[HEW_STATS_ARENA_MUTEXES];
    struct hew_stats_bin bins[HEW_STATS_BINS];
    struct hew_stats_lextent lextents[HEW_LARGE_CLASSES];
    struct hew_stats_extents extents[HEW_STOCK_BUCKETS];
    const char *dss;
    char name[HEW_ARENA_NAME_BYTES];
    bool present; /* in the snapshot */
};

extern const struct hew_stats_field hew_stats_total_fields[], hew_stats_mutex_fields[], hew_stats_group_fields[],
    hew_stats_bin_fields[], hew_stats_lextent_fields[], hew_stats_extents_fields[], hew_stats_arena_fields[],
    hew_stats_hpa_fields[], hew_stats_hpa_slabs_fields[], hew_stats_depot_fields[], hew_stats_peak_fields[],
    hew_stats_guard_fields[], hew_stats_tuned_fields[];
extern const char *const hew_stats_global_mutex_names[], *const hew_stats_arena_mutex_names[];

/* Smallest size in a bucket of unused extents: 4096, 8192 ... */
HEW_INLINE size_t
hew_stats_bucket_size(unsigned bucket)
{
    /* Four buckets a doubling from four pages on, like the large classes from 16 KiB: class 36 there is bucket 3. */
    return bucket < 3 ? (bucket + 1) * HEW_PAGE : hew_class_size(bucket - 3 + hew_class_index(4 * HEW_PAGE));
}

#endif
