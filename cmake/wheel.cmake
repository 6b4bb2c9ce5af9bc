# SPDX-License-Identifier: MIT
# What goes into the Python wheel: the shared library alone, as hew/lib/libhew.so.  pyproject.toml installs only this
# component; SKBUILD is set by scikit-build-core and by nobody else.
if(SKBUILD)
  install(TARGETS hew LIBRARY DESTINATION lib COMPONENT wheel NAMELINK_SKIP)
endif()
