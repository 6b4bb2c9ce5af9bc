# SPDX-License-Identifier: MIT
# cmake --install: library, archive, headers, pkg-config and find_package(hew).  In a wheel: the library alone.
include(GNUInstallDirs)
if(SKBUILD)
  install(TARGETS hew LIBRARY DESTINATION lib COMPONENT wheel)
  return()
endif()

target_include_directories(hew INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS hew EXPORT hew LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${CMAKE_BINARY_DIR}/libhew.a DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/hew DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

install(EXPORT hew NAMESPACE hew:: FILE hew-targets.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/hew)
include(CMakePackageConfigHelpers)
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/hew-config.cmake.in ${CMAKE_BINARY_DIR}/hew-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/hew)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/hew-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/hew-config.cmake ${CMAKE_BINARY_DIR}/hew-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/hew)

file(RELATIVE_PATH HEW_PREFIX_FROM_PC /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_SOURCE_DIR}/cmake/hew.pc.in ${CMAKE_BINARY_DIR}/hew.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/hew.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
