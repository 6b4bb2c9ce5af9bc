# SPDX-License-Identifier: MIT
# libhew.so and libhew.a: every layer in one.  The archive holds one object file, so that a static link takes
# malloc, free and operator new from the same place or from nowhere.
set(HEW_OBJECT ${PROJECT_BINARY_DIR}/hew.o)
hew_merge(${HEW_OBJECT} "${HEW_PREFIX}")
add_custom_target(hew_object DEPENDS ${HEW_OBJECT})
set(HEW_SHARED_FROM ${HEW_LAYER_OBJECTS})
if(HEW_PREFIX)
  set(HEW_SHARED_FROM ${HEW_OBJECT})
  set_source_files_properties(${HEW_OBJECT} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
endif()

# libc's functions of memory and text, ours alone; a sanitizer and a fuzzer look at libc's.
set(HEW_OWN_BYTES "")
if(NOT HEW_SANITIZE AND NOT HEW_FUZZ)
  add_library(hew_bytes OBJECT ${PROJECT_SOURCE_DIR}/src/os/private/bytes.c)
  target_link_libraries(hew_bytes PRIVATE hew_core_flags)
  target_compile_options(hew_bytes PRIVATE -O2 -ffreestanding -fno-builtin -fno-stack-protector -U_FORTIFY_SOURCE
    $<$<C_COMPILER_ID:GNU>:-fno-tree-loop-distribute-patterns>)
  set(HEW_OWN_BYTES $<TARGET_OBJECTS:hew_bytes>)
  list(APPEND HEW_SHARED_FROM ${HEW_OWN_BYTES})
endif()

# What takes the place of a function of the loader's or the system's: not with a prefix, where we are not the program's malloc, not in the
# archive, where a static program has libc's own, and not under a sanitizer, which does the same.
if(NOT HEW_PREFIX AND NOT HEW_SANITIZE)
  foreach(name dlopen prctl)
    list(APPEND HEW_SHARED_FROM ${PROJECT_SOURCE_DIR}/src/api/shared/${name}.c)
    set_source_files_properties(${PROJECT_SOURCE_DIR}/src/api/shared/${name}.c PROPERTIES COMPILE_OPTIONS -O2)
  endforeach()
endif()

add_library(hew SHARED ${HEW_SHARED_FROM})
set_target_properties(hew PROPERTIES LINKER_LANGUAGE C OUTPUT_NAME hew LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
target_link_libraries(hew PRIVATE hew_core_flags)
if(HEW_GLIBC)
  add_dependencies(hew hew_glibc)
  target_link_options(hew PRIVATE -nodefaultlibs -Wl,-z,defs)
  target_link_libraries(hew PRIVATE -Wl,${HEW_GLIBC} -l:libc_nonshared.a -lgcc) # the second: glibc's atexit()
  set_property(TARGET hew APPEND PROPERTY LINK_DEPENDS ${HEW_GLIBC})
else()
  target_link_libraries(hew PRIVATE ${CMAKE_DL_LIBS})
endif()
# cmake/first.txt and cmake/often.txt become an addition to the linker's own script.  Code and constants share one segment, since each one costs
# a process pieces of its own; and the compiler's start files, which would run code at both ends of the library, are left
# out: we have no static destructors, and are never unloaded.  Of the extent map's roots a process touches those of the highest
# addresses, and of the table of arenas the front: most often on the same page, where they stand so.
foreach(part first often)
  file(STRINGS ${PROJECT_SOURCE_DIR}/cmake/${part}.txt names REGEX "^[a-z]")
  string(REGEX REPLACE "[; ]+" ";" names "${names}")
  list(TRANSFORM names REPLACE "(.+)" "*(.rodata.\\1 .rodata.\\1.*)\n" OUTPUT_VARIABLE ${part}_constants)
  list(TRANSFORM names REPLACE "(.+)" "*(.text.\\1 .text.\\1.constprop.* .text.\\1.isra.* .text.unlikely.\\1 .text.startup.\\1)\n" OUTPUT_VARIABLE ${part}_functions)
  list(TRANSFORM names REPLACE "(.+)" "*(.bss.\\1)\n" OUTPUT_VARIABLE ${part}_variables)
  foreach(kind constants functions variables)
    list(JOIN ${part}_${kind} "" ${part}_${kind})
  endforeach()
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/first.ld @ONLY CONTENT "SECTIONS {
.rodata.first : {
*(.rodata.cst*)
@first_constants@}
.text.first : {
@first_functions@PROVIDE_HIDDEN(__dso_handle = .);
}
.rodata.often : {
@often_constants@*(EXCLUDE_FILE(*/src/prof/* */src/stats/* */src/control/settings/* */src/control/mallctl/* */src/control/remote/* */src/pool/* */src/api/*) .rodata.str*) }
.text.often : {
@often_functions@} }
INSERT BEFORE .text;
SECTIONS {
.bss.first (NOLOAD) : {
@first_variables@. = ALIGN(4096) + 3840;
*(.bss.hew_map_roots)
*(.bss.hew_arenas) } }
INSERT BEFORE .bss;
")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/first.txt ${PROJECT_SOURCE_DIR}/cmake/often.txt)
include(CheckLinkerFlag) # not every linker reads scripts
check_linker_flag(C -Wl,-T,${PROJECT_BINARY_DIR}/first.ld HEW_LINKS_FIRST)
if(HEW_LINKS_FIRST AND NOT HEW_SANITIZE AND NOT HEW_FUZZ)
  target_link_options(hew PRIVATE -nostartfiles -Wl,-z,noseparate-code -Wl,-T,${PROJECT_BINARY_DIR}/first.ld)
  set_property(TARGET hew APPEND PROPERTY LINK_DEPENDS ${PROJECT_BINARY_DIR}/first.ld)
endif()
target_link_options(hew PRIVATE -Wl,--as-needed -Wl,-z,now -Wl,-z,relro -Wl,--gc-sections -Wl,-z,noexecstack
  -Wl,-z,nodelete  # threads, fork handlers and keys hold addresses in it for good
  -Wl,-z,initfirst) # our handlers of fork are registered before all others: src/api/fork.c
# The file here is libhew.so, which is what people preload; what links it asks the loader for the versioned name.
set_target_properties(hew PROPERTIES NO_SONAME ON)
target_link_options(hew PRIVATE -Wl,-soname,${HEW_SONAME})
add_custom_command(TARGET hew POST_BUILD VERBATIM
  COMMAND ${CMAKE_COMMAND} -E create_symlink libhew.so ${PROJECT_BINARY_DIR}/${HEW_SONAME})
add_library(hew::hew ALIAS hew)

file(GLOB archived CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/api/archive/*.c)
add_library(hew_archived OBJECT ${archived})
target_link_libraries(hew_archived PRIVATE hew_core_flags)
set(HEW_ARCHIVED ${PROJECT_BINARY_DIR}/archive/hew.o)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/archive)

# Local symbols in the archive: the program around it has libc's.
file(STRINGS ${PROJECT_SOURCE_DIR}/src/os/private/bytes.c own REGEX "^[a-z_]+ .*[a-z][)];$")
list(FILTER own EXCLUDE REGEX "^typedef")
list(TRANSFORM own REPLACE "^[^(]* [*]?([a-z_]+)[(].*$" "--localize-symbol=\\1")
add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/libhew.a
  COMMAND ${CMAKE_LINKER} -r -o ${HEW_ARCHIVED} ${HEW_OBJECT} "$<TARGET_OBJECTS:hew_archived>" ${HEW_OWN_BYTES}
  COMMAND ${CMAKE_OBJCOPY} ${own} ${HEW_ARCHIVED}
  COMMAND ${CMAKE_COMMAND} -E rm -f ${PROJECT_BINARY_DIR}/libhew.a
  COMMAND ${CMAKE_AR} rcs ${PROJECT_BINARY_DIR}/libhew.a ${HEW_ARCHIVED}
  DEPENDS ${HEW_OBJECT} $<TARGET_OBJECTS:hew_archived> ${HEW_OWN_BYTES} COMMAND_EXPAND_LISTS VERBATIM)
add_custom_target(hew_static ALL DEPENDS ${PROJECT_BINARY_DIR}/libhew.a)
add_dependencies(hew_object hew_api) # one of the two makes the objects before the other looks at them
add_dependencies(hew hew_object)
# With make, a rule's objects of another target are made only if that target is named.
add_dependencies(hew_static hew_object hew_archived)
if(HEW_OWN_BYTES)
  add_dependencies(hew_static hew_bytes)
endif()

# hew::static, as find_package(hew) has it, for a project around this one.
if(NOT HEW_SANITIZE AND NOT HEW_FUZZ)
  find_package(Threads REQUIRED)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/include)
  add_library(hew::static STATIC IMPORTED GLOBAL)
  set_target_properties(hew::static PROPERTIES
    IMPORTED_LOCATION ${PROJECT_BINARY_DIR}/libhew.a
    INTERFACE_INCLUDE_DIRECTORIES "${PROJECT_SOURCE_DIR}/include;${PROJECT_BINARY_DIR}/include"
    INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS}")
  add_dependencies(hew::static hew_static)
endif()
