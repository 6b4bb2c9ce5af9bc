/* SPDX-License-Identifier: MIT */
/*
 * A program that brings its settings in jemalloc's variables, as Blender and Knot Resolver do, and its own place for
 * messages; MALLOC_CONF stands above the first variable, the second above all.
 */
#include "jemalloc_calls.h"
#include "preload/under_test.h"
#include "unit/test.h"

extern const char *malloc_conf, *malloc_conf_2_conf_harder;
const char *malloc_conf = "narenas:1,dirty_decay_ms:4000,background_thread:true,tcache_max:4096,no_such_setting:1";
const char *malloc_conf_2_conf_harder = "muzzy_decay_ms:123";

extern void (*malloc_message)(void *opaque, const char *text) WEAK;

TEST(settings_of_the_program_are_in_force)
{
    ssize_t decay = 0;
    bool threads = false;
    CHECK_EQUAL(ctl_unsigned("opt.narenas"), 1);
    CHECK(ctl_unsigned("arenas.narenas") <= 2); /* jemalloc adds one for large requests */
    CHECK_EQUAL(ctl_read("opt.background_thread", &threads, sizeof threads), 0);
    CHECK(threads);
    CHECK_EQUAL(ctl_read("opt.dirty_decay_ms", &decay, sizeof decay), 0);
    CHECK_EQUAL(decay, 4000);
    CHECK_EQUAL(ctl_read("arena.0.dirty_decay_ms", &decay, sizeof decay), 0);
    CHECK_EQUAL(decay, 4000);
    CHECK_EQUAL(ctl_unsigned("thread.arena"), 0);
}

/* The test runs with MALLOC_CONF=tcache_max:8192,muzzy_decay_ms:77. */
TEST(the_environment_stands_above_the_program_and_the_last_word_above_both)
{
    ssize_t decay = 0;
    CHECK_EQUAL(ctl_size("opt.tcache_max"), 8192);
    CHECK_EQUAL(ctl_read("opt.muzzy_decay_ms", &decay, sizeof decay), 0);
    CHECK_EQUAL(decay, 123);
}

TEST(the_texts_can_be_read_back)
{
    const char *text = NULL;
    CHECK_EQUAL(ctl_read("opt.malloc_conf.global_var", &text, sizeof text), 0);
    CHECK_TEXT(text == NULL ? "" : text, malloc_conf);
    CHECK_EQUAL(ctl_read("opt.malloc_conf.global_var_2_conf_harder", &text, sizeof text), 0);
    CHECK_TEXT(text == NULL ? "" : text, malloc_conf_2_conf_harder);
    CHECK_EQUAL(ctl_read("opt.malloc_conf.env_var", &text, sizeof text), 0);
    CHECK_TEXT(text == NULL ? "" : text, "tcache_max:8192,muzzy_decay_ms:77");
}

static size_t kept;

static void
keep(void *opaque, const char *text)
{
    (void)opaque;
    kept += strlen(text);
}

TEST(messages_go_where_the_program_says)
{
    malloc_message = keep;
    malloc_stats_print(NULL, NULL, "Jgmdablxeh");
    CHECK(kept > 100);
    malloc_message = NULL;
}
