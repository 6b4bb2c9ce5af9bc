/* SPDX-License-Identifier: MIT */
#include "control/remote/request.h"

#include "base/options.h"
#include "control/mallctl/ctl_tree.h"
#include "ctl_calls.h"
#include "layers_alloc.h"
#include "prof/profiler.h"
#include "test.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static char heard[1 << 20];

static const char *
ask(const char *request)
{
    static char line[4096];
    struct hew_reply reply = {.at = NULL};
    strcpy(line, request);
    hew_request_answer(line, strlen(request), &reply);
    size_t length = reply.length - reply.from;
    memcpy(heard, reply.at + reply.from, length);
    heard[length] = '\0';
    hew_reply_give(&reply);
    return heard;
}

TEST(each_type_is_written_as_it_is)
{
    CHECK(layers_boot());
    hew_cache_self = &hew_cache_gone; /* as in the thread that serves */
    CHECK_TEXT(ask("get config.stats"), "ok bool 4\ntrue\n");
    CHECK_TEXT(ask("get arenas.page"), "ok size 4\n4096\n");
    CHECK_TEXT(ask("set arenas.muzzy_decay_ms -1"), "ok void 0\n\n");
    CHECK_TEXT(ask("get arenas.muzzy_decay_ms"), "ok ssize 2\n-1\n");
    CHECK_TEXT(ask("get opt.dss"), "ok text 9\nsecondary\n");
    CHECK_TEXT(ask("get experimental.hooks.prof_dump"), "ok pointer 3\n0x0\n");
    CHECK_TEXT(ask("get max_background_threads"), "ok size 1\n4\n");
    CHECK(strncmp(ask("set max_background_threads 5"), "error value ", 12) == 0);
}

/* Asking for a name from outside must do no harm: here each one is asked for. */
TEST(every_name_can_be_asked_for)
{
    for (const struct hew_ctl_row *row = hew_ctl_rows; row->name[0] != '\0'; row++) {
        char name[HEW_CTL_NAME_MAX * 2], request[HEW_CTL_NAME_MAX * 2 + 16];
        ctl_concrete(row, "0", name);
        snprintf(request, sizeof request, "get %s", name);
        ask(request);
        bool answered = strncmp(heard, "ok ", 3) == 0 || strncmp(heard, "error ", 6) == 0;
        CHECK(answered);
        if (strncmp(heard, "ok ", 3) != 0 && (row->access & HEW_CTL_READ) != 0 && (row->access & HEW_CTL_PROF) == 0 &&
            strncmp(heard, "error not-permitted ", 20) != 0 && strncmp(heard, "error unknown ", 14) != 0) {
            CHECK(strcmp(name, "arenas.lookup") == 0);
        }
    }
    CHECK(strncmp(ask("get arenas.narenas"), "ok unsigned ", 12) == 0);
}

TEST(what_belongs_to_the_program_is_refused)
{
    static const char *const requests[] = {"get thread.arena",
                                           "set thread.arena 0",
                                           "do thread.idle",
                                           "get tcache.create",
                                           "set tcache.destroy 0",
                                           "get arenas.create",
                                           "do arena.0.reset",
                                           "do arena.0.destroy",
                                           "set arena.0.extent_hooks 4096",
                                           "set experimental.hooks.safety_check_abort 4096",
                                           "get experimental.arenas_create_ext",
                                           "get experimental.batch_alloc"};
    for (unsigned i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        CHECK(strncmp(ask(requests[i]), "error not-permitted ", 20) == 0);
    }
}

TEST(a_list_of_names_has_only_those_that_can_be_used)
{
    CHECK(strstr(ask("names"), "\narenas.dirty_decay_ms ssize get,set\n") != NULL);
    CHECK(strstr(heard, "\narena.<i>.purge void do\n") != NULL);
    CHECK(strstr(heard, "\nopt.prof bool get\n") != NULL);
    CHECK(strstr(heard, "thread.arena") == NULL && strstr(heard, " struct ") == NULL &&
          strstr(heard, ".reset void") != NULL);
    CHECK(strstr(heard, "arena.<i>.reset") == NULL && strstr(heard, "safety_check_abort") == NULL);
    CHECK(strstr(ask("settings"), "\ntcache_max\n") != NULL);
}

/* The second thread has the second arena; it asks who else allocates. */
static void *
another_thread(void *unused)
{
    unsigned first = 0, second = 0, arenas[2] = {9, 9};
    unsigned long requests[2] = {0, 0}, held[2] = {0, 0};
    layers_free(layers_malloc(48));
    int read = sscanf(ask("threads"), "ok text %*u\n%u %u %lu %lu\n%u %u %lu %lu\n", &first, &arenas[0], &requests[0],
                      &held[0], &second, &arenas[1], &requests[1], &held[1]);
    CHECK_EQUAL(read, 8);
    CHECK(first == (unsigned)getpid() && arenas[0] == 0 && requests[0] >= 100 && held[0] >= 48);
    CHECK(second == (unsigned)gettid() && arenas[1] == 1 && requests[1] == 1);
    layers_end_thread();
    return unused;
}

TEST(each_thread_is_listed_with_its_arena_while_it_lives)
{
    pthread_t thread;
    hew_cache_self = &hew_cache_none;
    layers_free(layers_malloc(48));
    CHECK_TEXT(ask("threads"), "ok text 0\n\n"); /* no thread is asked, so none answers */
    layers_end_thread();
    strcpy(hew_options.control, "auto");
    for (unsigned turn = 0; turn < 100; turn++) {
        layers_free(layers_malloc(48));
    }
    CHECK(pthread_create(&thread, NULL, another_thread, NULL) == 0 && pthread_join(thread, NULL) == 0);
    CHECK(strchr(ask("threads"), '\n') + 1 != strrchr(heard, '\n') && strstr(heard, " 1 0 ") == NULL);
    hew_options.control[0] = '\0';
    hew_cache_self = &hew_cache_gone;
}

TEST(each_live_sample_is_told_with_its_stack_and_slab)
{
    unsigned long requested = 0, usable = 0, weight = 0, thread = 0, regions = 0, unused = 0, bytes = 0;
    CHECK(strncmp(ask("samples"), "error not-permitted ", 20) == 0);
    CHECK(strncmp(ask("samples all"), "error malformed ", 16) == 0);
    layers_attend = hew_prof_attend;
    layers_sample_freed = hew_prof_freed;
    layers_keep_place = hew_prof_keep_place;
    hew_options.prof = hew_options.prof_slabs = true;
    hew_options.lg_prof_sample = 0;
    hew_prof_boot();
    hew_cache_self = &hew_cache_none;
    hew_prof_birth(hew_alloc_own_cache());
    snprintf(hew_prof_thread_of(hew_prof_own())->name, HEW_PROF_NAME_BYTES, "a\nname");
    void *object = layers_malloc(100);
    ask("samples");
    CHECK(strncmp(heard, "ok text ", 8) == 0 && strstr(heard, "\n@ 0x") != NULL);
    const char *row = strstr(strstr(heard, "\n@ ") + 1, "\n ");
    CHECK(row != NULL && sscanf(row, " %lu %lu %lu %*u %lu %lu %lu %lu", &requested, &usable, &weight, &thread,
                                &regions, &unused, &bytes) == 7);
    CHECK(requested == 100 && usable == 112 && weight == 1 << HEW_WEIGHT_SHIFT);
    CHECK(regions == bytes / 112 && unused < regions && strstr(row, " a?name\n") != NULL);
    layers_free(object);
    CHECK_TEXT(ask("samples"), "ok text 0\n\n");
    hew_prof_death(hew_alloc_own_cache());
    layers_end_thread();
    hew_options.prof = hew_options.prof_slabs = false;
    layers_attend = NULL;
    hew_cache_self = &hew_cache_gone;
}

TEST(a_number_must_fit_its_type)
{
    CHECK(strncmp(ask("set arenas.dirty_decay_ms 9223372036854775807"), "ok ", 3) == 0);
    CHECK(strncmp(ask("set arenas.dirty_decay_ms 9223372036854775808"), "error value ", 12) == 0);
    CHECK(strncmp(ask("set epoch 18446744073709551615"), "ok ", 3) == 0);
    CHECK(strncmp(ask("set epoch 18446744073709551616"), "error value ", 12) == 0);
    CHECK(strncmp(ask("set epoch -1"), "error value ", 12) == 0);
    CHECK(strncmp(ask("set epoch 0x10"), "error value ", 12) == 0);
    CHECK(strncmp(ask("set epoch"), "error value ", 12) == 0);
}
