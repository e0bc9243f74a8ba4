# 32-bit RISC-V with GCC and picolibc: cmake -DCMAKE_TOOLCHAIN_FILE=.../riscv32.cmake ...
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR riscv32)
set(CMAKE_CXX_COMPILER riscv64-unknown-elf-g++)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_CXX_FLAGS_INIT "-march=rv32imc -mabi=ilp32 --specs=picolibc.specs -fno-exceptions -fno-rtti \
-ffunction-sections -fdata-sections")
