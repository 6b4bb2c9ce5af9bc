# SPDX-License-Identifier: MIT
# cmake --install: library, archive, headers, pkg-config and find_package(hew).  In a wheel: what the tool needs.
include(GNUInstallDirs)
if(SKBUILD)
  install(TARGETS hew LIBRARY DESTINATION lib COMPONENT wheel)
  install(TARGETS hew_trace LIBRARY DESTINATION lib COMPONENT wheel)
  if(HEW_REPLAY)
    # Beside the libraries: only the tool starts them.
    install(TARGETS hew_replay hew_simulate RUNTIME DESTINATION lib COMPONENT wheel)
  endif()
  return()
endif()

target_include_directories(hew INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include)
# The file carries its version; the loader's name and the linker's are links to it, and so are jemalloc's: the loader takes any file of
# the right name for libjemalloc.so.2.
set(HEW_FILE libhew.so.${PROJECT_VERSION})
install(PROGRAMS $<TARGET_FILE:hew> DESTINATION ${CMAKE_INSTALL_LIBDIR} RENAME ${HEW_FILE})
set(links ${HEW_SONAME} libhew.so.${PROJECT_VERSION_MAJOR} libhew.so)
if(HEW_AS_JEMALLOC)
  list(APPEND links libjemalloc.so.2 libjemalloc.so libjemalloc.a)
endif()
list(REMOVE_DUPLICATES links)
configure_file(${PROJECT_SOURCE_DIR}/cmake/links.cmake.in ${PROJECT_BINARY_DIR}/links.cmake @ONLY)
install(SCRIPT ${PROJECT_BINARY_DIR}/links.cmake)
if(TARGET hew_trace)
  install(TARGETS hew_trace LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(FILES ${PROJECT_BINARY_DIR}/libhew.a DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/hew ${PROJECT_BINARY_DIR}/include/jemalloc DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

include(CMakePackageConfigHelpers)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/hew-config.cmake.in ${PROJECT_BINARY_DIR}/hew-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/hew)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/hew-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/hew-config.cmake ${PROJECT_BINARY_DIR}/hew-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/hew)

file(RELATIVE_PATH HEW_PREFIX_FROM_PC /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
set(HEW_PC_NAME hew)
set(HEW_PC_VERSION ${PROJECT_VERSION})
configure_file(${PROJECT_SOURCE_DIR}/cmake/hew.pc.in ${PROJECT_BINARY_DIR}/hew.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/hew.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(HEW_AS_JEMALLOC)
  set(HEW_PC_NAME jemalloc)
  set(HEW_PC_VERSION 5.3.1)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/hew.pc.in ${PROJECT_BINARY_DIR}/jemalloc.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/jemalloc.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

if(PROJECT_IS_TOP_LEVEL)
  add_custom_target(uninstall VERBATIM COMMENT "Removing what install_manifest.txt names"
    COMMAND ${CMAKE_COMMAND} -DMANIFEST=${PROJECT_BINARY_DIR}/install_manifest.txt -P ${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake)
endif()
