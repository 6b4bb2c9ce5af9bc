# SPDX-License-Identifier: MIT
# A libc.so.6 that has the names of cmake/glibc.txt in the versions told there, and nothing else: libhew.so is linked
# against it in place of the compiler's, and so asks for no newer glibc than it needs (decision 0038).  It is never loaded.
option(HEW_OLD_GLIBC "libhew.so starts with glibc 2.17; OFF: with the compiler's glibc and newer, for coverage and the like" ON)
include(CheckSymbolExists)
check_symbol_exists(__GLIBC__ features.h HEW_HAS_GLIBC)
set(HEW_GLIBC "") # the file, where there is one
if(NOT HEW_OLD_GLIBC OR NOT HEW_HAS_GLIBC OR HEW_SANITIZE OR HEW_FUZZ)
  return()
endif()

set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/glibc.txt)
file(STRINGS ${PROJECT_SOURCE_DIR}/cmake/glibc.txt lines REGEX "^[a-zA-Z]")
set(versions "")
set(names "")
foreach(line IN LISTS lines)
  string(REGEX REPLACE "^weak " "" line "${line}")
  string(REPLACE " " ";" words "${line}")
  list(POP_FRONT words version)
  list(APPEND names ${words})
  if(NOT version STREQUAL unversioned)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
      set(version GLIBC_2.17)
    endif()
    list(APPEND versions ${version})
    list(APPEND names_of_${version} ${words})
  endif()
endforeach()
list(REMOVE_DUPLICATES versions)
set(map "")
foreach(version IN LISTS versions)
  list(JOIN names_of_${version} "; " joined)
  string(APPEND map "${version} { ${joined}; };\n")
endforeach()
list(TRANSFORM names REPLACE "(.+)" "STUB(\\1)\n" OUTPUT_VARIABLE stubs)
list(JOIN stubs "" stubs)
set(folder ${PROJECT_BINARY_DIR}/glibc)
file(CONFIGURE OUTPUT ${folder}/libc.map CONTENT "@map@" @ONLY)
file(CONFIGURE OUTPUT ${folder}/libc.c CONTENT [[
#define STUB(name) __asm__(".globl " #name "\n.type " #name ", %function\n" #name ":");
@stubs@]] @ONLY)
set(HEW_GLIBC ${folder}/libc.so.6)
add_custom_command(OUTPUT ${HEW_GLIBC}
  COMMAND ${CMAKE_C_COMPILER} -shared -nostdlib -Wl,-soname,libc.so.6 -Wl,--version-script,${folder}/libc.map
    -o ${HEW_GLIBC} ${folder}/libc.c
  DEPENDS ${folder}/libc.map ${folder}/libc.c VERBATIM)
add_custom_target(hew_glibc DEPENDS ${HEW_GLIBC})
