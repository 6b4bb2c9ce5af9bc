# SPDX-License-Identifier: MIT
# cmake -DPORT_DIR=packaging/vcpkg/hew -DPACKAGES=FOLDER -DTREES=FOLDER -P vcpkg.cmake: builds the port without vcpkg, which no package
# registry has.  Each function does what vcpkg's documentation says of the one of its name, for the parameters that the portfile gives;
# an unknown parameter, and a function that is not here, end the test.
cmake_minimum_required(VERSION 3.21)
set(PORT hew)
set(CURRENT_PACKAGES_DIR ${PACKAGES})
set(BUILDS release debug) # as vcpkg builds each port twice

function(succeed)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(status)
    message(FATAL_ERROR "${ARGN} failed:\n${said}")
  endif()
endfunction()

function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "unknown: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  foreach(build IN LISTS BUILDS)
    set(prefix ${PACKAGES})
    set(type Release)
    if(build STREQUAL debug)
      string(APPEND prefix /debug)
      set(type Debug)
    endif()
    succeed(${CMAKE_COMMAND} -S ${arg_SOURCE_PATH} -B ${TREES}/${build} -DCMAKE_BUILD_TYPE=${type} -DCMAKE_INSTALL_PREFIX=${prefix}
            -DCMAKE_INSTALL_LIBDIR=lib -DBUILD_SHARED_LIBS=OFF ${arg_OPTIONS})
  endforeach()
endfunction()

function(vcpkg_cmake_install)
  foreach(build IN LISTS BUILDS)
    succeed(${CMAKE_COMMAND} --build ${TREES}/${build} --target install --parallel 2)
  endforeach()
endfunction()

# The package's files of CMake move to share/hew, two levels below the prefix, and the debug build's go.
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "CONFIG_PATH" "")
  file(GLOB files ${PACKAGES}/${arg_CONFIG_PATH}/*.cmake)
  if(NOT files OR NOT EXISTS ${PACKAGES}/debug/${arg_CONFIG_PATH})
    message(FATAL_ERROR "no files of CMake in ${arg_CONFIG_PATH}")
  endif()
  file(COPY ${files} DESTINATION ${PACKAGES}/share/${PORT})
  file(REMOVE_RECURSE ${PACKAGES}/lib/cmake ${PACKAGES}/debug/lib/cmake)
  file(READ ${PACKAGES}/share/${PORT}/hew-config.cmake text)
  string(REGEX REPLACE "(PACKAGE_PREFIX_DIR \"[^\"]*LIST_DIR}/)(\\.\\./)+\"" "\\1../../\"" text "${text}")
  file(WRITE ${PACKAGES}/share/${PORT}/hew-config.cmake "${text}")
endfunction()

function(vcpkg_fixup_pkgconfig)
  foreach(file lib/pkgconfig/hew.pc debug/lib/pkgconfig/hew.pc)
    file(READ ${PACKAGES}/${file} text)
    if(text MATCHES "${PACKAGES}")
      message(FATAL_ERROR "${file} names the folder of the build")
    endif()
  endforeach()
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
  file(INSTALL ${arg_FILE_LIST} DESTINATION ${PACKAGES}/share/${PORT} RENAME copyright)
endfunction()

include(${PORT_DIR}/portfile.cmake)

# What vcpkg looks at after a build.
foreach(unwanted debug/include debug/share bin debug/bin lib/cmake)
  if(EXISTS ${PACKAGES}/${unwanted})
    message(FATAL_ERROR "the package has ${unwanted}")
  endif()
endforeach()
foreach(wanted share/hew/copyright include/hew/hew.h lib/libhew.a debug/lib/libhew.a)
  if(NOT EXISTS ${PACKAGES}/${wanted})
    message(FATAL_ERROR "the package has no ${wanted}")
  endif()
endforeach()
