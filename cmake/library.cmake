# SPDX-License-Identifier: MIT
# libhew.so and libhew.a: every layer in one.  The archive holds one object file, so that a static link takes
# malloc, free and operator new from the same place or from nowhere.
add_library(hew SHARED ${HEW_LAYER_OBJECTS})
set_target_properties(hew PROPERTIES LINKER_LANGUAGE C OUTPUT_NAME hew LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
target_link_libraries(hew PRIVATE hew_core_flags)
target_link_options(hew PRIVATE -Wl,--as-needed -Wl,-z,now -Wl,-z,relro -Wl,--gc-sections -Wl,-z,noexecstack
  -Wl,-z,nodelete) # threads, fork handlers and keys hold addresses in it for good

add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/libhew.a
  COMMAND ${CMAKE_LINKER} -r -o ${CMAKE_BINARY_DIR}/hew.o ${HEW_LAYER_OBJECTS}
  COMMAND ${CMAKE_COMMAND} -E rm -f ${CMAKE_BINARY_DIR}/libhew.a
  COMMAND ${CMAKE_AR} rcs ${CMAKE_BINARY_DIR}/libhew.a ${CMAKE_BINARY_DIR}/hew.o
  DEPENDS ${HEW_LAYER_OBJECTS} COMMAND_EXPAND_LISTS VERBATIM)
add_custom_target(hew_static ALL DEPENDS ${CMAKE_BINARY_DIR}/libhew.a)
add_dependencies(hew_static hew) # the objects are up to date before the archive looks at them
