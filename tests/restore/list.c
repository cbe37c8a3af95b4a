// Lists a tree with all that a snapshot has to restore: kinds, modes, owners, times, sizes, contents, holes, targets,
// extended attributes, and which names are one file.
#define _GNU_SOURCE
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

static struct {
    ino_t inode;
    char *first;
} seen[100000];
static size_t count;

static const char *first_name(const struct stat *stat, const char *path) {
    for (size_t i = 0; i < count; i++)
        if (seen[i].inode == stat->st_ino) return seen[i].first;
    seen[count].inode = stat->st_ino;
    seen[count].first = strdup(path);
    return seen[count++].first;
}

static void escaped(const char *bytes, size_t length) {
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = bytes[i];
        if (byte > 32 && byte < 127 && byte != '\\') putchar(byte);
        else printf("\\%03o", byte);
    }
}

static void content(const char *path) {
    unsigned long long hash = 1469598103934665603ULL;
    static unsigned char buffer[1 << 16];
    ssize_t length;
    int fd = open(path, O_RDONLY);
    if (fd < 0) {
        printf(" closed");
        return;
    }
    while ((length = read(fd, buffer, sizeof buffer)) > 0)
        for (ssize_t i = 0; i < length; i++) hash = (hash ^ buffer[i]) * 1099511628211ULL;
    printf(" %016llx data", hash);
    off_t end = lseek(fd, 0, SEEK_END);
    for (off_t at = 0; (at = lseek(fd, at, SEEK_DATA)) >= 0 && at < end;) {
        off_t hole = lseek(fd, at, SEEK_HOLE);
        printf(" %lld-%lld", (long long)at, (long long)hole);
        at = hole;
    }
    close(fd);
}

static int compare(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void attributes(const char *path) {
    static char names[1 << 16], value[1 << 16];
    char *sorted[256];
    size_t have = 0;
    ssize_t length = llistxattr(path, names, sizeof names);
    for (char *name = names; length > 0 && name < names + length && have < 256; name += strlen(name) + 1)
        if (strncmp(name, "user.", 5) == 0) sorted[have++] = name;
    qsort(sorted, have, sizeof *sorted, compare);
    for (size_t i = 0; i < have; i++) {
        ssize_t size = lgetxattr(path, sorted[i], value, sizeof value);
        printf(" %s=", sorted[i]);
        escaped(value, size < 0 ? 0 : size);
    }
}

static int entry(const char *path, const struct stat *stat, int kind, struct FTW *walk) {
    (void)kind, (void)walk;
    char target[4096];
    printf("| ");
    escaped(path, strlen(path));
    printf(" %o %u:%u %lld.%09ld", stat->st_mode, stat->st_uid, stat->st_gid, (long long)stat->st_mtim.tv_sec,
           stat->st_mtim.tv_nsec);
    if (!S_ISDIR(stat->st_mode)) {
        printf(" %lld is ", (long long)stat->st_size);
        const char *first = first_name(stat, path);
        escaped(first, strlen(first));
    }
    if (S_ISREG(stat->st_mode)) content(path);
    if (S_ISLNK(stat->st_mode)) {
        ssize_t length = readlink(path, target, sizeof target);
        printf(" to ");
        escaped(target, length < 0 ? 0 : length);
    }
    attributes(path);
    putchar('\n');
    return 0;
}

int main(int words, char **word) { return nftw(words > 1 ? word[1] : ".", entry, 64, FTW_PHYS); }
