# The headers that program and plugins must agree on, as one hash. A plugin that was
# built from other headers has another id, and the loader refuses it.
set(handshake_headers harness/device/device.h harness/device/driver.h harness/device/types/activity.h
    harness/device/types/collective.h harness/device/ranks_driver.h
    harness/base/status.h kernels/kernels.h)
file(GLOB_RECURSE kernel_headers RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS kernels/*.h)
list(APPEND handshake_headers ${kernel_headers})
set(hashes ${PROJECT_VERSION})
foreach(header IN LISTS handshake_headers)
  file(SHA256 ${CMAKE_SOURCE_DIR}/${header} hash)
  string(APPEND hashes ${hash})
  set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
endforeach()
string(SHA256 hashes "${hashes}")
string(SUBSTRING ${hashes} 0 16 CHOKEPOINT_BUILD_ID)
