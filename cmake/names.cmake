# SPDX-License-Identifier: MIT
# -DHEW_PREFIX=je_: the library stands beside another malloc.  Its C names get the prefix, C++'s operators and libc's
# own names are left out, and so are the plain names of its settings, as with jemalloc's --with-jemalloc-prefix.
#
# The sources know nothing of it: the one object file that both libraries are made of is renamed afterwards, after
# src/api/names.def.  So the unit tests of a prefixed build are those of any build.
set(HEW_PREFIX "" CACHE STRING "put before every C name, such as je_")
if(NOT HEW_PREFIX STREQUAL "" AND NOT HEW_PREFIX MATCHES "^[A-Za-z_][A-Za-z_0-9]*$")
  message(FATAL_ERROR "HEW_PREFIX: '${HEW_PREFIX}' is no beginning of a C name")
endif()
string(TOUPPER "${HEW_PREFIX}MALLOC_CONF" HEW_SETTINGS_NAME)
string(TOUPPER "${HEW_PREFIX}HEW_CONF" HEW_OWN_SETTINGS_NAME)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/src/api/names.def ${PROJECT_SOURCE_DIR}/include/jemalloc/jemalloc.h)

# What objcopy reads: <directory>/names.renamed has "old new" lines, <directory>/names.local names that become local.
function(hew_write_names directory prefix)
  file(STRINGS ${PROJECT_SOURCE_DIR}/src/api/names.def rows REGEX "^HEW_NAME\\(")
  foreach(row IN LISTS rows)
    string(REGEX MATCH "^HEW_NAME\\(([A-Za-z_0-9]+), ([A-Z]+)," matched "${row}")
    set(name ${CMAKE_MATCH_1})
    set(group ${CMAKE_MATCH_2})
    string(REGEX REPLACE "^je_" "" plain ${name})
    if(group STREQUAL LIBC)
      string(APPEND local "${name}\n")
    elseif(NOT group MATCHES "HEW|CXX")
      string(APPEND renamed "${name} ${prefix}${plain}\n")
    endif()
  endforeach()
  file(CONFIGURE OUTPUT ${directory}/names.renamed CONTENT "${renamed}")
  file(CONFIGURE OUTPUT ${directory}/names.local CONTENT "${local}")
endfunction()

# jemalloc/jemalloc.h as programs see it: the lines "#define je_malloc malloc" tell the true names.
function(hew_write_header directory prefix)
  file(READ ${PROJECT_SOURCE_DIR}/include/jemalloc/jemalloc.h header)
  if(prefix)
    string(REGEX REPLACE "(#define je_([a-z0-9_]+) )[a-z0-9_]+" "\\1${prefix}\\2" header "${header}")
    string(REPLACE " je_get_defrag_hint(" " ${prefix}get_defrag_hint(" header "${header}")
  endif()
  file(GENERATE OUTPUT ${directory}/include/jemalloc/jemalloc.h CONTENT "${header}")
endfunction()

# hew_merge(object prefix): every layer in one object file; with a prefix, nothing is to be seen but the renamed functions.
function(hew_merge object prefix)
  get_filename_component(directory ${object} DIRECTORY)
  set(parts "${HEW_LAYER_OBJECTS}")
  set(depends ${HEW_LAYER_OBJECTS})
  if(prefix)
    hew_write_names(${directory} ${prefix})
    set(parts "$<FILTER:${HEW_LAYER_OBJECTS},EXCLUDE,/api/new(_nothrow)?[.]>")
    set(rename COMMAND ${CMAKE_OBJCOPY} --redefine-syms=${directory}/names.renamed
      --localize-symbols=${directory}/names.local --localize-hidden ${object})
    list(APPEND depends ${directory}/names.renamed ${directory}/names.local)
  endif()
  add_custom_command(OUTPUT ${object}
    COMMAND ${CMAKE_LINKER} -r -o ${object} "${parts}"
    ${rename}
    DEPENDS ${depends} COMMAND_EXPAND_LISTS VERBATIM)
endfunction()

hew_write_header(${PROJECT_BINARY_DIR} "${HEW_PREFIX}")
