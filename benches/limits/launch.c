// launch FILE WORK TIMES ROOT [user]: the least that a sandbox needs, each time anew, around `true`: namespaces, an overlay
// of ROOT and one on its /home/dev, /proc, /dev, /tmp, no privileges, a seccomp filter. Adds to FILE.ready how long it
// takes until the program can be started, and to FILE.total until it has ended, in milliseconds. With `user`, in a user
// namespace of one user. WORK must be empty, and is not cleaned up.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *root, *scratch;
static int round_, in_userns;

static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1e3 + at.tv_nsec / 1e6;
}

static void must(long result, const char *what) {
    if (result < 0) {
        fprintf(stderr, "%s: %s\n", what, strerror(errno));
        _exit(111);
    }
}

static char *name(char *into, const char *what) {
    snprintf(into, 512, "%s/%s-%d", scratch, what, round_);
    return into;
}

static void write_text(int pid, const char *file, const char *text) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
    int to = open(path, O_WRONLY | O_CLOEXEC);
    must(to, path);
    must(write(to, text, strlen(text)), path);
    close(to);
}

static void overlay(const char *lower, const char *half, const char *target) {
    char options[2048], upper[512], work[512], of[64];
    snprintf(of, sizeof of, "%s-upper", half);
    name(upper, of);
    snprintf(of, sizeof of, "%s-work", half);
    name(work, of);
    snprintf(options, sizeof options, "lowerdir=%s,upperdir=%s,workdir=%s,userxattr,volatile", lower, upper, work);
    must(mount("overlay", target, "overlay", MS_NODEV, options), "overlay");
}

static void devices(void) {
    static const char *const nodes[] = {"null", "zero", "full", "random", "urandom", "tty"};
    char from[64], to[64];
    must(mount("tmpfs", "dev", "tmpfs", MS_NOSUID, "mode=755,size=64k"), "dev");
    for (unsigned each = 0; each < sizeof nodes / sizeof *nodes; each++) {
        snprintf(from, sizeof from, "/dev/%s", nodes[each]);
        snprintf(to, sizeof to, "dev/%s", nodes[each]);
        int node = open(to, O_CREAT | O_WRONLY | O_CLOEXEC, 0666);
        must(node, to);
        close(node);
        must(mount(from, to, NULL, MS_BIND, NULL), from);
    }
    must(mkdir("dev/shm", 01777), "dev/shm");
    must(mkdir("dev/pts", 0755), "dev/pts");
    must(mount("tmpfs", "dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777"), "shm");
    must(mount("devpts", "dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620"), "pts");
    must(symlink("pts/ptmx", "dev/ptmx"), "dev/ptmx");
    must(symlink("/proc/self/fd", "dev/fd"), "dev/fd");
}

static void enter(void) {
    char merged[512], lower[512];
    must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "private");
    snprintf(merged, sizeof merged, "%s/merged", scratch);
    overlay(root, "root", merged);
    must(chdir(merged), "chdir");
    snprintf(lower, sizeof lower, "%s/lower", scratch);
    overlay(lower, "home", "home/dev");
    must(mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL), "proc");
    devices();
    must(mount("tmpfs", "tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777"), "tmp");
    must(syscall(SYS_pivot_root, ".", "."), "pivot_root");
    must(umount2(".", MNT_DETACH), "umount");
    must(chdir("/"), "chdir");
    must(sethostname("limit", 5), "sethostname");
}

static void drop(void) {
    for (int capability = 0; capability <= 40; capability++) prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_kexec_load, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0), "seccomp");
}

static void once(FILE *ready_samples, FILE *total_samples) {
    static const char *const halves[] = {"root-upper", "root-work", "home-upper", "home-work"};
    char path[512], map[64];
    int go[2], ready[2], status, flags = SIGCHLD;
    flags |= CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET;
    double from = now();
    for (int each = 0; each < 4; each++) must(mkdir(name(path, halves[each]), 0755), path);
    must(pipe2(go, O_CLOEXEC), "pipe");
    must(pipe2(ready, O_CLOEXEC), "pipe");
    int pid = syscall(SYS_clone, flags | (in_userns ? CLONE_NEWUSER : 0), NULL, NULL, NULL, 0);
    must(pid, "clone");
    char byte = 0;
    if (pid == 0) {
        if (in_userns) must(read(go[0], &byte, 1), "read");
        enter();
        drop();
        must(write(ready[1], &byte, 1), "write");
        execl("/bin/true", "true", NULL);
        must(-1, "true");
    }
    close(ready[1]);
    if (in_userns) {
        write_text(pid, "setgroups", "deny");
        snprintf(map, sizeof map, "0 %d 1\n", getuid());
        write_text(pid, "uid_map", map);
        snprintf(map, sizeof map, "0 %d 1\n", getgid());
        write_text(pid, "gid_map", map);
        must(write(go[1], &byte, 1), "write");
    }
    must(read(ready[0], &byte, 1), "read");
    double at_ready = now();
    must(waitpid(pid, &status, 0), "waitpid");
    fprintf(total_samples, "%.3f\n", now() - from);
    fprintf(ready_samples, "%.3f\n", at_ready - from);
    close(go[0]), close(go[1]), close(ready[0]);
    if (status) exit(1);
}

int main(int count, char **words) {
    if (count < 5) return fprintf(stderr, "launch FILE WORK TIMES ROOT [user]\n"), 2;
    scratch = words[2], root = words[4], in_userns = count > 5;
    char path[512];
    snprintf(path, sizeof path, "%s.ready", words[1]);
    FILE *ready = fopen(path, "a");
    snprintf(path, sizeof path, "%s.total", words[1]);
    FILE *total = fopen(path, "a");
    if (!ready || !total) return perror(path), 2;
    setvbuf(ready, NULL, _IOFBF, 1 << 16), setvbuf(total, NULL, _IOFBF, 1 << 16);
    snprintf(path, sizeof path, "%s/merged", scratch), mkdir(path, 0755);
    snprintf(path, sizeof path, "%s/lower", scratch), mkdir(path, 0755);
    for (round_ = 0; round_ < atoi(words[3]); round_++) once(ready, total);
    return fclose(ready) | fclose(total);
}
