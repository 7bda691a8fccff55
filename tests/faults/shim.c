/* Counts, records and breaks what one process does to the files below one folder.
 *
 * Loaded with LD_PRELOAD. Nothing happens until shim_arm(): then every call that changes a file
 * below the folder is one operation, numbered from 1, and the operation with the chosen number
 * fails, is cut in half, or is where the process ends. Each operation goes to a trace file, with
 * the bytes written when asked, so that disk.py can replay what a power loss would have left.
 *
 * fsync is counted and recorded but never passed on: no test reads a disk that lost its power,
 * and the tests are a hundred times faster for it.
 * Not seen: writes through mmap (SQLite's -shm, which it rebuilds) and libc's own fopen().
 * 64-bit Linux and glibc, where open and open64 are the same call. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

_Static_assert(sizeof(off_t) == 8, "the 64-bit names below are aliases of the plain ones");

/* The same numbers as in shim.py. */
enum action { COUNT, FAIL_ONCE, FAIL_FROM, EXIT, EXIT_MID_WRITE, SHORT_WRITE };
/* What an operation asks of the disk: a full one still deletes, and opens what is there. */
enum need { NO_SPACE, SPACE, BYTES };
enum verdict { PASS, HALF, FAIL };
enum { CREATED = 1, TRUNCATED = 2 };

struct call {
    const char *name;
    char path[PATH_MAX], other[PATH_MAX];
    int result, error, struck, extra;
    uint64_t inode;
    int64_t offset;
    const void *data;
    size_t size;
};

struct head { /* read by shim.py: "<4I4iQq" */
    uint32_t name, path, other, data;
    int32_t result, error, struck, extra;
    uint64_t inode;
    int64_t offset;
};

static struct {
    int armed, action, error, keeps_data, trace;
    long at, count;
    char folder[PATH_MAX];
} shim = {.trace = -1};
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) ((__typeof__(&name))real(#name))
static void *real(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) {
        fprintf(stderr, "shim: this libc has no %s\n", name);
        abort();
    }
    return found;
}

/* ---- where a call goes ---- */

static int below(const char *path)
{
    size_t length = strlen(shim.folder);
    return !strncmp(path, shim.folder, length) && (path[length] == '/' || !path[length]);
}

static int fd_place(int fd, char *path)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length < 0 ? 0 : length] = 0;
    return length > 0;
}

/* The real path of the parent plus the last name, which itself may be a link or not exist. */
static void place(int at, const char *path, char *out)
{
    char whole[2 * PATH_MAX], base[PATH_MAX] = "", parent[PATH_MAX];
    out[0] = 0;
    if (path[0] != '/' && (at == AT_FDCWD ? !getcwd(base, sizeof base) : !fd_place(at, base)))
        return;
    snprintf(whole, sizeof whole, "%s/%s", base, path);
    for (size_t end = strlen(whole); end > 1 && whole[end - 1] == '/';)
        whole[--end] = 0;
    char *last = strrchr(whole, '/');
    *last = 0;
    if (realpath(last == whole ? "/" : whole, parent))
        snprintf(out, PATH_MAX, "%.*s/%.*s", PATH_MAX / 2, parent, PATH_MAX / 2 - 2, last + 1);
}

static uint64_t inode_at(int at, const char *path)
{
    struct stat facts;
    return fstatat(at, path, &facts, AT_SYMLINK_NOFOLLOW) ? 0 : facts.st_ino;
}

static uint64_t inode_of(int fd)
{
    struct stat facts;
    return fstat(fd, &facts) ? 0 : facts.st_ino;
}

/* ---- the trace, and what becomes of an operation ---- */

static void record(const struct call *call)
{
    size_t size = shim.keeps_data && call->data ? call->size : 0;
    struct head head = {strlen(call->name), strlen(call->path), strlen(call->other), size,
                        call->result, call->error, call->struck, call->extra,
                        call->inode, call->offset};
    struct iovec parts[] = {{&head, sizeof head}, {(void *)call->name, head.name},
                            {(void *)call->path, head.path}, {(void *)call->other, head.other},
                            {(void *)call->data, size}};
    if (shim.trace >= 0 && REAL(writev)(shim.trace, parts, 5) < 0)
        abort();
}

static int strikes(enum need need, size_t size)
{
    int now = shim.count == shim.at, later = shim.count > shim.at;
    switch (shim.action) {
    case EXIT:
        return now;
    case EXIT_MID_WRITE:
    case SHORT_WRITE:
        return now && need == BYTES && size > 1;
    case FAIL_ONCE:
    case FAIL_FROM:
        return (now || (later && shim.action == FAIL_FROM)) &&
               !(shim.error == ENOSPC && need == NO_SPACE);
    default:
        return 0;
    }
}

/* Takes the turn, which finish() gives back, so that threads are counted one by one. */
static enum verdict judge(struct call *call, enum need need, size_t size)
{
    pthread_mutex_lock(&turn);
    shim.count++;
    call->struck = strikes(need, size);
    if (!call->struck)
        return PASS;
    /* A disk that fills up takes the first half of a write and refuses the next. */
    int fills = shim.action == FAIL_FROM && shim.error == ENOSPC && shim.count == shim.at;
    if (need == BYTES && size > 1 && (shim.action == EXIT_MID_WRITE || shim.action == SHORT_WRITE || fills))
        return HALF;
    call->result = -1;
    call->error = shim.action == EXIT ? 0 : shim.error;
    if (shim.action == EXIT) {
        record(call);
        _exit(99);
    }
    return FAIL;
}

static long finish(struct call *call, long result)
{
    if (call->error)
        result = -1;
    else if (result < 0)
        call->error = errno;
    call->result = result < 0 ? -1 : 0;
    record(call);
    if (call->struck && shim.action == EXIT_MID_WRITE)
        _exit(99);
    int error = call->error;
    pthread_mutex_unlock(&turn);
    if (result < 0)
        errno = error;
    return result;
}

/* ---- opening ---- */

static int open_at(const char *name, int at, const char *path, int flags, mode_t mode)
{
    struct call call = {.name = name};
    int nameless = (flags & O_TMPFILE) == O_TMPFILE;
    int changes = (flags & (O_CREAT | O_TRUNC | O_ACCMODE)) != O_RDONLY || nameless;
    if (!shim.armed || !changes)
        return REAL(openat)(at, path, flags, mode);
    place(at, path, call.path);
    if (!below(call.path))
        return REAL(openat)(at, path, flags, mode);
    int creates = nameless || ((flags & O_CREAT) && faccessat(at, path, F_OK, 0) != 0);
    call.extra = (creates ? CREATED : 0) | (flags & O_TRUNC ? TRUNCATED : 0);
    if (nameless)
        call.path[0] = 0;
    if (judge(&call, creates ? SPACE : NO_SPACE, 0) == FAIL)
        return finish(&call, -1);
    int fd = REAL(openat)(at, path, flags, mode);
    int error = errno;
    call.inode = fd < 0 ? 0 : inode_of(fd);
    errno = error;
    return finish(&call, fd);
}

#define MODE_OF(flags, mode)                                         \
    mode_t mode = 0;                                                 \
    if ((flags) & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))) {          \
        va_list more;                                                \
        va_start(more, flags);                                       \
        mode = va_arg(more, mode_t);                                 \
        va_end(more);                                                \
    }

int open(const char *path, int flags, ...)
{
    MODE_OF(flags, mode)
    return open_at("open", AT_FDCWD, path, flags, mode);
}

int openat(int at, const char *path, int flags, ...)
{
    MODE_OF(flags, mode)
    return open_at("open", at, path, flags, mode);
}

int creat(const char *path, mode_t mode)
{
    return open_at("open", AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));
int openat64(int at, const char *path, int flags, ...) __attribute__((alias("openat")));
int creat64(const char *path, mode_t mode) __attribute__((alias("creat")));
/* What fortified callers use when they pass no mode. */
int __open_2(const char *path, int flags) { return open_at("open", AT_FDCWD, path, flags, 0); }
int __open64_2(const char *path, int flags) __attribute__((alias("__open_2")));
int __openat_2(int at, const char *path, int flags) { return open_at("open", at, path, flags, 0); }
int __openat64_2(int at, const char *path, int flags) __attribute__((alias("__openat_2")));

/* ---- writing ---- */

static int watches_fd(struct call *call, const char *name, int fd)
{
    if (!shim.armed)
        return 0;
    int error = errno;
    *call = (struct call){.name = name};
    int ours = fd_place(fd, call->path) && below(call->path);
    call->inode = ours ? inode_of(fd) : 0;
    errno = error;
    return ours;
}

/* Every write becomes one pwrite or write of the bytes that are let through. */
static ssize_t put(struct call *call, int fd, const void *data, size_t size, off_t offset)
{
    enum verdict verdict = judge(call, BYTES, size);
    if (verdict == FAIL)
        return finish(call, -1);
    size_t let = verdict == HALF ? size / 2 : size;
    ssize_t done = offset < 0 ? REAL(write)(fd, data, let) : REAL(pwrite)(fd, data, let, offset);
    if (done >= 0) {
        call->offset = offset < 0 ? lseek(fd, 0, SEEK_CUR) - done : offset;
        call->data = data;
        call->size = done;
    }
    return finish(call, done);
}

ssize_t write(int fd, const void *data, size_t size)
{
    struct call call;
    return watches_fd(&call, "write", fd) ? put(&call, fd, data, size, -1)
                                          : REAL(write)(fd, data, size);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
    struct call call;
    return watches_fd(&call, "write", fd) ? put(&call, fd, data, size, offset)
                                          : REAL(pwrite)(fd, data, size, offset);
}

static ssize_t put_parts(struct call *call, int fd, const struct iovec *parts, int count, off_t offset)
{
    size_t size = 0;
    for (int i = 0; i < count; i++)
        size += parts[i].iov_len;
    char *all = malloc(size + 1), *end = all;
    for (int i = 0; i < count; end += parts[i++].iov_len)
        memcpy(end, parts[i].iov_base, parts[i].iov_len);
    ssize_t done = put(call, fd, all, size, offset);
    free(all);
    return done;
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    struct call call;
    return watches_fd(&call, "write", fd) ? put_parts(&call, fd, parts, count, -1)
                                          : REAL(writev)(fd, parts, count);
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
    struct call call;
    return watches_fd(&call, "write", fd) ? put_parts(&call, fd, parts, count, offset)
                                          : REAL(pwritev)(fd, parts, count, offset);
}

/* What Python's os.pwritev calls; an offset of -1 is the file's own, here as in the kernel. */
ssize_t pwritev2(int fd, const struct iovec *parts, int count, off_t offset, int flags)
{
    struct call call;
    return watches_fd(&call, "write", fd) ? put_parts(&call, fd, parts, count, offset)
                                          : REAL(pwritev2)(fd, parts, count, offset, flags);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off_t o) __attribute__((alias("pwrite")));
ssize_t pwritev64(int fd, const struct iovec *p, int n, off_t o) __attribute__((alias("pwritev")));
ssize_t pwritev64v2(int fd, const struct iovec *p, int n, off_t o, int flags)
    __attribute__((alias("pwritev2")));

/* The kernel copies, so the bytes are read back from the file they went to. */
static ssize_t copied(struct call *call, int fd, ssize_t done, off_t end)
{
    char link[64], *data = NULL;
    int error = errno;
    if (done > 0 && shim.keeps_data) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        int reader = REAL(openat)(AT_FDCWD, link, O_RDONLY | O_CLOEXEC, 0);
        data = malloc(done);
        if (reader < 0 || pread(reader, data, done, end - done) != done)
            abort();
        close(reader);
        call->data = data;
        call->size = done;
    }
    call->offset = end - done;
    errno = error;
    ssize_t result = finish(call, done);
    free(data);
    return result;
}

/* A copy asks for more than there is (2 GiB at a time): half of that would be all of it. */
static size_t half_of(int in, size_t size)
{
    struct stat facts;
    size_t all = fstat(in, &facts) ? size : (size_t)facts.st_size;
    return (all < size ? all : size) / 2 + 1;
}

ssize_t sendfile(int out, int in, off_t *offset, size_t size)
{
    struct call call;
    if (!watches_fd(&call, "write", out))
        return REAL(sendfile)(out, in, offset, size);
    enum verdict verdict = judge(&call, BYTES, size);
    if (verdict == FAIL)
        return finish(&call, -1);
    ssize_t done = REAL(sendfile)(out, in, offset, verdict == HALF ? half_of(in, size) : size);
    return copied(&call, out, done, lseek(out, 0, SEEK_CUR));
}

ssize_t sendfile64(int out, int in, off_t *offset, size_t size) __attribute__((alias("sendfile")));

ssize_t copy_file_range(int in, off_t *from, int out, off_t *to, size_t size, unsigned flags)
{
    struct call call;
    if (!watches_fd(&call, "write", out))
        return REAL(copy_file_range)(in, from, out, to, size, flags);
    enum verdict verdict = judge(&call, BYTES, size);
    if (verdict == FAIL)
        return finish(&call, -1);
    ssize_t done =
        REAL(copy_file_range)(in, from, out, to, verdict == HALF ? half_of(in, size) : size, flags);
    return copied(&call, out, done, to ? *to : lseek(out, 0, SEEK_CUR));
}

static int resize(struct call *call, int fd, const char *path, off_t size)
{
    call->offset = size;
    if (judge(call, NO_SPACE, 0) == FAIL)
        return finish(call, -1);
    return finish(call, path ? REAL(truncate)(path, size) : REAL(ftruncate)(fd, size));
}

int ftruncate(int fd, off_t size)
{
    struct call call;
    return watches_fd(&call, "truncate", fd) ? resize(&call, fd, NULL, size)
                                             : REAL(ftruncate)(fd, size);
}

int truncate(const char *path, off_t size)
{
    struct call call = {.name = "truncate"};
    if (shim.armed)
        place(AT_FDCWD, path, call.path);
    if (!shim.armed || !below(call.path))
        return REAL(truncate)(path, size);
    call.inode = inode_at(AT_FDCWD, path);
    return resize(&call, -1, path, size);
}

int ftruncate64(int fd, off_t size) __attribute__((alias("ftruncate")));
int truncate64(const char *path, off_t size) __attribute__((alias("truncate")));

/* Reserving space changes what may fail, not what is there to read: the model ignores it. */
int posix_fallocate(int fd, off_t offset, off_t size)
{
    struct call call;
    if (!watches_fd(&call, "reserve", fd))
        return REAL(posix_fallocate)(fd, offset, size);
    if (judge(&call, SPACE, 0) == FAIL)
        return finish(&call, -1), errno;
    int error = REAL(posix_fallocate)(fd, offset, size);
    finish(&call, 0);
    return error;
}

int posix_fallocate64(int fd, off_t o, off_t s) __attribute__((alias("posix_fallocate")));

int fsync(int fd)
{
    struct call call;
    struct stat facts;
    if (fstat(fd, &facts))
        return -1;
    if (!watches_fd(&call, "fsync", fd))
        return 0;
    if (judge(&call, SPACE, 0) == FAIL)
        return finish(&call, -1);
    return finish(&call, 0);
}

int fdatasync(int fd) __attribute__((alias("fsync")));

/* ---- names ---- */

static int watches_names(struct call *call, int at, const char *path, int other_at, const char *other)
{
    if (!shim.armed)
        return 0;
    int error = errno;
    place(at, path, call->path);
    if (other)
        place(other_at, other, call->other);
    errno = error;
    return below(call->path) || (other && below(call->other));
}

static int rename_at(int at, const char *path, int to_at, const char *to, unsigned flags)
{
    struct call call = {.name = "rename", .extra = flags};
    if (watches_names(&call, at, path, to_at, to)) {
        call.inode = inode_at(at, path);
        if (judge(&call, SPACE, 0) == FAIL)
            return finish(&call, -1);
        return finish(&call, REAL(renameat2)(at, path, to_at, to, flags));
    }
    return REAL(renameat2)(at, path, to_at, to, flags);
}

int rename(const char *path, const char *to) { return rename_at(AT_FDCWD, path, AT_FDCWD, to, 0); }
int renameat(int at, const char *path, int to_at, const char *to)
{
    return rename_at(at, path, to_at, to, 0);
}
int renameat2(int at, const char *path, int to_at, const char *to, unsigned flags)
{
    return rename_at(at, path, to_at, to, flags);
}

int linkat(int at, const char *path, int to_at, const char *to, int flags)
{
    struct call call = {.name = "link"};
    if (!watches_names(&call, at, path, to_at, to))
        return REAL(linkat)(at, path, to_at, to, flags);
    if (judge(&call, SPACE, 0) == FAIL)
        return finish(&call, -1);
    int result = REAL(linkat)(at, path, to_at, to, flags), error = errno;
    call.inode = result ? 0 : inode_at(to_at, to);
    errno = error;
    return finish(&call, result);
}

int link(const char *path, const char *to) { return linkat(AT_FDCWD, path, AT_FDCWD, to, 0); }

int symlinkat(const char *target, int at, const char *path)
{
    struct call call = {.name = "symlink"};
    if (!watches_names(&call, at, path, 0, NULL))
        return REAL(symlinkat)(target, at, path);
    snprintf(call.other, sizeof call.other, "%s", target);
    if (judge(&call, SPACE, 0) == FAIL)
        return finish(&call, -1);
    return finish(&call, REAL(symlinkat)(target, at, path));
}

int symlink(const char *target, const char *path) { return symlinkat(target, AT_FDCWD, path); }

int unlinkat(int at, const char *path, int flags)
{
    struct call call = {.name = flags & AT_REMOVEDIR ? "rmdir" : "unlink"};
    if (!watches_names(&call, at, path, 0, NULL))
        return REAL(unlinkat)(at, path, flags);
    if (judge(&call, NO_SPACE, 0) == FAIL)
        return finish(&call, -1);
    return finish(&call, REAL(unlinkat)(at, path, flags));
}

int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

int mkdirat(int at, const char *path, mode_t mode)
{
    struct call call = {.name = "mkdir"};
    if (!watches_names(&call, at, path, 0, NULL))
        return REAL(mkdirat)(at, path, mode);
    if (judge(&call, SPACE, 0) == FAIL)
        return finish(&call, -1);
    int result = REAL(mkdirat)(at, path, mode), error = errno;
    call.inode = result ? 0 : inode_at(at, path);
    errno = error;
    return finish(&call, result);
}

int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

/* ---- what shim.py calls ---- */

int shim_arm(const char *folder, long at, int action, int error, const char *trace, int keeps_data)
{
    if (!realpath(folder, shim.folder))
        return -1;
    shim.trace = REAL(openat)(AT_FDCWD, trace, O_CREAT | O_WRONLY | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    if (shim.trace < 0)
        return -1;
    shim.at = at;
    shim.count = 0;
    shim.action = action;
    shim.error = error;
    shim.keeps_data = keeps_data;
    shim.armed = 1;
    return 0;
}

long shim_count(void) { return shim.count; }

void shim_disarm(void) { shim.armed = 0; }

/* A note of the scenario's own in the trace: not an operation, and it never fails. */
void shim_mark(const char *text)
{
    struct call call = {.name = "mark"};
    snprintf(call.path, sizeof call.path, "%s", text);
    if (shim.armed)
        record(&call);
}
