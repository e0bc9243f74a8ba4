"""Builds the kernel pack as a library for the TFLM interpreter of the tflite-micro wheel; all else is in setup.cfg.

Without a C++ compiler the package installs all the same, and says what is missing where the library is first needed.
"""
from glob import glob

from setuptools import Extension, setup

SOURCES = sorted(glob("tflm_kernels/src/kernels/*.cc") + glob("tflm_kernels/src/tflm/*.cc")
                 + glob("tflm_kernels/python/*.cc"))

setup(ext_modules=[Extension(
    "tflfuse._kernels", SOURCES, language="c++", optional=True,
    include_dirs=["tflm_kernels/include", "tflm_kernels/python"],
    depends=sorted(glob("tflm_kernels/**/*.h", recursive=True)),
    extra_compile_args=["-std=c++17", "-O3", "-fno-exceptions", "-fno-rtti", "-fvisibility=hidden"])])
