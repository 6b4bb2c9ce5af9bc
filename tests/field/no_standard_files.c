/* SPDX-License-Identifier: MIT */
/* no_standard_files: begins with descriptors 0 to 2 closed, as under some supervisors; an allocator that opens a file and keeps it would
 * get one of them, and the program's output with it. */
#include "field.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>

int
main(int count, char **words)
{
    if (count == 1) {
        int status = 0;
        pid_t child = fork();
        if (child == 0) {
            close(0);
            close(1);
            close(2);
            execl("/proc/self/exe", words[0], "closed", (char *)NULL);
            _exit(1);
        }
        waitpid(child, &status, 0);
        FIELD_EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0, "descriptor %d is free", WEXITSTATUS(status) - 10);
        return 0;
    }
    for (int i = 1; i < 100000; i++) {
        free(memset(malloc((size_t)i % 9000), 1, (size_t)i % 9000));
    }
    for (int number = 0; number < 3; number++) {
        if (fcntl(number, F_GETFD) != -1 || errno != EBADF) {
            return 10 + number;
        }
    }
    return 0;
}
