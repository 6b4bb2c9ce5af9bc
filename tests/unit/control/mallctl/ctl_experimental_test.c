/* SPDX-License-Identifier: MIT */
#include "alloc/flags.h"
#include "alloc/utilization.h"
#include "ctl_calls.h"
#include "layers_alloc.h"
#include "os/fatal.h"
#include "test.h"

#include <setjmp.h>
#include <sys/wait.h>
#include <unistd.h>

static void
boot_once(void)
{
    if (hew_small_end == 0) {
        CHECK(layers_boot());
    }
}

TEST(query_answers_in_the_order_that_programs_know)
{
    boot_once();
    void *object = layers_malloc(100);
    struct {
        void *slab;
        size_t free_regions, regions, bytes, bin_free, bin_regions;
    } answer;
    size_t length = sizeof answer;
    CHECK_EQUAL(hew_ctl_by_name("experimental.utilization.query", &answer, &length, &object, sizeof object), 0);
    struct hew_extent *slab = hew_map_extent((uintptr_t)object);
    CHECK_EQUAL((uintptr_t)answer.slab, slab->address);
    CHECK_EQUAL(answer.bytes, slab->size);
    CHECK_EQUAL(answer.regions, slab->size / 112);
    CHECK(answer.free_regions < answer.regions && answer.bin_regions >= answer.regions);
    layers_free(object);
}

TEST(a_query_about_what_is_not_ours_is_EINVAL)
{
    boot_once();
    unsigned char answer[48];
    size_t length = sizeof answer;
    void *foreign = &length, *nothing = NULL;
    CHECK_EQUAL(hew_ctl_by_name("experimental.utilization.query", answer, &length, &foreign, sizeof foreign), EINVAL);
    CHECK_EQUAL(hew_ctl_by_name("experimental.utilization.query", answer, &length, &nothing, sizeof nothing), EINVAL);
    CHECK_EQUAL(length, sizeof answer);
    length = 40;
    CHECK_EQUAL(hew_ctl_by_name("experimental.utilization.query", answer, &length, &foreign, sizeof foreign), EINVAL);
    CHECK_EQUAL(ctl_do("experimental.utilization.query"), EINVAL);
}

TEST(a_batch_of_queries_has_an_answer_each)
{
    boot_once();
    void *objects[3] = {layers_malloc(8), layers_malloc(1000), layers_malloc(50000)};
    size_t answers[9], length = sizeof answers;
    CHECK_EQUAL(hew_ctl_by_name("experimental.utilization.batch_query", answers, &length, objects, sizeof objects), 0);
    for (unsigned i = 0; i < 3; i++) {
        CHECK_EQUAL(answers[i * 3 + 2], hew_map_extent((uintptr_t)objects[i])->size);
    }
    CHECK(answers[6] == 0 && answers[7] == 1);
    void *foreign[3] = {objects[2], &length, objects[0]};
    CHECK_EQUAL(hew_ctl_by_name("experimental.utilization.batch_query", answers, &length, foreign, sizeof foreign),
                EINVAL);
    CHECK(answers[7] == 1 && answers[8] == hew_map_extent((uintptr_t)objects[2])->size);
    static const struct {
        size_t old, new;
    } wrong[] = {{72, 23}, {72, 16}, {71, 24}, {0, 0}, {0, 24}, {72, 0}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        length = wrong[i].old;
        CHECK_EQUAL(hew_ctl_by_name("experimental.utilization.batch_query", answers, &length, objects, wrong[i].new),
                    EINVAL);
    }
    for (unsigned i = 0; i < 3; i++) {
        layers_free(objects[i]);
    }
}

TEST(a_batch_of_objects_is_as_many_as_asked_for)
{
    boot_once();
    void *objects[100];
    size_t got = 0, length = sizeof got;
    struct hew_batch batch = {objects, 100, 48, 0};
    CHECK_EQUAL(hew_ctl_by_name("experimental.batch_alloc", &got, &length, &batch, sizeof batch), 0);
    CHECK_EQUAL(got, 100);
    for (unsigned i = 0; i < 100; i++) {
        CHECK_EQUAL(hew_alloc_usable("test", objects[i]), 48);
        layers_free(objects[i]);
    }
    batch.objects = NULL;
    CHECK_EQUAL(hew_ctl_by_name("experimental.batch_alloc", &got, &length, &batch, sizeof batch), EINVAL);
    CHECK_EQUAL(hew_ctl_by_name("experimental.batch_alloc", &got, &length, &batch, 24), EINVAL);
    length = 4;
    CHECK_EQUAL(hew_ctl_by_name("experimental.batch_alloc", &got, &length, &batch, sizeof batch), EINVAL);
    CHECK_EQUAL(length, 0);
}

static jmp_buf before_the_end;
static char heard[512];

static void
hear(const char *line)
{
    strcpy(heard, line);
    longjmp(before_the_end, 1);
}

TEST(the_hook_of_safety_checks_hears_the_last_line)
{
    void (*hook)(const char *) = hear, (*none)(const char *) = NULL;
    CHECK_EQUAL(ctl_write("experimental.hooks.safety_check_abort", &hook, sizeof hook), 0);
    if (setjmp(before_the_end) == 0) {
        hew_fatal(HEW_FATAL_out_of_memory, "test", 0x10, NULL);
    }
    CHECK(strncmp(heard, "<hew>: test(0x10): ", 19) == 0);
    CHECK_EQUAL(ctl_write("experimental.hooks.safety_check_abort", &none, 4), EINVAL);
    CHECK_EQUAL(ctl_write("experimental.hooks.safety_check_abort", &none, sizeof none), 0);
}

TEST(names_of_events_at_every_allocation_are_unknown)
{
    void *hook = NULL;
    CHECK_EQUAL(ctl_read("experimental.hooks.install", &hook, sizeof hook), ENOENT);
    CHECK_EQUAL(ctl_write("experimental.hooks.remove", &hook, sizeof hook), ENOENT);
    CHECK_EQUAL(ctl_write("experimental.hooks.thread_event", &hook, sizeof hook), ENOENT);
}

TEST(the_count_of_active_pages_can_be_watched)
{
    boot_once();
    size_t *pages = NULL, length = sizeof pages;
    void *first = layers_malloc(100);
    char name[64];
    snprintf(name, sizeof name, "experimental.arenas.%u.pactivep", hew_alloc_own_cache()->arena->index);
    CHECK_EQUAL(ctl_read(name, &pages, sizeof pages), 0);
    size_t before = pages == NULL ? 0 : *pages;
    void *large = layers_malloc(2 * HEW_CACHED_MAX);
    CHECK_EQUAL(*pages, before + 2 * HEW_CACHED_MAX / HEW_PAGE);
    layers_free(large);
    CHECK_EQUAL(*pages, before);
    CHECK_EQUAL(ctl_do(name), EINVAL);
    CHECK_EQUAL(hew_ctl_by_name(name, &pages, &length, &before, sizeof before), EPERM);
    length = 4;
    CHECK_EQUAL(hew_ctl_by_name(name, &pages, &length, NULL, 0), EINVAL);
    CHECK_EQUAL(ctl_read("experimental.arenas.4096.pactivep", &pages, sizeof pages), EFAULT);
    CHECK_EQUAL(ctl_read("experimental.arenas.4095.pactivep", &pages, sizeof pages), ENOENT);
    layers_free(first);
}
