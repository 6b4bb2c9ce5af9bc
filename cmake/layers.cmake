# SPDX-License-Identifier: MIT
# Each layer of src/LAYERS is a static library of its own that links only lower layers.
add_library(hew_flags INTERFACE)
target_include_directories(hew_flags INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
target_compile_definitions(hew_flags INTERFACE _GNU_SOURCE HEW_CHECK_LEVEL=${HEW_CHECK_LEVEL}
  $<$<NOT:$<EQUAL:${HEW_LG_QUANTUM},4>>:HEW_LG_QUANTUM=${HEW_LG_QUANTUM}>)
target_compile_options(hew_flags INTERFACE
  -Wall -Wextra -Wshadow -Wpointer-arith -Wno-unused-parameter
  $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes -Wmissing-prototypes>
  -fno-strict-aliasing -ffunction-sections -fdata-sections)
if(HEW_SANITIZE)
  target_compile_options(hew_flags INTERFACE -fsanitize=${HEW_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(hew_flags INTERFACE -fsanitize=${HEW_SANITIZE})
endif()
if(HEW_FUZZ) # the fuzzer follows which branches an input takes
  target_compile_options(hew_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# The allocator itself: hidden by default, no builtin malloc assumptions, initial-exec thread data.
add_library(hew_core_flags INTERFACE)
target_link_libraries(hew_core_flags INTERFACE hew_flags)
target_compile_definitions(hew_core_flags INTERFACE HEW_PREFIX="${HEW_PREFIX}" HEW_SETTINGS_NAME="${HEW_SETTINGS_NAME}" HEW_OWN_SETTINGS_NAME="${HEW_OWN_SETTINGS_NAME}"
  HEW_MALLOC_CONF="${HEW_MALLOC_CONF}")
target_compile_options(hew_core_flags INTERFACE
  -fvisibility=hidden -ftls-model=initial-exec -fno-builtin-malloc -fno-builtin-calloc
  -fno-builtin-realloc -fno-builtin-free -fexceptions -fno-plt
  # Without it the fast paths keep one lea less: the pass splits an address that x86 adds for nothing.
  $<$<C_COMPILER_ID:GNU>:-fno-tree-slsr>)

# In the library, what few programs ever call lies behind the rest: a file's pages come in 64 KiB at a time, and a small
# program should not pay for the profiler.
set(HEW_RARE_LAYERS control stats guard prof pool)

# A layer's files lie in its folder, and in those of its rooms.
file(STRINGS ${PROJECT_SOURCE_DIR}/src/LAYERS rows REGEX "^ *[a-z]+$")
set(HEW_LAYERS "")
foreach(row IN LISTS rows)
  if(row MATCHES "^ +([a-z]+)$")
    list(APPEND HEW_FOLDERS_${layer} ${layer}/${CMAKE_MATCH_1})
  else()
    set(layer ${row})
    list(APPEND HEW_LAYERS ${layer})
    set(HEW_FOLDERS_${layer} ${layer})
  endif()
endforeach()
set(HEW_SOURCES "")
set(HEW_LAYER_OBJECTS "")
set(HEW_RARE_OBJECTS "")
set(HEW_LOWER hew_core_flags)
foreach(layer IN LISTS HEW_LAYERS)
  list(TRANSFORM HEW_FOLDERS_${layer} REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/src/\\1/*.c;${PROJECT_SOURCE_DIR}/src/\\1/*.cpp" OUTPUT_VARIABLE patterns)
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  list(APPEND HEW_SOURCES ${sources})
  if(sources)
    add_library(hew_${layer}_objects OBJECT ${sources})
    target_link_libraries(hew_${layer}_objects PRIVATE hew_core_flags)
    if(layer IN_LIST HEW_RARE_LAYERS)
      list(PREPEND HEW_RARE_OBJECTS $<TARGET_OBJECTS:hew_${layer}_objects>)
    else()
      list(APPEND HEW_LAYER_OBJECTS $<TARGET_OBJECTS:hew_${layer}_objects>)
    endif()
    add_library(hew_${layer} STATIC $<TARGET_OBJECTS:hew_${layer}_objects>)
    target_link_libraries(hew_${layer} PUBLIC ${HEW_LOWER})
    set(HEW_LOWER hew_${layer})
  endif()
  set(HEW_UP_TO_${layer} ${HEW_LOWER})
endforeach()
list(APPEND HEW_LAYER_OBJECTS ${HEW_RARE_OBJECTS})
