/* SPDX-License-Identifier: MIT */
/* work: what is told of a thread's operations. */
#include "cache/work.h"

#include "one_thread.h"

#include "cache/count.h"

/* So many operations, most of them hits. */
static void
operate(struct hew_cache *cache, unsigned operations)
{
    for (unsigned i = 0; i < operations / 2; i++) {
        give(cache, CODE, take(cache, CODE));
    }
}

TEST(while_nobody_listens_nothing_is_told)
{
    struct hew_cache *cache = new_cache();
    uint64_t before = hew_work_told();
    operate(cache, 1000);
    hew_work_tell(cache);
    work(cache, CODE, 1000, 2000); /* with misses of its own */
    CHECK_EQUAL(hew_work_told(), before);
    end_cache();
}

TEST(what_a_thread_has_done_since_it_first_heard_is_told_and_once)
{
    struct hew_cache *cache = new_cache();
    operate(cache, 1000);
    hew_work_listen(true);
    uint64_t before = hew_work_told();
    hew_work_tell(cache);
    CHECK_EQUAL(hew_work_told(), before); /* when that was done is not known */
    operate(cache, 1000);
    hew_work_tell(cache);
    CHECK_EQUAL(hew_work_told(), before + 1000);
    hew_work_tell(cache);
    CHECK_EQUAL(hew_work_told(), before + 1000);
    hew_work_listen(true); /* still */
    operate(cache, 10);
    hew_work_tell(cache);
    CHECK_EQUAL(hew_work_told(), before + 1010);
    hew_work_listen(false);
    operate(cache, 1000);
    hew_work_tell(cache);
    hew_work_listen(true);
    operate(cache, 1000);
    hew_work_tell(cache);
    CHECK_EQUAL(hew_work_told(), before + 1010); /* who listens anew gets nothing from before */
    hew_work_listen(false);
    end_cache();
}

TEST(counts_that_begin_anew_in_between_tell_nothing_once)
{
    struct hew_cache *cache = new_cache();
    operate(cache, 1000);
    hew_work_listen(true);
    hew_work_tell(cache);
    uint64_t before = hew_work_told();
    hew_mutex_lock(&hew_caches_lock);
    hew_count_forget(cache, CODE);
    hew_mutex_unlock(&hew_caches_lock);
    hew_work_tell(cache);
    CHECK_EQUAL(hew_work_told(), before);
    operate(cache, 100);
    hew_work_tell(cache);
    CHECK_EQUAL(hew_work_told(), before + 100);
    hew_work_listen(false);
    end_cache();
}

/* With objects that live: they are no sign that the thread makes for others. */
TEST(counts_that_begin_anew_leave_bytes_as_they_were)
{
    struct hew_cache *cache = new_cache();
    take_many(cache, CODE, 3000);
    give_many(cache, CODE, 1000);
    uint64_t allocated = hew_count_allocated(cache), freed = hew_count_freed(cache);
    hew_mutex_lock(&hew_caches_lock);
    hew_count_forget(cache, CODE);
    hew_mutex_unlock(&hew_caches_lock);
    CHECK(hew_cache_requests(cache, CODE) == 0 && hew_cache_frees(cache, CODE) == 0);
    CHECK(hew_count_allocated(cache) == allocated && hew_count_freed(cache) == freed);
    for (unsigned i = 1000; i < 3000; i++) {
        give(cache, CODE, objects[i]);
    }
    CHECK_EQUAL(hew_cache_frees(cache, CODE), 2000);
    CHECK_EQUAL(hew_count_freed(cache) - freed, 2000 * hew_code_size(CODE));
    end_cache();
}

TEST(threads_that_miss_tell_by_themselves)
{
    struct hew_cache *cache = new_cache();
    hew_work_listen(true);
    work(cache, CODE, 20, 4000);
    uint64_t before = hew_work_told();
    work(cache, CODE, 100, 4000);
    uint64_t told = hew_work_told() - before, done = 2 * 100 * 4000;
    CHECK(told > done * 9 / 10 && told < done * 11 / 10);
    hew_work_listen(false);
    end_cache();
}
