/* SPDX-License-Identifier: MIT */
/* remote: see remote.h. */
#include "control/remote/remote.h"

#include "base/options.h"
#include "cache/thread.h"
#include "control/own_thread.h"
#include "control/remote/place.h"
#include "control/remote/request.h"
#include "os/clock.h"
#include "os/entry.h"
#include "os/fatal.h"
#include "os/socket.h"
#include "page/heap.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define CLIENTS 8
#define LINE_BYTES 4096
#define STACK_BYTES ((size_t)256 << 10)
#define LINE_MS 10000  /* for a whole request, since the connection or the last answer */
#define REPLY_MS 30000 /* for the client to receive a whole answer */
#define REST_MS 1000   /* pause after an error of accept(), for example without descriptors */

enum { OFF, DUE, STARTING, RUNNING, ENDING, NOT_HERE };
static _Atomic uint32_t thread_state;
static pthread_t thread; /* while RUNNING or ENDING */
static _Atomic unsigned thread_number;
static _Atomic bool stop;

/* Used by the serving thread only. */
struct client {
    bool present;
    int socket;
    uint64_t deadline; /* ms */
    struct hew_reply reply;
    size_t held; /* buffered bytes: a part of a request, or one or more requests */
};
static struct client clients[CLIENTS];
static char lines[CLIENTS][LINE_BYTES]; /* separate, because a fork's child clears `clients` but need not touch these */

static char *
line_of(const struct client *client)
{
    return lines[client - clients];
}

static void
drop(struct client *client)
{
    hew_socket_close(client->socket);
    hew_reply_give(&client->reply);
    client->present = false;
    client->held = 0;
}

static bool
has_reply(const struct client *client)
{
    return client->reply.at != NULL;
}

/* The end of the first buffered request; NULL: it is incomplete. */
static char *
end_of_line(struct client *client)
{
    return memchr(line_of(client), '\n', client->held);
}

/* Answers the first buffered request. */
static void
answer(struct client *client, char *end)
{
    char *line = line_of(client);
    size_t length = (size_t)(end - line);
    hew_socket_borrow_error(); /* a fatal error that the request uncovers must reach the process's stderr */
    hew_request_answer(line, length, &client->reply);
    hew_socket_return_error();
    client->held -= length + 1;
    memmove(line, end + 1, client->held);
    client->deadline = hew_clock_ms() + REPLY_MS;
    if (!has_reply(client)) { /* no memory even for an error */
        drop(client);
    }
}

/* Sends as much of the answer as the socket accepts; false when the client is gone. */
static bool
send_some(struct client *client)
{
    struct hew_reply *reply = &client->reply;
    long sent = hew_socket_send(client->socket, reply->at + reply->from, reply->length - reply->from);
    if (sent < 0 && sent != -EAGAIN && sent != -EINTR) {
        drop(client);
        return false;
    }
    reply->from += sent > 0 ? (size_t)sent : 0;
    if (reply->from == reply->length) {
        hew_reply_give(reply);
        client->deadline = hew_clock_ms() + LINE_MS;
    }
    return true;
}

/* Receives as much as fits the buffer; false when the client is gone. */
static bool
receive_some(struct client *client)
{
    long got = hew_socket_receive(client->socket, line_of(client) + client->held, LINE_BYTES - client->held);
    if (got == -EAGAIN || got == -EINTR) {
        return true;
    }
    if (got <= 0) {
        drop(client);
        return false;
    }
    client->held += (size_t)got;
    return true;
}

/* One step: at most one request is answered, so that all clients are served in turn. */
static void
advance(struct client *client)
{
    if (has_reply(client)) {
        send_some(client);
        return;
    }
    char *end = end_of_line(client);
    if (end == NULL && (!receive_some(client) || (end = end_of_line(client)) == NULL)) {
        if (client->present && client->held == LINE_BYTES) {
            hew_reply_refuse(&client->reply, "malformed", "a request is one line of less than 4096 bytes", "");
            client->held =
                0; /* the rest is no request: the next step finds the end of the connection, or drops the client */
            if (has_reply(client) && send_some(client)) {
                drop(client);
            }
        }
        return;
    }
    answer(client, end);
    if (client->present) {
        send_some(client);
    }
}

/* A free slot; if there is none, drops the client that has kept the thread waiting longest. */
static struct client *
slot(void)
{
    struct client *oldest = &clients[0];
    for (struct client *client = clients; client < clients + CLIENTS; client++) {
        if (!client->present) {
            return client;
        }
        /* A client that is being answered is not keeping the thread waiting. */
        bool waits = has_reply(client), oldest_waits = has_reply(oldest);
        if (waits != oldest_waits ? oldest_waits : client->deadline < oldest->deadline) {
            oldest = client;
        }
    }
    drop(oldest);
    return oldest;
}

/* False when no client can be accepted for the time being. */
static bool
let_in(int listener)
{
    unsigned user = 0;
    int socket = hew_socket_accept(listener, &user);
    if (socket < 0) {
        return socket == -EAGAIN || socket == -EINTR || socket == -ECONNABORTED;
    }
    if (user != hew_entry_user() && user != 0) {
        hew_socket_close(socket);
        return true;
    }
    struct client *client = slot();
    client->present = true;
    client->socket = socket;
    client->held = 0;
    client->deadline = hew_clock_ms() + LINE_MS;
    advance(client); /* a request that comes with the connection is answered before another client can take the slot */
    return true;
}

/* Milliseconds to the next timeout; -1: none. */
static int64_t
time_left(uint64_t now, uint64_t rest_until)
{
    int64_t least = rest_until > now ? (int64_t)(rest_until - now) : -1;
    for (struct client *client = clients; client < clients + CLIENTS; client++) {
        if (!client->present) {
            continue;
        }
        bool ready = !has_reply(client) && end_of_line(client) != NULL;
        int64_t left = ready || client->deadline <= now ? 0 : (int64_t)(client->deadline - now);
        least = least < 0 || left < least ? left : least;
    }
    return least;
}

static void
serve(int listener, int alarm)
{
    struct pollfd sockets[2 + CLIENTS];
    uint64_t rest_until = 0;
    while (!atomic_load(&stop)) {
        uint64_t now = hew_clock_ms();
        sockets[0] = (struct pollfd){.fd = alarm, .events = POLLIN};
        sockets[1] = (struct pollfd){.fd = now < rest_until ? -1 : listener, .events = POLLIN};
        for (unsigned i = 0; i < CLIENTS; i++) {
            short events = has_reply(&clients[i]) ? POLLOUT : POLLIN;
            sockets[2 + i] = (struct pollfd){.fd = clients[i].present ? clients[i].socket : -1, .events = events};
        }
        hew_socket_wait(sockets, 2 + CLIENTS, time_left(now, rest_until));
        now = hew_clock_ms();
        for (unsigned i = 0; i < CLIENTS; i++) {
            struct client *client = &clients[i];
            if (client->present &&
                (sockets[2 + i].revents != 0 || (!has_reply(client) && end_of_line(client) != NULL))) {
                advance(client);
            }
            if (client->present && client->deadline <= now) {
                drop(client);
            }
        }
        if (sockets[1].revents != 0 && !let_in(listener)) {
            rest_until = now + REST_MS;
        }
    }
}

static void *
work(void *unused)
{
    hew_socket_name_thread("hew-control"); /* hew ctl finds the thread by this name */
    hew_thread_death();                    /* no cache: the thread does not belong to the program */
    atomic_store(&thread_number, hew_entry_thread());
    if (!hew_socket_leave_table()) {
        hew_warn("no control socket", "it needs Linux 5.9, and close_range(2) allowed");
        return unused;
    }
    hew_socket_borrow_error();
    int alarm = hew_socket_alarm();
    int listener = alarm < 0 ? alarm : hew_place_take();
    hew_socket_return_error();
    if (listener >= 0) {
        serve(listener, alarm);
        hew_place_leave();
    }
    for (struct client *client = clients; client < clients + CLIENTS; client++) {
        if (client->present) {
            drop(client);
        }
    }
    return unused; /* the descriptor table ends with its thread */
}

void
hew_remote_boot(void)
{
    if (strcmp(hew_options.control, "false") == 0) {
        return;
    }
    hew_place_boot();
    atexit(hew_place_leave);
    atomic_store(&thread_state, DUE);
    hew_page_raise_due();
}

bool
hew_remote_is_due(void)
{
    return atomic_load_explicit(&thread_state, memory_order_relaxed) == DUE;
}

void
hew_remote_start(void)
{
    uint32_t due = DUE;
    if (!atomic_compare_exchange_strong(&thread_state, &due, STARTING)) {
        return;
    }
    int saved = errno;
    bool created = hew_own_thread_create(&thread, STACK_BYTES, work) || hew_own_thread_create(&thread, 0, work);
    atomic_store(&thread_state, created ? RUNNING : NOT_HERE);
    errno = saved;
}

void
hew_remote_end(void)
{
    uint32_t running = RUNNING;
    if (!atomic_compare_exchange_strong(&thread_state, &running, ENDING)) {
        return;
    }
    int saved = errno;
    /* The thread publishes its number before it reads `stop`: either it sees `stop`, or this thread sees the number. */
    atomic_store(&stop, true);
    if (atomic_load(&thread_number) != 0) {
        hew_socket_wake(atomic_load(&thread_number));
    }
    hew_own_thread_join(thread);
    atomic_store(&stop, false);
    atomic_store(&thread_number, 0);
    atomic_store(&thread_state, DUE); /* a thread that has not allocated so far may still come */
    hew_page_raise_due();
    errno = saved;
}

void
hew_remote_after_fork(void)
{
    if (atomic_load(&thread_state) == OFF) {
        return;
    }
    /* The parent's unsent answers belong to its thread; the child drops them. */
    memset(clients, 0, sizeof clients);
    atomic_store(&stop, false);
    atomic_store(&thread_number, 0);
    atomic_store(&thread_state, DUE);
    hew_page_raise_due();
}
