/* SPDX-License-Identifier: MIT */
#include "api/boot.h"

#include "api/messages.h"
#include "base/options.h"
#include "base/text.h"
#include "prof/dump.h"
#include "prof/profiler.h"

#include <stdlib.h>

static void
put_count(struct hew_text *text, const char *before, uint64_t count, const char *unit)
{
    hew_text_put(text, before);
    hew_text_put_unsigned(text, count);
    hew_text_put(text, unit);
    hew_text_put(text, count == 1 ? "" : "s");
}

static void
tell_leak(const struct hew_dump_leak *leak)
{
    char words[256];
    const char *about = hew_options.lg_prof_sample == 0 ? "" : "about ";
    struct hew_text text;
    hew_text_begin(&text, words, sizeof words);
    hew_text_put(&text, "<hew>: not freed at exit: ");
    put_count(&text, about, leak->bytes, " byte");
    put_count(&text, " in ", leak->objects, " object");
    put_count(&text, " from ", leak->stacks, " stack");
    hew_text_put(&text, *about == '\0' ? "" : " or more");
    hew_text_put(&text, "; the profile has the details\n");
    hew_messages_write(words, text.length);
}

void
hew_profile_at_exit(void)
{
    struct hew_prof_own *own = hew_prof_own();
    if (own == NULL || !hew_prof_enter(own)) {
        return;
    }
    struct hew_dump_leak leak = hew_dump_final();
    hew_dump_log_end();
    hew_prof_leave(own);
    if (leak.objects == 0 || !(hew_options.prof_leak || hew_options.prof_leak_error)) {
        return;
    }
    tell_leak(&leak);
    if (hew_options.prof_leak_error) {
        static const char words[] = "<hew>: exit status 1, by prof_leak_error:true\n";
        hew_messages_write(words, sizeof words - 1);
        exit(1); /* continues with the remaining handlers */
    }
}
