/* SPDX-License-Identifier: MIT */
#include "prof/sink.h"

#include "test.h"

#include "fakes/child.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct hew_sink sink;
static char folder[] = "/tmp/hew_sink_XXXXXX";
static char path[64], part[80], text[HEW_SINK_BUFFER * 3];

static bool
is_there(const char *name)
{
    struct stat unused;
    return stat(name, &unused) == 0;
}

static size_t
contents(void)
{
    int file = open(path, O_RDONLY);
    ssize_t length = read(file, text, sizeof text);
    close(file);
    return length < 0 ? 0 : (size_t)length;
}

TEST(a_new_file_has_its_name_only_when_it_is_whole)
{
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/file", folder);
    snprintf(part, sizeof part, "%s.part", path);
    CHECK(hew_sink_open(&sink, path));
    hew_sink_put_text(&sink, "12 ");
    hew_sink_put_unsigned(&sink, 34);
    hew_sink_put_text(&sink, " ");
    hew_sink_put_hex(&sink, 0xabc);
    CHECK(!is_there(path) && is_there(part));
    CHECK(hew_sink_close(&sink));
    CHECK(is_there(path) && !is_there(part));
    CHECK_EQUAL(contents(), 9);
    CHECK(memcmp(text, "12 34 abc", 9) == 0);
}

TEST(a_file_that_is_there_is_written_in_place)
{
    int file = open(path, O_RDONLY);
    CHECK(hew_sink_open(&sink, path));
    hew_sink_put_text(&sink, "new");
    CHECK(hew_sink_close(&sink));
    CHECK(read(file, text, sizeof text) == 3 && memcmp(text, "new", 3) == 0);
    close(file);
}

TEST(more_than_the_buffer_holds_arrives_in_order)
{
    CHECK(hew_sink_open(&sink, path));
    for (unsigned i = 0; i < HEW_SINK_BUFFER / 4; i++) {
        char word[9];
        snprintf(word, sizeof word, "%08u", i);
        hew_sink_put(&sink, word, 8);
    }
    CHECK(hew_sink_close(&sink));
    CHECK_EQUAL(contents(), HEW_SINK_BUFFER * 2);
    CHECK(memcmp(text + 8 * 3000, "00003000", 8) == 0);
}

TEST(another_file_is_taken_over_whole)
{
    CHECK(hew_sink_open(&sink, path));
    hew_sink_put_text(&sink, "maps:");
    hew_sink_put_file(&sink, "/proc/self/maps");
    hew_sink_put_file(&sink, "/nowhere/at/all");
    CHECK(hew_sink_close(&sink));
    size_t length = contents();
    CHECK(length > 1000 && memcmp(text, "maps:", 5) == 0 && text[length - 1] == '\n');
}

TEST(a_file_that_is_open_stays_open)
{
    int file = memfd_create("sink", MFD_CLOEXEC);
    CHECK(hew_sink_begin(&sink, file));
    hew_sink_put_text(&sink, "written");
    CHECK(hew_sink_close(&sink));
    CHECK_EQUAL(pread(file, text, sizeof text, 0), 7);
    CHECK(memcmp(text, "written", 7) == 0);
    close(file);
    CHECK(!hew_sink_begin(&sink, file));
}

static void
write_too_much(void)
{
    const struct rlimit little = {HEW_SINK_BUFFER, HEW_SINK_BUFFER};
    CHECK(setrlimit(RLIMIT_FSIZE, &little) == 0);
    signal(SIGXFSZ, SIG_DFL);
    CHECK(hew_sink_open(&sink, path));
    for (size_t i = 0; i < 3 * HEW_SINK_BUFFER; i++) {
        hew_sink_put(&sink, "x", 1);
    }
    CHECK(!hew_sink_close(&sink));
}

TEST(a_limit_of_file_sizes_ends_the_file_and_not_the_program)
{
    CHECK_EQUAL(child_run(write_too_much).status, 0);
}

static void
write_to_nobody(void)
{
    int ends[2];
    CHECK(pipe(ends) == 0);
    signal(SIGPIPE, SIG_DFL);
    CHECK(hew_sink_begin(&sink, ends[1]));
    close(ends[0]);
    hew_sink_put_text(&sink, "anything");
    CHECK(!hew_sink_close(&sink));
    sigset_t waiting;
    CHECK(sigpending(&waiting) == 0 && sigismember(&waiting, SIGPIPE) == 0);
}

TEST(a_pipe_that_nobody_reads_ends_the_file_and_not_the_program)
{
    CHECK_EQUAL(child_run(write_to_nobody).status, 0);
}

TEST(what_cannot_be_written_is_told)
{
    CHECK(!hew_sink_open(&sink, "/nowhere/at/all"));
    CHECK(hew_sink_open(&sink, "/dev/full"));
    hew_sink_put_text(&sink, "anything");
    CHECK(!hew_sink_close(&sink));
    unlink(path);
    rmdir(folder);
}
