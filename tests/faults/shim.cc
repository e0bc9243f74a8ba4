// Preloaded into Python: lets one call of the C library in a watched folder fail, or ends the process there.
//
// fault_arm says in which folder, at which call from 1, and what happens: an errno > 0 is returned instead of the call,
// a signal < 0 is sent to the process before the call, kTruncate halves the victim before the call. fault_calls says how
// many calls there have been: of all that open, read, write, make durable, name, allow or remove a file.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

namespace {

constexpr int kTruncate = -1000;

char folder[PATH_MAX], victim[PATH_MAX];
long at = 0, calls = 0;
int action = 0;

bool IsInside(const char* path) {
  const size_t length = strlen(folder);
  return length > 0 && strncmp(path, folder, length) == 0;
}

bool IsInside(int fd) {
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return false;
  path[length] = 0;
  return IsInside(path);
}

// Whether the call is to fail; errno says how.
template <typename Where>
bool Fails(Where where) {
  if (at == 0 || !IsInside(where) || ++calls != at) return false;
  if (action > 0) {
    errno = action;
    return true;
  }
  if (action == kTruncate) {
    struct stat status;
    if (stat(victim, &status) != 0 || truncate(victim, status.st_size / 2) != 0) abort();
  } else {
    raise(-action);
  }
  return false;
}

template <typename Function>
Function* Real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

void fault_arm(const char* in, const char* truncated, long call, int what) {
  snprintf(folder, sizeof folder, "%s", in);
  snprintf(victim, sizeof victim, "%s", truncated);
  at = call;
  calls = 0;
  action = what;
}

long fault_calls() { return calls; }

#define OPEN(name)                                             \
  int name(const char* path, int flags, ...) {                 \
    va_list arguments;                                         \
    va_start(arguments, flags);                                \
    const mode_t mode = va_arg(arguments, mode_t);             \
    va_end(arguments);                                         \
    if (Fails(path)) return -1;                                \
    return Real<int(const char*, int, ...)>(#name)(path, flags, mode); \
  }
OPEN(open)
OPEN(open64)

ssize_t read(int fd, void* data, size_t size) {
  return Fails(fd) ? -1 : Real<ssize_t(int, void*, size_t)>("read")(fd, data, size);
}
ssize_t write(int fd, const void* data, size_t size) {
  return Fails(fd) ? -1 : Real<ssize_t(int, const void*, size_t)>("write")(fd, data, size);
}
int fsync(int fd) { return Fails(fd) ? -1 : Real<int(int)>("fsync")(fd); }
int fchmod(int fd, mode_t mode) { return Fails(fd) ? -1 : Real<int(int, mode_t)>("fchmod")(fd, mode); }
int fchown(int fd, uid_t user, gid_t group) {
  return Fails(fd) ? -1 : Real<int(int, uid_t, gid_t)>("fchown")(fd, user, group);
}
int chmod(const char* path, mode_t mode) { return Fails(path) ? -1 : Real<int(const char*, mode_t)>("chmod")(path, mode); }
int chown(const char* path, uid_t user, gid_t group) {
  return Fails(path) ? -1 : Real<int(const char*, uid_t, gid_t)>("chown")(path, user, group);
}
int rename(const char* from, const char* to) {
  return Fails(to) ? -1 : Real<int(const char*, const char*)>("rename")(from, to);
}
int unlink(const char* path) { return Fails(path) ? -1 : Real<int(const char*)>("unlink")(path); }
int mkdir(const char* path, mode_t mode) { return Fails(path) ? -1 : Real<int(const char*, mode_t)>("mkdir")(path, mode); }
int rmdir(const char* path) { return Fails(path) ? -1 : Real<int(const char*)>("rmdir")(path); }
// The file is closed all the same, as Linux does where it says that closing failed.
int close(int fd) {
  const bool fails = Fails(fd);
  const int error = errno;
  const int result = Real<int(int)>("close")(fd);
  if (!fails) return result;
  errno = error;
  return -1;
}

}  // extern "C"
