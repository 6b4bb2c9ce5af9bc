/* SPDX-License-Identifier: MIT */
/*
 * huge_page_pools: pools in a region of huge pages that the program has reserved.
 *
 *     cc huge_page_pools.c -lhew
 *
 * The region is cut from its beginning, and what is returned is taken again only when it was the last piece: pools
 * ask for few and large pieces.
 */
#include <hew/pool.h>

#include <stdio.h>
#include <sys/mman.h>

#define REGION_SIZE ((size_t)64 << 20)
#define HUGE_PAGE ((size_t)2 << 20)

struct region {
    char *begin, *next, *end;
};

/* The system's reserve of huge pages, if it has enough (without MAP_NORESERVE it says so now, not by SIGBUS later); else
 * ordinary pages, which it may join to huge ones. */
static int
reserve(struct region *region)
{
    int how = MAP_PRIVATE | MAP_ANONYMOUS;
    char *memory = mmap(NULL, REGION_SIZE, PROT_READ | PROT_WRITE, how | MAP_HUGETLB, -1, 0);
    if (memory == MAP_FAILED) {
        memory = mmap(NULL, REGION_SIZE + HUGE_PAGE, PROT_READ | PROT_WRITE, how | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) {
            return -1;
        }
        memory += -(size_t)memory & (HUGE_PAGE - 1);
        madvise(memory, REGION_SIZE, MADV_HUGEPAGE);
    }
    *region = (struct region){memory, memory, memory + REGION_SIZE};
    return 0;
}

/* A set calls these two one after the other, but two sets may at once: a region for each, or a lock. */
static void *
take(void *context, size_t size, size_t alignment)
{
    struct region *region = context;
    size_t skipped = -(size_t)region->next & (alignment - 1), left = (size_t)(region->end - region->next);
    if (skipped > left || size > left - skipped) {
        return NULL;
    }
    char *piece = region->next + skipped;
    region->next = piece + size;
    return piece;
}

static void
give(void *context, void *piece, size_t size)
{
    struct region *region = context;
    if ((char *)piece + size == region->next) {
        region->next = piece;
    }
}

int
main(void)
{
    struct region region;
    if (reserve(&region) != 0) {
        perror("huge_page_pools: a region");
        return 1;
    }
    const struct hew_pool_source source = {.take = take, .give = give, .context = &region};
    const struct hew_pool_options options = {.source = &source, .touch = true};
    const struct hew_pool_size sizes[] = {{64, 100000}, {256, 20000}, {4096, 1000}};
    struct hew_pool_set *set = hew_pool_create(sizes, 3, &options);
    if (set == NULL) {
        perror("huge_page_pools: a pool set");
        return 1;
    }
    char *object = hew_pool_malloc(set, 200);
    int inside = object >= region.begin && object < region.end;
    printf("an object of %zu bytes, %s the region\n", hew_pool_usable_size(set, object), inside ? "in" : "outside");
    hew_pool_free(set, object);
    return hew_pool_destroy(set) != 0 || !inside;
}
