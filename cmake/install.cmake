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

target_include_directories(hew INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS hew EXPORT hew LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET hew_trace)
  install(TARGETS hew_trace LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(FILES ${CMAKE_BINARY_DIR}/libhew.a DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/hew ${CMAKE_BINARY_DIR}/include/jemalloc DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

install(EXPORT hew NAMESPACE hew:: FILE hew-targets.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/hew)
include(CMakePackageConfigHelpers)
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/hew-config.cmake.in ${CMAKE_BINARY_DIR}/hew-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/hew)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/hew-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/hew-config.cmake ${CMAKE_BINARY_DIR}/hew-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/hew)

# The loader takes any file of the right name for libjemalloc.so.2, whatever SONAME it has.
if(HEW_AS_JEMALLOC)
  foreach(link libjemalloc.so.2 libjemalloc.so)
    install(CODE "file(CREATE_LINK libhew.so \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/${link}\" SYMBOLIC)")
  endforeach()
  install(CODE "file(CREATE_LINK libhew.a \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/libjemalloc.a\" SYMBOLIC)")
endif()

file(RELATIVE_PATH HEW_PREFIX_FROM_PC /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
set(HEW_PC_NAME hew)
set(HEW_PC_VERSION ${PROJECT_VERSION})
configure_file(${CMAKE_SOURCE_DIR}/cmake/hew.pc.in ${CMAKE_BINARY_DIR}/hew.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/hew.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(HEW_AS_JEMALLOC)
  set(HEW_PC_NAME jemalloc)
  set(HEW_PC_VERSION 5.3.1)
  configure_file(${CMAKE_SOURCE_DIR}/cmake/hew.pc.in ${CMAKE_BINARY_DIR}/jemalloc.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/jemalloc.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
