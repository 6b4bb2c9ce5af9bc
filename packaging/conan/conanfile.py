# SPDX-License-Identifier: MIT
"""hew for Conan 2:  conan create packaging/conan --version 0.1.0"""

import os

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, rm


class HewConan(ConanFile):
    name = "hew"
    license = "MIT"
    description = "A memory allocator for Linux that is fast at every size and returns memory while idle"
    topics = ("malloc", "allocator", "memory")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "prefix": [None, "ANY"], "lg_quantum": [3, 4]}
    default_options = {"shared": False, "prefix": None, "lg_quantum": 4}

    def export_sources(self):
        sources = os.path.join(self.recipe_folder, "..", "..")
        for part in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*", "trace/*"):
            copy(self, part, sources, self.export_sources_folder)

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("hew runs on Linux only")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["HEW_TESTS"] = False
        toolchain.cache_variables["HEW_BENCH"] = False
        toolchain.cache_variables["HEW_PREFIX"] = str(self.options.prefix or "")
        toolchain.cache_variables["HEW_LG_QUANTUM"] = str(self.options.lg_quantum)
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build(target=["hew", "hew_static"] + ([] if self.options.prefix else ["hew_trace"]))

    def package(self):
        CMake(self).install()
        unwanted = "libhew.a" if self.options.shared else "libhew*.so*"
        rm(self, unwanted, os.path.join(self.package_folder, "lib"))
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "hew")
        self.cpp_info.set_property("pkg_config_name", "hew")
        self.cpp_info.set_property("cmake_target_name", "hew::hew" if self.options.shared else "hew::static")
        self.cpp_info.libs = ["hew"]
        if not self.options.shared:
            self.cpp_info.system_libs = ["pthread", "dl"]
