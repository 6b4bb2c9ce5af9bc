/* SPDX-License-Identifier: MIT */
/*
 * store: an in-memory key-value store whose keys expire.
 *
 * One thread serves SET, GET, APPEND and DELETE on random keys.  A clock that counts operations expires what is old, a
 * few buckets per operation, as such stores do.  Values are small with a tail up to 16 KiB; the table doubles as it
 * fills.  The heap is at its largest most of the time and every hole is of another size: fragmentation shows in RSS.
 */
#include "workload.h"

struct entry {
    struct entry *next;
    char *key;
    unsigned char *value;
    size_t length;
    uint64_t expires;
    uint64_t hash;
};

struct store {
    struct entry **bucket;
    size_t buckets;
    size_t entries;
    size_t sweep_at;
    uint64_t now;
    uint64_t expired;
};

static long operations = 4000000, keys = 200000, life = 400000;

static struct entry **
find(struct store *store, const char *key, uint64_t hash)
{
    struct entry **link = &store->bucket[hash & (store->buckets - 1)];
    while (*link != NULL && ((*link)->hash != hash || strcmp((*link)->key, key) != 0))
        link = &(*link)->next;
    return link;
}

static void
unlink_entry(struct store *store, struct entry **link)
{
    struct entry *entry = *link;
    *link = entry->next;
    free(entry->key);
    free(entry->value);
    free(entry);
    store->entries--;
}

static void
resize_table(struct store *store, size_t buckets)
{
    struct entry **fresh = calloc(buckets, sizeof(struct entry *));
    if (fresh == NULL)
        workload_fail("store", "out of memory");
    for (size_t i = 0; i < store->buckets; i++) {
        for (struct entry *entry = store->bucket[i], *next; entry != NULL; entry = next) {
            struct entry **link = &fresh[entry->hash & (buckets - 1)];
            next = entry->next;
            entry->next = *link;
            *link = entry;
        }
    }
    free(store->bucket);
    store->bucket = fresh;
    store->buckets = buckets;
}

static size_t
draw_length(uint64_t *random)
{
    return workload_random(random) % 64 == 0 ? workload_log_size(random, 9, 14) : workload_between(random, 8, 400);
}

static void
set(struct store *store, const char *key, uint64_t hash, uint64_t *random)
{
    struct entry **link = find(store, key, hash), *entry = *link;
    if (entry == NULL) {
        entry = workload_take(sizeof *entry);
        entry->next = NULL;
        entry->key = workload_take(strlen(key) + 1);
        strcpy(entry->key, key);
        entry->hash = hash;
        *link = entry;
        store->entries++;
    } else {
        free(entry->value);
    }
    entry->length = draw_length(random);
    entry->value = workload_take(entry->length);
    memset(entry->value, (int)(hash & 0xff), entry->length);
    entry->expires = store->now + workload_between(random, 1, 2 * (uint64_t)life);
    if (store->entries > store->buckets)
        resize_table(store, store->buckets * 2);
}

static uint64_t
get(struct store *store, const char *key, uint64_t hash)
{
    struct entry *entry = *find(store, key, hash);
    if (entry == NULL)
        return 0;
    if (entry->value[0] != (hash & 0xff) || entry->value[entry->length - 1] != (hash & 0xff))
        workload_fail("store", "a value has changed while it was stored");
    return entry->length;
}

static void
append(struct store *store, const char *key, uint64_t hash, uint64_t *random)
{
    struct entry *entry = *find(store, key, hash);
    if (entry == NULL || entry->length > 1 << 15)
        return;
    size_t more = (size_t)workload_between(random, 1, 200);
    entry->value = workload_grow(entry->value, entry->length + more);
    memset(entry->value + entry->length, (int)(hash & 0xff), more);
    entry->length += more;
}

static void
expire_some(struct store *store)
{
    struct entry **link = &store->bucket[store->sweep_at++ & (store->buckets - 1)];
    while (*link != NULL) {
        if ((*link)->expires <= store->now) {
            unlink_entry(store, link);
            store->expired++;
        } else {
            link = &(*link)->next;
        }
    }
}

static uint64_t
serve(struct store *store, uint64_t *random)
{
    char key[64];
    uint64_t number = workload_random(random) % (uint64_t)keys, hash = workload_scramble(number), result = 0;
    snprintf(key, sizeof key, "user:%llu:%.*s", (unsigned long long)number, (int)(number % 24),
             "a key with a long tail of its own");
    switch (workload_random(random) % 10) {
    case 0:
    case 1:
    case 2:
    case 3:
        set(store, key, hash, random);
        break;
    case 4: {
        struct entry **link = find(store, key, hash);
        if (*link != NULL)
            unlink_entry(store, link);
        break;
    }
    case 5:
        append(store, key, hash, random);
        break;
    default:
        result = get(store, key, hash);
    }
    store->now++;
    expire_some(store);
    return result;
}

int
main(int argc, char **argv)
{
    const struct workload_option options[] = {
        {"ops", &operations, "commands served"},
        {"keys", &keys, "different keys"},
        {"life", &life, "mean life of a value, in commands"},
    };
    workload_parse(argc, argv, "Key-value store with expiry: one thread, a large heap of mixed sizes.", options, 3);
    workload_require("keys", keys, 1, 1l << 40);
    workload_require("life", life, 1, 1l << 40);
    struct store store = {NULL, 0, 0, 0, 0, 0};
    uint64_t random = 23, checksum = 0;
    double start = workload_seconds();
    resize_table(&store, 1024);
    for (long i = 0; i < operations; i++)
        checksum = workload_mix(checksum, serve(&store, &random));
    checksum = workload_mix(checksum, store.expired);
    fprintf(stderr, "store: %ld KiB RSS with %zu entries\n", workload_rss_kib(), store.entries);
    for (size_t i = 0; i < store.buckets; i++) {
        while (store.bucket[i] != NULL)
            unlink_entry(&store, &store.bucket[i]);
    }
    free(store.bucket);
    workload_report("store", (uint64_t)operations, workload_seconds() - start, checksum);
    return 0;
}
