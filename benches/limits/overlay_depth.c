// overlay_depth FILE TIMES DEPTH LAYERS WORK: mounts the folders 0, 1, … of LAYERS under a fresh one, each time with new
// folders in WORK, and adds to FILE how long making the folders and mounting took, in milliseconds.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1e3 + at.tv_nsec / 1e6;
}

static void must(long result, const char *what) {
    if (result < 0) {
        perror(what);
        exit(1);
    }
}

static void set(int fs, const char *name, const char *value) {
    int kind = value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG;
    must(syscall(SYS_fsconfig, fs, kind, name, value, 0), name);
}

int main(int count, char **words) {
    if (count != 6) return fprintf(stderr, "overlay_depth FILE TIMES DEPTH LAYERS WORK\n"), 2;
    int times = atoi(words[2]), depth = atoi(words[3]);
    char upper[512], work[512], merged[512], layer[512];
    FILE *samples = fopen(words[1], "a");
    if (!samples) return perror(words[1]), 2;
    snprintf(merged, sizeof merged, "%s/merged", words[5]);
    mkdir(merged, 0755);
    for (int each = 0; each < times; each++) {
        snprintf(upper, sizeof upper, "%s/upper-%d-%d", words[5], depth, each);
        snprintf(work, sizeof work, "%s/work-%d-%d", words[5], depth, each);
        double from = now();
        must(mkdir(upper, 0755), upper);
        must(mkdir(work, 0755), work);
        int fs = syscall(SYS_fsopen, "overlay", FSOPEN_CLOEXEC);
        must(fs, "fsopen");
        for (int top = depth - 1; top >= 0; top--) {
            snprintf(layer, sizeof layer, "%s/%d", words[4], top);
            set(fs, "lowerdir+", layer);
        }
        set(fs, "upperdir", upper);
        set(fs, "workdir", work);
        set(fs, "userxattr", NULL);
        set(fs, "volatile", NULL);
        must(syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0), "create");
        int mounted = syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, 0);
        must(mounted, "fsmount");
        must(syscall(SYS_move_mount, mounted, "", AT_FDCWD, merged, MOVE_MOUNT_F_EMPTY_PATH), "move_mount");
        fprintf(samples, "%.3f\n", now() - from);
        close(mounted);
        close(fs);
        must(umount2(merged, 0), "umount");
    }
    return fclose(samples) != 0;
}
