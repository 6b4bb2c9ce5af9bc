/* SPDX-License-Identifier: MIT */
/*
 * serve: a request server without the network.
 *
 *     acceptor --connections--> worker: parse, look up the session, answer --answered--> logger: write, free
 *
 * A connection carries several requests.  Each request allocates header strings and a tree of small nodes, now and then
 * a body of 4 to 256 KiB, and grows its response; the worker frees all but the response and one line for the log, which
 * another thread frees.  Sessions live long in a shared table and are replaced, so freed, by whichever worker is next.
 * Every request's work depends on its number only: the checksum is the same for any number of threads.
 */
#include "channel.h"
#include "workload.h"

#include <stdatomic.h>

enum { TABLE_SLOTS = 1 << 14, TABLE_LOCKS = 64, HEADERS_MOST = 16 };

struct header {
    char *name;
    char *value;
};

struct node {
    struct node *child;
    struct node *next;
    char *text;
    uint64_t number;
};

struct session {
    struct session *next;
    uint64_t user;
    size_t length;
    unsigned char data[];
};

struct response {
    char *text;
    size_t length;
    size_t room;
    char *log_line;
};

struct connection {
    uint64_t first_request;
    long requests;
    struct response *responses;
};

static long threads = 4, connections = 40000, requests_each = 16, users = 20000;
static struct channel accepted, answered;
static struct session *session_table[TABLE_SLOTS];
static pthread_mutex_t session_locks[TABLE_LOCKS];
static _Atomic uint64_t checksum_total, operations_total;

struct worker_sums {
    uint64_t checksum;
    uint64_t operations;
};

static char *
make_text(uint64_t *random, size_t low, size_t high)
{
    size_t length = (size_t)workload_between(random, low, high);
    char *text = workload_take(length + 1);
    memset(text, 'a' + (int)(workload_random(random) % 26), length);
    text[length] = '\0';
    return text;
}

static size_t
parse_headers(uint64_t *random, struct header *headers)
{
    size_t count = (size_t)workload_between(random, 6, HEADERS_MOST);
    for (size_t i = 0; i < count; i++) {
        headers[i].name = make_text(random, 4, 24);
        headers[i].value = make_text(random, 8, 160);
    }
    return count;
}

/* A list of lists, as a small JSON document is. */
static struct node *
parse_document(uint64_t *random, unsigned depth)
{
    struct node *first = NULL;
    for (uint64_t i = workload_between(random, 2, 5); i > 0; i--) {
        struct node *node = workload_take(sizeof *node);
        node->text = workload_random(random) % 2 ? make_text(random, 3, 40) : NULL;
        node->number = workload_random(random);
        node->child = depth > 0 && workload_random(random) % 3 != 0 ? parse_document(random, depth - 1) : NULL;
        node->next = first;
        first = node;
    }
    return first;
}

static uint64_t
free_document(struct node *node)
{
    uint64_t sum = 0;
    while (node != NULL) {
        struct node *next = node->next;
        sum += node->number + (node->text != NULL ? (uint64_t)node->text[0] : 0) + free_document(node->child);
        free(node->text);
        free(node);
        node = next;
    }
    return sum;
}

/* Takes the user's old session out of the table and puts a new one in; the old one was another worker's, most often. */
static void
renew_session(uint64_t *random, uint64_t user)
{
    size_t length = (size_t)workload_between(random, 64, 2048), bucket = user % TABLE_SLOTS;
    struct session *fresh = workload_take(sizeof *fresh + length), **link, *old;
    fresh->user = user;
    fresh->length = length;
    memset(fresh->data, (int)(user & 0xff), length);
    pthread_mutex_lock(&session_locks[bucket % TABLE_LOCKS]);
    for (link = &session_table[bucket]; *link != NULL && (*link)->user != user;)
        link = &(*link)->next;
    old = *link;
    fresh->next = old != NULL ? old->next : NULL;
    *link = fresh;
    pthread_mutex_unlock(&session_locks[bucket % TABLE_LOCKS]);
    if (old != NULL && old->data[old->length - 1] != (user & 0xff))
        workload_fail("serve", "a session has changed while it was stored");
    free(old);
}

static void
append(struct response *response, const char *text)
{
    size_t length = strlen(text);
    if (response->length + length > response->room) {
        response->room = (response->length + length) * 3 / 2 + 64;
        response->text = workload_grow(response->text, response->room);
    }
    memcpy(response->text + response->length, text, length);
    response->length += length;
}

static uint64_t
serve_request(uint64_t number, struct response *response)
{
    uint64_t random = workload_scramble(number), sum;
    struct header headers[HEADERS_MOST];
    size_t count = parse_headers(&random, headers);
    struct node *document = parse_document(&random, 2);
    unsigned char *body = NULL;
    if (number % 16 == 0) {
        size_t size = workload_log_size(&random, 12, 18);
        body = workload_take(size);
        memset(body, (int)(number & 0xff), size);
    }
    renew_session(&random, workload_random(&random) % (uint64_t)users);
    memset(response, 0, sizeof *response);
    for (size_t i = 0; i < count; i++)
        append(response, headers[i].value);
    response->log_line = make_text(&random, 40, 120);
    sum = workload_mix(free_document(document), response->length + (body != NULL ? body[0] : 0));
    for (size_t i = 0; i < count; i++) {
        free(headers[i].name);
        free(headers[i].value);
    }
    free(body);
    return sum;
}

static void *
work(void *argument)
{
    struct worker_sums sums = {0, 0};
    struct connection *connection;
    while ((connection = channel_get(&accepted)) != NULL) {
        connection->responses = workload_take((size_t)connection->requests * sizeof *connection->responses);
        for (long i = 0; i < connection->requests; i++)
            sums.checksum += serve_request(connection->first_request + (uint64_t)i, &connection->responses[i]);
        sums.operations += (uint64_t)connection->requests;
        channel_put(&answered, connection);
    }
    checksum_total += sums.checksum;
    operations_total += sums.operations;
    return argument;
}

/* The last stage frees what the workers allocated. */
static void *
write_log(void *argument)
{
    struct connection *connection;
    uint64_t sum = 0;
    while ((connection = channel_get(&answered)) != NULL) {
        for (long i = 0; i < connection->requests; i++) {
            sum += (uint64_t)connection->responses[i].text[0] + (uint64_t)connection->responses[i].log_line[0];
            free(connection->responses[i].text);
            free(connection->responses[i].log_line);
        }
        free(connection->responses);
        free(connection);
    }
    checksum_total += sum;
    return argument;
}

static void
accept_connections(void)
{
    for (long i = 0; i < connections; i++) {
        struct connection *connection = workload_take(sizeof *connection);
        connection->first_request = (uint64_t)i * (uint64_t)requests_each;
        connection->requests = requests_each;
        connection->responses = NULL;
        channel_put(&accepted, connection);
    }
    channel_close(&accepted);
}

static uint64_t
free_sessions(void)
{
    uint64_t found = 0;
    for (size_t i = 0; i < TABLE_SLOTS; i++) {
        for (struct session *session = session_table[i], *next; session != NULL; session = next, found++) {
            next = session->next;
            free(session);
        }
    }
    return found;
}

int
main(int argc, char **argv)
{
    const struct workload_option options[] = {
        {"threads", &threads, "worker threads"},
        {"connections", &connections, "connections accepted in all"},
        {"requests", &requests_each, "requests per connection"},
        {"users", &users, "sessions alive at once, at most"},
    };
    pthread_t worker[256], logger;
    workload_parse(argc, argv, "A request server: short-lived requests, long-lived sessions, frees by other threads.",
                   options, 4);
    workload_require("threads", threads, 1, 256);
    workload_require("requests", requests_each, 1, 1 << 20);
    workload_require("users", users, 1, 1l << 32);

    double start = workload_seconds();
    channel_open(&accepted);
    channel_open(&answered);
    for (size_t i = 0; i < TABLE_LOCKS; i++)
        pthread_mutex_init(&session_locks[i], NULL);
    for (long i = 0; i < threads; i++)
        pthread_create(&worker[i], NULL, work, NULL);
    pthread_create(&logger, NULL, write_log, NULL);
    accept_connections();
    for (long i = 0; i < threads; i++)
        pthread_join(worker[i], NULL);
    channel_close(&answered);
    pthread_join(logger, NULL);
    uint64_t sessions = free_sessions();
    workload_report("serve", operations_total, workload_seconds() - start, workload_mix(checksum_total, sessions));
    return 0;
}
