# Cortex-M with GCC: cmake -DCMAKE_TOOLCHAIN_FILE=.../arm-none-eabi.cmake -DTFLFUSE_CPU=cortex-m4 ...
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(CMAKE_CXX_COMPILER arm-none-eabi-g++)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TFLFUSE_CPU)

set(float_of_cortex-m0plus -mfloat-abi=soft)
set(float_of_cortex-m3 -mfloat-abi=soft)
set(float_of_cortex-m4 "-mfloat-abi=hard -mfpu=fpv4-sp-d16")
set(float_of_cortex-m7 "-mfloat-abi=hard -mfpu=fpv5-d16")
set(float_of_cortex-m33 "-mfloat-abi=hard -mfpu=fpv5-sp-d16")
set(float_of_cortex-m55 -mfloat-abi=hard)
if(NOT DEFINED float_of_${TFLFUSE_CPU})
  message(FATAL_ERROR "TFLFUSE_CPU is '${TFLFUSE_CPU}', not one of cortex-m0plus, -m3, -m4, -m7, -m33, -m55")
endif()

set(CMAKE_CXX_FLAGS_INIT "-mcpu=${TFLFUSE_CPU} -mthumb ${float_of_${TFLFUSE_CPU}} -fno-exceptions -fno-rtti \
-ffunction-sections -fdata-sections")
