/* SPDX-License-Identifier: MIT */
/*
 * thread_exit: allocation while a thread ends, and what is left when thousands have ended.
 *
 * pthread keys whose destructors allocate and set themselves again, destructors of C++ thread_local objects, objects
 * that outlive their thread, detached threads; last a churn of 10,000 threads whose end must find RSS near its start.
 *
 * Settings: HEW_CHURN_THREADS (default 10,000).
 */
#include "under_test.h"
#include "unit/test.h"

#include <pthread.h>
#include <semaphore.h>

#include <atomic>
#include <limits.h>
#include <string>
#include <vector>

namespace
{

constexpr int keys = 8;
pthread_key_t key[keys];
std::atomic<long> destructor_runs, wrong_contents;

struct Parcel {
    int rounds_left;
    int key_index;
    unsigned char *object;
};

void
use_the_allocator()
{
    for (std::size_t size = 8; size <= 300000; size = size * 3 + 8) {
        unsigned char *object = static_cast<unsigned char *>(malloc(size));
        object[0] = object[size - 1] = 0x77;
        object = static_cast<unsigned char *>(realloc(object, size * 2));
        if (object[0] != 0x77 || object[size - 1] != 0x77)
            wrong_contents++;
        free(object);
        free(calloc(3, size / 2));
    }
}

/* Sets its key again until PTHREAD_DESTRUCTOR_ITERATIONS is nearly used up: the allocator's own key, if it has one, has
 * been destroyed by then, perhaps more than once. */
void
destroy_parcel(void *argument)
{
    Parcel *parcel = static_cast<Parcel *>(argument);
    destructor_runs++;
    use_the_allocator();
    if (parcel->object[0] != 0x42)
        wrong_contents++;
    free(parcel->object);
    if (parcel->rounds_left == 0) {
        free(parcel);
        return;
    }
    Parcel *next = static_cast<Parcel *>(malloc(sizeof *next));
    *next = {parcel->rounds_left - 1, parcel->key_index, static_cast<unsigned char *>(malloc(500))};
    next->object[0] = 0x42;
    free(parcel);
    pthread_setspecific(key[next->key_index], next);
}

void *
leave_parcels(void *argument)
{
    for (int i = 0; i < keys; i++) {
        Parcel *parcel = static_cast<Parcel *>(malloc(sizeof *parcel));
        *parcel = {PTHREAD_DESTRUCTOR_ITERATIONS - 1, i, static_cast<unsigned char *>(malloc(500))};
        parcel->object[0] = 0x42;
        pthread_setspecific(key[i], parcel);
    }
    return argument;
}

/* The thread never allocated before: its first malloc is in a destructor. */
void
allocate_first_in_destructor(void *)
{
    destructor_runs++;
    use_the_allocator();
}

class LocalOwner
{
  public:
    void
    add(std::size_t size)
    {
        strings_.emplace_back(size, 'x');
    }
    ~LocalOwner()
    {
        std::vector<std::string> copy = strings_;
        for (const auto &text : copy) {
            if (text.find_first_not_of('x') != std::string::npos)
                wrong_contents++;
        }
        destructor_runs++;
        use_the_allocator();
    }

  private:
    std::vector<std::string> strings_;
};

thread_local LocalOwner local_owner;

void *
own_locally(void *argument)
{
    for (std::size_t i = 0; i < 50; i++)
        local_owner.add(i * 20);
    return argument;
}

void *
make_orphans(void *argument)
{
    auto **orphan = static_cast<unsigned char **>(argument);
    for (std::size_t i = 0; i < 200; i++) {
        orphan[i] = static_cast<unsigned char *>(malloc(i * 53 + 1));
        memset(orphan[i], static_cast<int>(i), i * 53 + 1);
    }
    return nullptr;
}

sem_t detached_done;

void *
live_detached(void *argument)
{
    use_the_allocator();
    sem_post(&detached_done);
    return argument;
}

void *
live_briefly(void *argument)
{
    unsigned char *object[40];
    std::uint64_t random = reinterpret_cast<std::uintptr_t>(argument);
    for (auto &place : object) {
        std::size_t size = under_test_random(&random) % 4000 + 1;
        place = static_cast<unsigned char *>(malloc(size));
        place[0] = place[size - 1] = 1;
    }
    for (auto &place : object)
        free(place);
    return nullptr;
}

void
churn(long threads)
{
    constexpr long at_once = 8;
    pthread_t thread[at_once];
    for (long i = 0; i < threads; i += at_once) {
        for (long k = 0; k < at_once; k++)
            CHECK(pthread_create(&thread[k], nullptr, live_briefly, reinterpret_cast<void *>(i + k)) == 0);
        for (long k = 0; k < at_once; k++)
            pthread_join(thread[k], nullptr);
    }
}

void
run_threads(int count, void *(*body)(void *))
{
    for (int i = 0; i < count; i++) {
        pthread_t thread[4];
        for (auto &each : thread)
            CHECK(pthread_create(&each, nullptr, body, nullptr) == 0);
        for (auto &each : thread)
            pthread_join(each, nullptr);
    }
}

} // namespace

TEST(key_destructors_allocate_and_free_in_every_iteration)
{
    destructor_runs = wrong_contents = 0;
    for (auto &each : key)
        CHECK(pthread_key_create(&each, destroy_parcel) == 0);
    run_threads(50, leave_parcels);
    CHECK_EQUAL(destructor_runs, 50 * 4 * keys * PTHREAD_DESTRUCTOR_ITERATIONS);
    CHECK_EQUAL(wrong_contents, 0);
    for (auto &each : key)
        pthread_key_delete(each);
}

TEST(a_thread_may_allocate_for_the_first_time_in_a_key_destructor)
{
    static pthread_key_t late;
    destructor_runs = wrong_contents = 0;
    CHECK(pthread_key_create(&late, allocate_first_in_destructor) == 0);
    run_threads(50, [](void *) -> void * {
        pthread_setspecific(late, &late);
        return nullptr;
    });
    CHECK_EQUAL(destructor_runs, 200);
    CHECK_EQUAL(wrong_contents, 0);
    pthread_key_delete(late);
}

TEST(destructors_of_thread_local_objects_allocate_and_free)
{
    destructor_runs = wrong_contents = 0;
    run_threads(100, own_locally);
    CHECK_EQUAL(destructor_runs, 400);
    CHECK_EQUAL(wrong_contents, 0);
}

TEST(objects_outlive_their_thread_and_are_freed_by_another)
{
    for (int round = 0; round < 100; round++) {
        unsigned char *orphan[200];
        pthread_t thread;
        CHECK(pthread_create(&thread, nullptr, make_orphans, orphan) == 0);
        pthread_join(thread, nullptr);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < 200; i++) {
            const unsigned char written = static_cast<unsigned char>(i);
            wrong += orphan[i][0] != written || orphan[i][i * 53] != written;
            if (i % 3 == 0)
                orphan[i] = static_cast<unsigned char *>(realloc(orphan[i], i * 90 + 1));
            free(orphan[i]);
        }
        CHECK_EQUAL(wrong, 0);
    }
}

TEST(detached_threads_come_and_go)
{
    pthread_attr_t detached;
    wrong_contents = 0;
    sem_init(&detached_done, 0, 0);
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    for (int round = 0; round < 100; round++) {
        pthread_t thread;
        for (int i = 0; i < 4; i++)
            CHECK(pthread_create(&thread, &detached, live_detached, nullptr) == 0);
        for (int i = 0; i < 4; i++)
            sem_wait(&detached_done);
    }
    pthread_attr_destroy(&detached);
    CHECK_EQUAL(wrong_contents, 0);
}

TEST(pthread_exit_and_cancellation_leave_the_allocator_whole)
{
    for (int round = 0; round < 100; round++) {
        pthread_t leaving, cancelled;
        CHECK(pthread_create(
                  &leaving, nullptr,
                  [](void *) -> void * {
                      own_locally(nullptr);
                      pthread_exit(nullptr);
                  },
                  nullptr) == 0);
        CHECK(pthread_create(
                  &cancelled, nullptr,
                  [](void *) -> void * {
                      for (;;) {
                          use_the_allocator();
                          pthread_testcancel();
                      }
                  },
                  nullptr) == 0);
        pthread_cancel(cancelled);
        pthread_join(leaving, nullptr);
        pthread_join(cancelled, nullptr);
    }
    use_the_allocator();
    CHECK_EQUAL(wrong_contents, 0);
}

/* Waits until all threads are gone but this one and the allocator's own. */
static void
wait_until_alone()
{
    for (long look = 0; under_test_threads() > 2 && look < 60000; look++)
        under_test_sleep_ms(1);
}

/* At its end a detached thread frees the thread data of stacks that glibc no longer keeps. */
static void
be_idle_detached(int threads)
{
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    for (int round = 0; round < threads / 20; round++) {
        for (int i = 0; i < 20; i++) {
            pthread_t thread;
            CHECK(pthread_create(
                      &thread, &detached,
                      [](void *) -> void * {
                          sem_wait(&detached_done);
                          return nullptr;
                      },
                      nullptr) == 0);
        }
        for (int i = 0; i < 20; i++)
            sem_post(&detached_done);
        wait_until_alone();
    }
    pthread_attr_destroy(&detached);
}

TEST(threads_that_never_allocate_leave_no_cache_behind)
{
    sem_init(&detached_done, 0, 0);
    be_idle_detached(400);
    long before = under_test_rss_kib();
    be_idle_detached(4000);
    long after = under_test_rss_kib();
    printf("RSS %ld KiB before, %ld KiB after\n", before, after);
    CHECK(after <= before + 2 * 1024);
}

TEST(ten_thousand_threads_leave_the_process_as_small_as_before)
{
    churn(400);
    long before = under_test_rss_kib();
    churn(under_test_setting("HEW_CHURN_THREADS", 10000));
    long after = under_test_rss_kib();
    printf("RSS %ld KiB before, %ld KiB after\n", before, after);
    CHECK(after <= before + 8 * 1024);
}
