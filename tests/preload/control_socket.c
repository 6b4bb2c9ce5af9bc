/* SPDX-License-Identifier: MIT */
/*
 * control_socket: a process with control:<path>.%p, asked from outside by friends and enemies.
 *
 * The process is its own client.  What a client sends is chosen without malloc, so that a count of allocations tells what
 * the server itself has allocated.
 */
#include "stuck.h"
#include "under_test.h"
#include "unit/test.h"

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#define ANSWER_BYTES (1 << 20)
#define WAIT_MS 60000

int mallctl(const char *name, void *old, size_t *old_length, void *new, size_t new_length) __attribute__((weak));

static char answer[ANSWER_BYTES];
static const char *pattern; /* of the path, up to %p */

static struct sockaddr_un
address_of(pid_t process)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s%d", pattern, (int)process);
    return address;
}

static int
try_connect(pid_t process)
{
    struct sockaddr_un address = address_of(process);
    int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(client, (struct sockaddr *)&address, sizeof address) != 0) {
        close(client);
        return -1;
    }
    return client;
}

/* The socket comes up some time after the first allocation. */
static int
open_client(pid_t process)
{
    for (int turn = 0; turn < WAIT_MS / 10; turn++) {
        free(malloc(under_test_opaque((size_t)1 << (turn % 12)))); /* what starts the thread is a slow path */
        int client = try_connect(process);
        if (client >= 0) {
            return client;
        }
        under_test_sleep_ms(10);
    }
    return -1;
}

static bool
send_all(int client, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t sent = send(client, bytes, count, MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        bytes += sent;
        count -= (size_t)sent;
    }
    return true;
}

/* One byte at a time would do as well; false at the end of the connection, or when nothing comes. */
static bool
receive(int client, char *bytes, size_t count)
{
    while (count > 0) {
        struct pollfd readable = {.fd = client, .events = POLLIN};
        ssize_t got = poll(&readable, 1, WAIT_MS) == 1 ? recv(client, bytes, count, 0) : -1;
        if (got <= 0) {
            return false;
        }
        bytes += got;
        count -= (size_t)got;
    }
    return true;
}

/* The whole answer into `answer`, "KIND TYPE: BYTES"; false when there is none. */
static bool
receive_answer(int client)
{
    char head[128] = "", outcome[16], type[32];
    unsigned long length;
    size_t at = 0;
    do {
        if (at == sizeof head - 1 || !receive(client, &head[at], 1)) {
            return false;
        }
    } while (head[at++] != '\n');
    if (sscanf(head, "%15s %31s %lu", outcome, type, &length) != 3 || length >= ANSWER_BYTES - 128) {
        return false;
    }
    int before = snprintf(answer, sizeof answer, "%s %s: ", outcome, type);
    bool whole = receive(client, answer + before, length + 1) && answer[(size_t)before + length] == '\n';
    answer[(size_t)before + length] = '\0';
    return whole;
}

static const char *
ask(int client, const char *request)
{
    char line[256];
    int length = snprintf(line, sizeof line, "%s\n", request);
    return send_all(client, line, (size_t)length) && receive_answer(client) ? answer : "nothing";
}

static const char *
ask_once(const char *request)
{
    int client = open_client(getpid());
    const char *text = client < 0 ? "no answer" : ask(client, request);
    close(client);
    return text;
}

static bool
begins_with(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

__attribute__((constructor)) static void
read_pattern(void)
{
    static char path[128];
    const char *conf = getenv("MALLOC_CONF");
    const char *begin = conf == NULL ? NULL : strstr(conf, "control:");
    if (begin == NULL || sscanf(begin, "control:%127[^%,]", path) != 1) {
        printf("MALLOC_CONF has no control:<path>%%p\n");
        _exit(2);
    }
    pattern = path;
}

TEST(values_are_read_and_set_by_type)
{
    int client = open_client(getpid());
    CHECK_TEXT(ask(client, "get arenas.page"), "ok size: 4096");
    CHECK_TEXT(ask(client, "get config.stats"), "ok bool: true");
    CHECK_TEXT(ask(client, "set arenas.dirty_decay_ms 4321"), "ok void: ");
    CHECK_TEXT(ask(client, "get arenas.dirty_decay_ms"), "ok ssize: 4321");
    ssize_t decay = 0;
    size_t size = sizeof decay;
    CHECK(mallctl("arenas.dirty_decay_ms", &decay, &size, NULL, 0) == 0 && decay == 4321);
    CHECK_TEXT(ask(client, "set arenas.dirty_decay_ms -1"), "ok void: ");
    CHECK_TEXT(ask(client, "get arenas.dirty_decay_ms"), "ok ssize: -1");
    CHECK_TEXT(ask(client, "set arena.0.name control"), "ok void: ");
    CHECK_TEXT(ask(client, "get arena.0.name"), "ok text: control");
    CHECK_TEXT(ask(client, "get opt.dss"), "ok text: secondary");
    CHECK_TEXT(ask(client, "do arena.4096.purge"), "ok void: ");
    CHECK(begins_with(ask(client, "names"), "ok text: version text get\n"));
    CHECK(strstr(ask(client, "settings"), "\ndirty_decay_ms\n") != NULL);
    close(client);
}

TEST(statistics_come_as_text_and_as_json)
{
    int client = open_client(getpid());
    CHECK(begins_with(ask(client, "stats"), "ok text: ___ Begin jemalloc statistics ___\n"));
    CHECK(strstr(answer, "--- End jemalloc statistics ---\n") != NULL);
    CHECK(begins_with(ask(client, "stats J"), "ok json: {\"jemalloc\":{"));
    CHECK(begins_with(ask(client, "heap"), "error not-permitted: "));
    close(client);
}

static _Atomic bool enough;

static void *
allocate_and_end(void *unused)
{
    free(malloc(under_test_opaque(64)));
    return unused;
}

static void *
start_threads(void *unused)
{
    while (!enough) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, allocate_and_end, NULL) == 0) {
            pthread_join(thread, NULL);
        }
    }
    return unused;
}

TEST(threads_are_listed_while_others_come_and_go)
{
    char line[32];
    pthread_t starters[3];
    for (unsigned i = 0; i < 3; i++) {
        CHECK_EQUAL(pthread_create(&starters[i], NULL, start_threads, NULL), 0);
    }
    int client = open_client(getpid());
    snprintf(line, sizeof line, "%d ", (int)getpid());
    for (int turn = 0; turn < 300; turn++) {
        CHECK(begins_with(ask(client, "threads"), "ok text: ") && strstr(answer, line) != NULL);
    }
    CHECK(begins_with(ask(client, "threads all"), "error malformed: "));
    close(client);
    enough = true;
    for (unsigned i = 0; i < 3; i++) {
        pthread_join(starters[i], NULL);
    }
}

TEST(what_makes_no_sense_is_an_error)
{
    static const char *const requests[] = {"",
                                           " ",
                                           "get",
                                           "get ",
                                           "get  ",
                                           "get nothing",
                                           "get arena.x.name",
                                           "get arena.0",
                                           "get arena.99999999999999999999.name",
                                           "get stats.arenas.0.bins.4000.size",
                                           "set",
                                           "set arenas.page",
                                           "set arenas.page 1",
                                           "set arenas.dirty_decay_ms",
                                           "set arenas.dirty_decay_ms ",
                                           "set arenas.dirty_decay_ms x",
                                           "set arenas.dirty_decay_ms 1 2",
                                           "set arenas.dirty_decay_ms 99999999999999999999",
                                           "set arenas.dirty_decay_ms --1",
                                           "set background_thread maybe",
                                           "do",
                                           "do version",
                                           "do nothing",
                                           "do thread.tcache.flush",
                                           "get thread.arena",
                                           "set thread.arena 0",
                                           "get arenas.create",
                                           "do arena.0.reset",
                                           "do arena.0.destroy",
                                           "set tcache.flush 0",
                                           "set arena.0.extent_hooks 4096",
                                           "set experimental.hooks.prof_backtrace 4096",
                                           "get experimental.utilization.query",
                                           "heap now",
                                           "names all",
                                           "GET version",
                                           "get version\t",
                                           "get version\r",
                                           "stats J J",
                                           "\xff\xfe"};
    int client = open_client(getpid());
    CHECK_TEXT(ask(client, "set arenas.dirty_decay_ms 777"), "ok void: ");
    for (unsigned i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        if (!begins_with(ask(client, requests[i]), "error ")) {
            printf("\"%s\": %.60s\n", requests[i], answer);
            CHECK(false);
        }
    }
    CHECK_TEXT(ask(client, "get arenas.dirty_decay_ms"), "ok ssize: 777");
    close(client);
}

TEST(only_the_owner_may_open_the_socket)
{
    struct sockaddr_un address = address_of(getpid());
    struct stat status;
    CHECK_EQUAL(stat(address.sun_path, &status), 0);
    CHECK(S_ISSOCK(status.st_mode));
    CHECK_EQUAL(status.st_mode & 0777, 0600);
}

TEST(another_user_is_not_heard)
{
    fflush(stdout);
    pid_t child = getuid() != 0 ? -1 : fork();
    if (child == 0) {
        struct sockaddr_un address = address_of(getppid());
        chmod(address.sun_path, 0666); /* as if another user might connect */
        int client = setuid(65534) == 0 ? try_connect(getppid()) : -1;
        _exit(client >= 0 && send_all(client, "get version\n", 12) && receive_answer(client));
    }
    int status = 0;
    CHECK(child < 0 || (waitpid(child, &status, 0) == child && status == 0));
}

TEST(a_request_may_come_in_bytes_and_several_at_once)
{
    int client = open_client(getpid());
    const char *line = "get arenas.page\n";
    for (const char *at = line; *at != '\0'; at++) {
        CHECK(send_all(client, at, 1));
        under_test_sleep_ms(1);
    }
    CHECK(receive_answer(client));
    CHECK_TEXT(answer, "ok size: 4096");
    for (int turn = 0; turn < 200; turn++) {
        CHECK(send_all(client, "get arenas.page\nget version\nnonsense\n", 37));
    }
    for (int turn = 0; turn < 200; turn++) {
        CHECK(receive_answer(client) && begins_with(answer, "ok size: 4096"));
        CHECK(receive_answer(client) && begins_with(answer, "ok text: 5.3"));
        CHECK(receive_answer(client) && begins_with(answer, "error malformed: "));
    }
    close(client);
}

TEST(a_line_without_end_is_refused)
{
    static char line[1 << 20];
    int client = open_client(getpid());
    memset(line, 'a', sizeof line);
    send_all(client, line, sizeof line); /* the other end may hang up in the middle */
    CHECK(!receive_answer(client) || begins_with(answer, "error malformed: "));
    close(client);
    CHECK_TEXT(ask_once("get arenas.page"), "ok size: 4096");
}

TEST(who_does_not_read_holds_nobody_up)
{
    int deaf[20];
    for (unsigned i = 0; i < 20; i++) {
        deaf[i] = try_connect(getpid());
        for (int turn = 0; turn < 100; turn++) {
            send(deaf[i], "stats J\n", 8, MSG_NOSIGNAL | MSG_DONTWAIT);
        }
    }
    for (int turn = 0; turn < 20; turn++) {
        CHECK_TEXT(ask_once("get arenas.page"), "ok size: 4096");
    }
    for (unsigned i = 0; i < 20; i++) {
        close(deaf[i]);
    }
}

TEST(thousands_come_and_go)
{
    static int silent[300];
    for (int turn = 0; turn < 5000; turn++) {
        int client = try_connect(getpid());
        if (turn % 3 == 0) {
            send(client, "get ver", 7, MSG_NOSIGNAL | MSG_DONTWAIT);
        }
        close(client);
    }
    for (unsigned i = 0; i < 300; i++) {
        silent[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        struct sockaddr_un address = address_of(getpid());
        connect(silent[i], (struct sockaddr *)&address, sizeof address);
    }
    CHECK_TEXT(ask_once("get arenas.page"), "ok size: 4096");
    for (unsigned i = 0; i < 300; i++) {
        close(silent[i]);
    }
    CHECK_TEXT(ask_once("get arenas.page"), "ok size: 4096");
}

/* Requests that are right but for some bytes.  Only such as would change nothing that this test relies on. */
TEST(a_hostile_client_breaks_nothing)
{
    static const char *const seeds[] = {"get stats.arenas.0.bins.3.nmalloc\n",
                                        "stats Jmdablxeh\n",
                                        "heap\n",
                                        "names\n",
                                        "threads\n",
                                        "get arena.0.name\n",
                                        "set arena.0.name abcdefghijklmnopqrstuvwxyz0123456789\n",
                                        "set epoch 1\n",
                                        "do arena.0.decay\n",
                                        "get opt.malloc_conf.env_var\n",
                                        "set prof.prefix xyz\n",
                                        "do stats.mutexes.reset\n"};
    uint64_t state = (uint64_t)under_test_setting("HEW_FUZZ_SEED", 7);
    long rounds = under_test_setting("HEW_FUZZ_ROUNDS", 3000);
    int client = open_client(getpid());
    for (long round = 0; round < rounds; round++) {
        char line[8192];
        size_t length = 0, parts = 1 + under_test_random(&state) % 4;
        for (size_t part = 0; part < parts; part++) {
            const char *seed = seeds[under_test_random(&state) % (sizeof seeds / sizeof seeds[0])];
            memcpy(line + length, seed, strlen(seed));
            length += strlen(seed);
        }
        size_t changes = under_test_random(&state) % 6;
        for (size_t change = 0; change < changes; change++) {
            line[under_test_random(&state) % length] = (char)under_test_random(&state);
        }
        if (round % 50 == 0) {
            memset(line + length, (int)under_test_random(&state), 4000);
            length += 4000;
        }
        bool sent = send(client, line, length, MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
        if (!sent ||
            under_test_random(&state) % 4 == 0) { /* it may have hung up; or we do, in the middle of an answer */
            close(client);
            client = open_client(getpid());
        }
        while (recv(client, answer, sizeof answer, MSG_DONTWAIT) > 0) {
            continue;
        }
    }
    close(client);
    CHECK_TEXT(ask_once("get arenas.page"), "ok size: 4096");
}

static size_t
allocated(void)
{
    uint64_t epoch = 1;
    size_t now = 0, size = sizeof now;
    mallctl("epoch", NULL, NULL, &epoch, sizeof epoch);
    mallctl("stats.allocated", &now, &size, NULL, 0);
    return now;
}

/* What the purger has in hand between a depot and a slab counts as allocated meanwhile. */
static bool
allocated_falls_to(size_t most)
{
    for (int turn = 0; turn < WAIT_MS / 10 && allocated() > most; turn++) {
        under_test_sleep_ms(10);
    }
    return allocated() <= most;
}

TEST(the_server_allocates_nothing)
{
    int client = open_client(getpid());
    CHECK(begins_with(ask(client, "stats J"), "ok json: "));
    size_t before = allocated();
    for (int turn = 0; turn < 200; turn++) {
        ask(client, turn % 3 == 0 ? "stats J" : turn % 3 == 1 ? "names" : "threads");
    }
    CHECK(allocated_falls_to(before));
    close(client);
}

/* Entries of /proc/self/fd. */
static int
open_files(void)
{
    int count = 0;
    DIR *directory = opendir("/proc/self/fd");
    while (directory != NULL && readdir(directory) != NULL) {
        count++;
    }
    closedir(directory);
    return count;
}

TEST(a_program_may_close_every_descriptor)
{
    int first = dup(0);
    close(first);
    for (int file = 3; file < 1024; file++) {
        close(file);
    }
    CHECK_EQUAL(open_files(), 2 + 3 + 1); /* . and .., standard ones, the directory itself */
    CHECK_TEXT(ask_once("get arenas.page"), "ok size: 4096");
    CHECK_EQUAL(dup(0), 3); /* no number is taken */
    close(3);
}

TEST(a_forks_child_has_a_socket_of_its_own)
{
    CHECK_TEXT(ask_once("set arenas.dirty_decay_ms 1111"), "ok void: ");
    int parents = open_client(getpid());
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        bool fine = begins_with(ask_once("set arenas.dirty_decay_ms 2222"), "ok void: ");
        fine = fine && strcmp(ask_once("get arenas.dirty_decay_ms"), "ok ssize: 2222") == 0;
        int other = open_client(getppid());
        fine = fine && strcmp(ask(other, "get arenas.dirty_decay_ms"), "ok ssize: 1111") == 0;
        exit(!fine);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    struct sockaddr_un address = address_of(child);
    CHECK(access(address.sun_path, F_OK) != 0); /* taken away at exit */
    CHECK_TEXT(ask(parents, "get arenas.dirty_decay_ms"), "ok ssize: 1111");
    close(parents);
}

TEST(what_a_killed_process_left_is_replaced_and_a_file_is_not)
{
    for (int is_file = 0; is_file < 2; is_file++) {
        int gate[2];
        CHECK_EQUAL(pipe(gate), 0);
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            char go;
            ssize_t got = read(gate[0], &go, 1);
            int client = -1;
            for (int turn = 0; got == 1 && client < 0 && turn < (is_file ? 30 : WAIT_MS / 10); turn++) {
                free(malloc(under_test_opaque((size_t)1 << (turn % 12))));
                under_test_sleep_ms(10);
                client = try_connect(getpid());
            }
            _exit(client >= 0);
        }
        struct sockaddr_un address = address_of(child);
        int stale = is_file ? open(address.sun_path, O_CREAT | O_WRONLY, 0600) : socket(AF_UNIX, SOCK_STREAM, 0);
        CHECK(is_file || bind(stale, (struct sockaddr *)&address, sizeof address) == 0);
        close(stale);
        int status = 0;
        CHECK(write(gate[1], "g", 1) == 1 && waitpid(child, &status, 0) == child);
        CHECK_EQUAL(WEXITSTATUS(status), !is_file);
        struct stat entry;
        CHECK(!is_file || (stat(address.sun_path, &entry) == 0 && S_ISREG(entry.st_mode)));
        unlink(address.sun_path);
        close(gate[0]);
        close(gate[1]);
    }
}

TEST(a_program_in_another_root_is_still_answered)
{
    fflush(stdout);
    pid_t child = getuid() != 0 ? -1 : fork();
    if (child == 0) {
        int client = open_client(getpid());
        bool fine = chroot("/proc") == 0 && chdir("/") == 0;
        fine = fine && strcmp(ask(client, "get arenas.page"), "ok size: 4096") == 0;
        _exit(!fine);
    }
    int status = 0;
    CHECK(child < 0 || (waitpid(child, &status, 0) == child && status == 0));
    struct sockaddr_un address = address_of(child);
    unlink(address.sun_path);
}

static void *
linger(void *unused)
{
    CHECK_TEXT(ask_once("get arenas.page"), "ok size: 4096");
    return unused;
}

TEST(the_thread_does_not_keep_a_process_alive)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        pthread_t thread;
        alarm(STUCK_SECONDS);
        pthread_create(&thread, NULL, linger, NULL);
        pthread_exit(NULL);
    }
    int status = 1;
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK_EQUAL(status, 0);
    struct sockaddr_un address = address_of(child);
    CHECK(access(address.sun_path, F_OK) != 0);
}
