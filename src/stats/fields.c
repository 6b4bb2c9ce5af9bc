/* SPDX-License-Identifier: MIT */
#include "stats/fields.h"

#define ROW(name, type, merge, part, width) {#name, HEW_STATS_##type, HEW_STATS_##merge, HEW_STATS_##part, width},
#define LAST {"", 0, 0, 0, 0}

const struct hew_stats_field hew_stats_total_fields[] = {
#define HEW_STATS_TOTAL(name, type, what) ROW(name, type, ADD, JSON, 0)
#include "stats/totals.def"
    LAST,
};

const struct hew_stats_field hew_stats_depot_fields[] = {
#define HEW_STATS_DEPOT(name, type, what) ROW(name, type, ADD, JSON, 0)
#include "stats/depot.def"
    LAST,
};

const struct hew_stats_field hew_stats_peak_fields[] = {
#define HEW_STATS_PEAK(name, type, what) ROW(name, type, ADD, JSON, 0)
#include "stats/peak.def"
    LAST,
};

const struct hew_stats_field hew_stats_guard_fields[] = {
#define HEW_STATS_GUARD(name, type, what) ROW(name, type, ADD, JSON, 0)
#include "stats/guard.def"
    LAST,
};

const struct hew_stats_field hew_stats_arena_fields[] = {
#define HEW_STATS_ARENA(name, type, merge, part, what) ROW(name, type, merge, part, 0)
#include "stats/arena.def"
    LAST,
};

const struct hew_stats_field hew_stats_group_fields[] = {
#define HEW_STATS_GROUP(name, type, what) ROW(name, type, ADD, JSON, 15)
#include "stats/group.def"
    LAST,
};

const struct hew_stats_field hew_stats_bin_fields[] = {
#define HEW_STATS_BIN(name, type, part, width, what) ROW(name, type, ADD, part, width)
#include "stats/bin.def"
    LAST,
};

const struct hew_stats_field hew_stats_lextent_fields[] = {
#define HEW_STATS_LEXTENT(name, type, part, width, what) ROW(name, type, ADD, part, width)
#include "stats/lextent.def"
    LAST,
};

const struct hew_stats_field hew_stats_extents_fields[] = {
#define HEW_STATS_EXTENTS(name, type, width, what) ROW(name, type, ADD, JSON, width)
#include "stats/extents.def"
    LAST,
};

const struct hew_stats_field hew_stats_hpa_fields[] = {
#define HEW_STATS_HPA(name, type) ROW(name, type, ADD, JSON, 0)
#define HEW_STATS_HPA_SLABS(name, type)
#include "stats/hpa.def"
    LAST,
};

const struct hew_stats_field hew_stats_hpa_slabs_fields[] = {
#define HEW_STATS_HPA(name, type)
#define HEW_STATS_HPA_SLABS(name, type) ROW(name, type, ADD, JSON, 0)
#include "stats/hpa.def"
    LAST,
};

const char *const hew_stats_global_mutex_names[] = {
#define HEW_STATS_GLOBAL_MUTEX(name, what) #name,
#define HEW_STATS_ARENA_MUTEX(name, what)
#include "stats/mutex.def"
    NULL,
};

const char *const hew_stats_arena_mutex_names[] = {
#define HEW_STATS_GLOBAL_MUTEX(name, what)
#define HEW_STATS_ARENA_MUTEX(name, what) #name,
#include "stats/mutex.def"
    NULL,
};

const struct hew_stats_field hew_stats_mutex_fields[] = {
#define MUTEX_ROW(of, name, type, merge, width, what) ROW(name, type, merge, JSON, width)
    HEW_STATS_MUTEX_FIELDS(MUTEX_ROW, ) LAST,
};
