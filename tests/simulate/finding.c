/* SPDX-License-Identifier: MIT */
/* finding: machine_finding() of programs that say it on their output and end; run.c, which has a report to fill, has its own. */
#include "machine.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

void
machine_finding(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vprintf(format, values);
    puts("");
    fflush(stdout);
    _exit(1);
}
