/* SPDX-License-Identifier: MIT */
/* Unit tests of os/environment: what it tells is what libc tells. */
#include "os/environment.h"

#include "test.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

TEST(the_vector_is_the_kernels)
{
    static const unsigned long types[] = {AT_PHDR, AT_PAGESZ, AT_RANDOM, AT_SECURE, AT_SYSINFO_EHDR, AT_EXECFN, 12345};
    char **own = environ, *others[] = {NULL};
    environ = others; /* a program may have another one by now */
    for (unsigned i = 0; i < sizeof types / sizeof types[0]; i++) {
        CHECK(hew_environment_auxiliary(types[i]) == getauxval(types[i]));
    }
    environ = own;
}

TEST(a_variable_has_the_value_that_getenv_finds)
{
    setenv("HEW_TEST_ONE", "1=2", 1);
    setenv("HEW_TEST_ONE_MORE", "", 1);
    CHECK(strcmp(hew_environment_get("HEW_TEST_ONE"), "1=2") == 0);
    CHECK(strcmp(hew_environment_get("HEW_TEST_ONE_MORE"), "") == 0);
    CHECK(hew_environment_get("HEW_TEST") == NULL && hew_environment_get("HEW_TEST_ONE_MORE_OF") == NULL);
    unsetenv("HEW_TEST_ONE");
    CHECK(hew_environment_get("HEW_TEST_ONE") == NULL);
}

TEST(there_may_be_no_environment)
{
    char **own = environ;
    environ = NULL;
    CHECK(hew_environment_get("PATH") == NULL);
    environ = own;
}
