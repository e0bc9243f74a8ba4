# find_package(tflfuse) builds the pack from source, as firmware wants all its code compiled for its own CPU:
#
#     list(APPEND CMAKE_PREFIX_PATH <the folder that holds the pack's CMakeLists.txt>)
#     find_package(tflfuse 0.1 REQUIRED CONFIG)
#     target_link_libraries(tflfuse_ops PUBLIC <the target that is TFLM>)
#     target_link_libraries(<the application> PRIVATE tflfuse_ops)
if(NOT TARGET tflfuse_ops)
  add_subdirectory(${CMAKE_CURRENT_LIST_DIR}/.. ${CMAKE_BINARY_DIR}/tflfuse)
endif()
