# SPDX-License-Identifier: MIT
# -DHEW_PREFIX=je_: the library stands beside another malloc.  Its C names get the prefix, C++'s operators and libc's
# own names are left out, and so is the plain name of its settings, as with jemalloc's --with-jemalloc-prefix.
#
# The sources know nothing of it: the one object file that both libraries are made of is renamed afterwards, after
# src/api/names.def.  So the unit tests of a prefixed build are those of any build.
set(HEW_PREFIX "" CACHE STRING "put before every C name, such as je_")
if(NOT HEW_PREFIX STREQUAL "" AND NOT HEW_PREFIX MATCHES "^[A-Za-z_][A-Za-z_0-9]*$")
  message(FATAL_ERROR "HEW_PREFIX: '${HEW_PREFIX}' is no beginning of a C name")
endif()

set(HEW_SETTINGS_NAME MALLOC_CONF)
if(HEW_PREFIX)
  string(TOUPPER "${HEW_PREFIX}MALLOC_CONF" HEW_SETTINGS_NAME)
endif()

# One line a name for objcopy: HEW_RENAMES "old new", HEW_LOCAL_NAMES "name".
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/api/names.def)
file(STRINGS ${CMAKE_SOURCE_DIR}/src/api/names.def rows REGEX "^HEW_NAME\\(")
set(HEW_RENAMES "")
set(HEW_LOCAL_NAMES "")
foreach(row IN LISTS rows)
  string(REGEX MATCH "^HEW_NAME\\(([A-Za-z_0-9]+), ([A-Z]+)," matched "${row}")
  string(REGEX REPLACE "^je_" "" plain ${CMAKE_MATCH_1})
  if(CMAKE_MATCH_2 MATCHES "LIBC|CXX")
    string(APPEND HEW_LOCAL_NAMES "${CMAKE_MATCH_1}\n")
  elseif(NOT CMAKE_MATCH_2 STREQUAL HEW)
    string(APPEND HEW_RENAMES "${CMAKE_MATCH_1} ${HEW_PREFIX}${plain}\n")
  endif()
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/names.renamed CONTENT "${HEW_RENAMES}")
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/names.local CONTENT "${HEW_LOCAL_NAMES}")

# jemalloc/jemalloc.h as programs see it: the lines "#define je_malloc malloc" tell the true names.
file(READ ${CMAKE_SOURCE_DIR}/include/jemalloc/jemalloc.h header)
if(HEW_PREFIX)
  string(REGEX REPLACE "(#define je_([a-z0-9_]+) )[a-z0-9_]+" "\\1${HEW_PREFIX}\\2" header "${header}")
  string(REPLACE " je_get_defrag_hint(" " ${HEW_PREFIX}get_defrag_hint(" header "${header}")
endif()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/include/jemalloc/jemalloc.h)
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/include/jemalloc/jemalloc.h CONTENT "${header}")
