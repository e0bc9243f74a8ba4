# The pack as a component of ESP-IDF. idf_component.yml names the component that is TFLM.
# No CONFIGURE_DEPENDS: ESP-IDF reads this once in a script, where that is an error.
file(GLOB_RECURSE sources ${CMAKE_CURRENT_LIST_DIR}/src/*.cc)
idf_component_register(SRCS ${sources} INCLUDE_DIRS include)
