// What a hostile step tries. Each attempt exits with 0 if it got what it must not have, and with 1 if it was denied.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *given; // a path outside, or a word

static int can_open(const char *path, int flags) { return open(path, flags) >= 0; }

static int can_read(const char *path) {
    char byte;
    int fd = open(path, O_RDONLY);
    return fd >= 0 && read(fd, &byte, 1) == 1;
}

static int can_write(const char *path) {
    int fd = open(path, O_WRONLY);
    return fd >= 0 && write(fd, "1", 1) == 1;
}

static int read_given(void) { return can_read(given); }
static int list_given(void) { return opendir(given) != NULL; }
static int around_by_root(void) {
    char path[4096];
    snprintf(path, sizeof path, "/proc/1/root%s", given);
    return can_read(path);
}
static int around_by_cwd(void) {
    char path[4096];
    snprintf(path, sizeof path, "/proc/1/cwd/../../../../..%s", given);
    return can_read(path);
}
static int connect_given(void) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    strncpy(to.sun_path, given, sizeof to.sun_path - 1);
    return connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&to, sizeof to) == 0;
}

// A process whose command line has the word, other than this one.
static int see_process(void) {
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    while (proc && (entry = readdir(proc))) {
        char path[300], line[4096];
        int pid = atoi(entry->d_name), fd;
        if (pid <= 0 || pid == getpid() || pid == getppid()) continue;
        snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
        if ((fd = open(path, O_RDONLY)) < 0) continue;
        ssize_t length = read(fd, line, sizeof line - 1);
        close(fd);
        if (length > 0 && memmem(line, length, given, strlen(given))) return 1;
    }
    return 0;
}
static int environ_of_first(void) { return can_read("/proc/1/environ"); }
static int memory_of_first(void) { return can_open("/proc/1/mem", O_RDWR); }
static int descriptors_of_first(void) {
    for (int fd = 0; fd < 64; fd++) {
        char path[32], target[256];
        snprintf(path, sizeof path, "/proc/1/fd/%d", fd);
        if (readlink(path, target, sizeof target) > 0 || can_open(path, O_RDONLY)) return 1;
    }
    return 0;
}
static int ptrace_first(void) { return ptrace(PTRACE_ATTACH, 1, 0, 0) == 0; }
static int seize_first(void) { return ptrace(PTRACE_SEIZE, 1, 0, 0) == 0; }
static int read_first(void) {
    char here[8];
    struct iovec ours = {here, sizeof here}, theirs = {(void *)0x400000, sizeof here};
    return process_vm_readv(1, &ours, 1, &theirs, 1, 0) > 0 || errno == EFAULT;
}
static int kill_first(void) {
    kill(1, SIGKILL);
    kill(1, SIGTERM);
    usleep(100000);
    return 0; // still here: it was not killed, and neither were we
}

static int mount_tmpfs(void) { return mount("none", "/tmp", "tmpfs", 0, "") == 0; }
static int bind_root(void) { return mount("/", "/tmp", NULL, MS_BIND, NULL) == 0; }
static int remount_usr(void) { return mount(NULL, "/usr", NULL, MS_REMOUNT | MS_BIND, NULL) == 0; }
static int unmount_proc(void) { return umount2("/proc/sys", MNT_DETACH) == 0; }
static int new_mounts(void) { return unshare(CLONE_NEWNS) == 0; }
static int new_user(void) { return unshare(CLONE_NEWUSER) == 0; }
static int new_user_by_clone(void) {
    long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) _exit(0);
    return pid > 0;
}
static int new_user_by_clone3(void) {
    unsigned long long args[8] = {CLONE_NEWUSER, 0, 0, 0, SIGCHLD};
    long pid = syscall(SYS_clone3, args, sizeof args);
    if (pid == 0) _exit(0);
    return pid > 0;
}
static int join_namespace(void) { return setns(open("/proc/1/ns/mnt", O_RDONLY), 0) == 0; }
static int change_root(void) { return chroot("/tmp") == 0; }
static int by_handle(void) {
    char handle[128] = {0};
    *(unsigned *)handle = 8;
    return syscall(SYS_open_by_handle_at, AT_FDCWD, handle, O_RDONLY) >= 0 || errno == ESTALE;
}
static int open_tree_call(void) { return syscall(428, AT_FDCWD, "/", 1) >= 0; }
static int fsopen_call(void) { return syscall(430, "tmpfs", 0) >= 0; }

static int raw_socket(void) { return socket(AF_INET, SOCK_RAW, 1) >= 0; }
static int packet_socket(void) { return socket(AF_PACKET, SOCK_RAW, 0) >= 0; }
static int add_key(void) {
    return syscall(SYS_add_key, "user", "escape", "x", 1, KEY_SPEC_SESSION_KEYRING) >= 0;
}
static int read_keys(void) { return syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_KEYRING, 0) >= 0; }
static int list_keys(void) { return can_read("/proc/keys"); }

static int become_root(void) { return setuid(0) == 0 || setreuid(0, 0) == 0; }
static int join_groups(void) {
    gid_t group = 0;
    return setgroups(1, &group) == 0;
}
static int give_away(void) {
    close(open("/home/dev/given", O_CREAT | O_WRONLY, 0644));
    return chown("/home/dev/given", 0, 0) == 0;
}
// A set-uid program of the machine must gain nothing.
static int set_uid_program(void) {
    int status = 1;
    if (access("/bin/mount", X_OK) != 0) return 0;
    if (fork() == 0) {
        int nothing = open("/dev/null", O_WRONLY);
        dup2(nothing, 2);
        execl("/bin/mount", "mount", "-t", "tmpfs", "none", "/tmp", NULL);
        _exit(1);
    }
    wait(&status);
    return status == 0;
}
static int make_device(void) { return mknod("/home/dev/disk", S_IFBLK | 0600, makedev(8, 0)) == 0; }
static int kernel_memory(void) { return can_read("/dev/mem") || can_read("/proc/kcore"); }
static int kernel_log(void) { return can_read("/dev/kmsg") || syscall(SYS_syslog, 3, NULL, 0) >= 0; }
static int shadow(void) { return can_read("/etc/shadow"); }

static int core_pattern(void) { return can_write("/proc/sys/kernel/core_pattern"); }
static int drop_caches(void) { return can_write("/proc/sys/vm/drop_caches"); }
static int sysrq(void) { return can_write("/proc/sysrq-trigger"); }
static int write_sys(void) { return can_write("/sys/kernel/mm/transparent_hugepage/enabled"); }
static int cgroups(void) { return can_write("/sys/fs/cgroup/cgroup.procs") || can_write("/sys/fs/cgroup/memory/tasks"); }
static int write_usr(void) { return can_open("/usr/escape", O_CREAT | O_WRONLY); }
static int write_etc(void) { return can_open("/etc/escape", O_CREAT | O_WRONLY); }

static int set_clock(void) {
    struct timeval now;
    gettimeofday(&now, NULL);
    return settimeofday(&now, NULL) == 0;
}
static int set_hostname(void) { return sethostname("escape", 6) == 0; }
static int reboot_call(void) { return syscall(SYS_reboot, 0xfee1dead, 672274793, 0, NULL) == 0; }
static int load_module(void) { return syscall(SYS_init_module, "", 0, "") == 0 || errno != EPERM; }
static int bpf_call(void) { return syscall(SYS_bpf, 0, NULL, 0) >= 0 || errno != EPERM; }
static int perf(void) {
    char attributes[128] = {0};
    return syscall(SYS_perf_event_open, attributes, 0, -1, -1, 0) >= 0 || errno != EPERM;
}
static int io_uring(void) {
    char parameters[120] = {0};
    return syscall(SYS_io_uring_setup, 1, parameters) >= 0 || errno != ENOSYS;
}
static int type_into_terminal(void) { return ioctl(0, TIOCSTI, "x") == 0; }

#define ATTEMPT(name) {#name, name}
static const struct {
    const char *name;
    int (*attempt)(void);
} attempts[] = {
    ATTEMPT(read_given), ATTEMPT(list_given), ATTEMPT(around_by_root), ATTEMPT(around_by_cwd),
    ATTEMPT(connect_given), ATTEMPT(see_process), ATTEMPT(environ_of_first), ATTEMPT(memory_of_first),
    ATTEMPT(descriptors_of_first), ATTEMPT(ptrace_first), ATTEMPT(seize_first), ATTEMPT(read_first),
    ATTEMPT(kill_first), ATTEMPT(mount_tmpfs), ATTEMPT(bind_root), ATTEMPT(remount_usr), ATTEMPT(unmount_proc),
    ATTEMPT(new_mounts), ATTEMPT(new_user), ATTEMPT(new_user_by_clone), ATTEMPT(new_user_by_clone3),
    ATTEMPT(join_namespace), ATTEMPT(change_root), ATTEMPT(by_handle), ATTEMPT(open_tree_call),
    ATTEMPT(fsopen_call), ATTEMPT(raw_socket), ATTEMPT(packet_socket), ATTEMPT(add_key), ATTEMPT(read_keys),
    ATTEMPT(list_keys), ATTEMPT(become_root), ATTEMPT(join_groups), ATTEMPT(give_away),
    ATTEMPT(set_uid_program), ATTEMPT(make_device), ATTEMPT(kernel_memory), ATTEMPT(kernel_log), ATTEMPT(shadow),
    ATTEMPT(core_pattern), ATTEMPT(drop_caches), ATTEMPT(sysrq), ATTEMPT(write_sys), ATTEMPT(cgroups),
    ATTEMPT(write_usr), ATTEMPT(write_etc), ATTEMPT(set_clock), ATTEMPT(set_hostname), ATTEMPT(reboot_call),
    ATTEMPT(load_module), ATTEMPT(bpf_call), ATTEMPT(perf), ATTEMPT(io_uring), ATTEMPT(type_into_terminal),
};

int main(int count, char **words) {
    given = count > 2 ? words[2] : "";
    for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++) {
        // Without an argument: the names of all attempts that need none.
        if (count == 1) puts(attempts[i].name);
        else if (strcmp(words[1], attempts[i].name) == 0) return attempts[i].attempt() ? 0 : 1;
    }
    return count == 1 ? 0 : 2;
}
