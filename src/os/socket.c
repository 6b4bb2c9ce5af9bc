/* SPDX-License-Identifier: MIT */
/* socket: see socket.h. */
#include "os/socket.h"

#include "os/syscall.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

#define BACKLOG 64
#define FIRST_NUMBER 16  /* above the numbers that program code running in this thread might use */
#define WAKING SIGSTKFLT /* the kernel never sends it; it stays blocked, so no handler runs */

/* From linux/close_range.h, which old systems lack. */
#define UNSHARE_TABLE 2u

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

bool
hew_socket_leave_table(void)
{
    return hew_syscall3(SYS_close_range, 0, ~0u, UNSHARE_TABLE) == 0;
}

void
hew_socket_name_thread(const char *name)
{
    hew_syscall2(SYS_prctl, PR_SET_NAME, name);
}

void
hew_socket_borrow_error(void)
{
    long process = hew_syscall2(SYS_pidfd_open, hew_syscall1(SYS_getpid, 0), 0);
    long error = process < 0 ? process : hew_syscall3(SYS_pidfd_getfd, process, 2, 0);
    if (error >= 0 && error != 2) {
        hew_syscall3(SYS_dup3, error, 2, O_CLOEXEC);
        hew_syscall1(SYS_close, error);
    }
    if (process >= 0 && process != 2) {
        hew_syscall1(SYS_close, process);
    }
}

void
hew_socket_return_error(void)
{
    hew_syscall1(SYS_close, 2);
}

/* Moves a descriptor to a higher number. */
static int
raised(long descriptor)
{
    if (descriptor < 0 || descriptor >= FIRST_NUMBER) {
        return (int)descriptor;
    }
    long higher = hew_syscall3(SYS_fcntl, descriptor, F_DUPFD_CLOEXEC, FIRST_NUMBER);
    hew_syscall1(SYS_close, descriptor);
    return (int)higher;
}

static bool
address_of(const char *path, struct sockaddr_un *address)
{
    size_t length = strlen(path);
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    if (length >= sizeof address->sun_path) {
        return false;
    }
    memcpy(address->sun_path, path, length);
    return true;
}

static int
new_socket(void)
{
    return raised(hew_syscall3(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

int
hew_socket_listen(const char *path)
{
    struct sockaddr_un address;
    if (!address_of(path, &address)) {
        return -ENAMETOOLONG;
    }
    int listener = new_socket();
    if (listener < 0) {
        return listener;
    }
    /* Before bind(): the file gets this mode at creation, whatever the umask. */
    long result = hew_syscall2(SYS_fchmod, listener, S_IRUSR | S_IWUSR);
    result = result < 0 ? result : hew_syscall3(SYS_bind, listener, &address, sizeof address);
    result = result < 0 ? result : hew_syscall2(SYS_listen, listener, BACKLOG);
    if (result < 0) {
        hew_socket_close(listener);
        return (int)result;
    }
    return listener;
}

bool
hew_socket_is_alive(const char *path)
{
    struct sockaddr_un address;
    int socket = address_of(path, &address) ? new_socket() : -1;
    if (socket < 0) {
        return false;
    }
    long result = hew_syscall3(SYS_connect, socket, &address, sizeof address);
    hew_socket_close(socket);
    return result == 0 || result == -EAGAIN; /* EAGAIN: its backlog is full */
}

int
hew_socket_accept(int listener, unsigned *user)
{
    int socket = raised(hew_syscall4(SYS_accept4, listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));
    struct ucred peer;
    socklen_t length = sizeof peer;
    if (socket < 0) {
        return socket;
    }
    long result = hew_syscall5(SYS_getsockopt, socket, SOL_SOCKET, SO_PEERCRED, &peer, &length);
    if (result < 0) {
        hew_socket_close(socket);
        return (int)result;
    }
    *user = peer.uid;
    return socket;
}

long
hew_socket_receive(int socket, void *bytes, size_t most)
{
    return hew_syscall6(SYS_recvfrom, socket, (long)bytes, (long)most, MSG_DONTWAIT, 0, 0);
}

long
hew_socket_send(int socket, const void *bytes, size_t count)
{
    return hew_syscall6(SYS_sendto, socket, (long)bytes, (long)count, MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0);
}

void
hew_socket_close(int socket)
{
    hew_syscall1(SYS_close, socket);
}

void
hew_socket_wait(struct pollfd *sockets, unsigned count, int64_t timeout_ms)
{
    struct timespec timeout = {timeout_ms / 1000, timeout_ms % 1000 * 1000000};
    hew_syscall5(SYS_ppoll, sockets, count, timeout_ms < 0 ? NULL : &timeout, NULL, 0);
}

int
hew_socket_alarm(void)
{
    uint64_t signals = UINT64_C(1) << (WAKING - 1);
    return raised(hew_syscall4(SYS_signalfd4, -1, &signals, sizeof signals, O_CLOEXEC | O_NONBLOCK));
}

void
hew_socket_wake(unsigned thread_number)
{
    hew_syscall3(SYS_tgkill, hew_syscall1(SYS_getpid, 0), thread_number, WAKING);
}
