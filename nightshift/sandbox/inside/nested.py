"""Turns a fork into a sandbox nested in the outer one: namespaces, private file systems, limits, no rights, a filter.

A new process is process 1 of its namespaces from the start. It reports its process id to the daemon, waits until it
has been put into its control group, mounts what is private to the job, gives up every right, and becomes the job.
Everything that the outer sandbox denies stays denied; this module only separates jobs from each other.
"""
# Importing pathlib would cost every start of the sandbox some milliseconds.
# ruff: noqa: PTH123

import ctypes
import fcntl
import os
import resource
import signal
import socket
import struct
import traceback

NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = (
    0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000,
)  # fmt: skip
CLONE = {"x86_64": 56, "aarch64": 220}
AT_ONCE = NEWNS | NEWUTS | NEWIPC | NEWUSER | NEWPID | NEWNET
"""All namespaces except that of control groups. A process enters that namespace later, because the group in which the
process is at that moment becomes the namespace's root.
"""
RDONLY, NOSUID, NODEV, NOEXEC, REMOUNT, BIND, REC, SLAVE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 19
PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 22, 24, 38
PR_CAP_AMBIENT, AMBIENT_CLEAR_ALL, SECCOMP_MODE_FILTER = 47, 4, 2
CAPABILITY_VERSION_3, CAPABILITIES = 0x20080522, 64
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
NOATIME, NODIRATIME, RELATIME, RELATIME_MOUNT = 1024, 2048, 4096, 1 << 21
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
STILL = "/dev/shm/still"  # noqa: S108 (the job's own)
WORK, TREES = "/work", "/trees"
INOTIFY = "16"


def start(order, descriptors, orders, serve):
    """Fork a nested sandbox; return its process number and the socket that reports its exit status.

    The caller continues at once and keeps no other resource of the sandbox. In the fork, `serve` runs the trusted
    parent.
    """
    control = socket.socket(fileno=descriptors.pop())
    pid = fork(AT_ONCE)
    if pid == 0:
        status = 70
        try:
            orders.close()
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            if enter(control):
                inner(ctypes.CDLL(None, use_errno=True), order, descriptors)
                control.send(b"up")
                control.close()
                status = run(order["argv"], serve)
        except BaseException:  # noqa: BLE001 (whatever it is, the fork ends here)
            fault(control) if control.fileno() >= 0 else traceback.print_exc()
        finally:
            os._exit(status)
    for descriptor in descriptors:
        os.close(descriptor)
    return pid, control


def fork(namespaces):
    """Fork like `os.fork`, but with the child in new namespaces, which saves an intermediate process.

    The work that Python itself does after a fork is skipped. That work concerns other threads, and there are none. It
    is done when the child itself forks.
    """
    nothing = [ctypes.c_ulong(0)] * 4
    call = ctypes.PyDLL(None, use_errno=True).syscall
    return check(call(CLONE[os.uname().machine], ctypes.c_ulong(namespaces | signal.SIGCHLD), *nothing))


def fault(control):
    """Report to the daemon why the sandbox could not be set up."""
    control.send(b"fault " + traceback.format_exc(limit=-2).encode()[-2000:])


def enter(control):
    """Join the control group, and become a user without rights.

    Returns False if the daemon no longer wants the sandbox.
    """
    control.send(b"here")  # the kernel adds our process number as the daemon sees it
    if control.recv(16) != b"go":
        return False
    check(ctypes.CDLL(None, use_errno=True).unshare(NEWCGROUP))
    become_user()
    return True


def become_user():
    """Become the same user as in the outer sandbox, in the new user namespace."""
    for name, text in (("setgroups", "deny"), ("uid_map", "1000 1000 1"), ("gid_map", "1000 1000 1")):
        write(f"/proc/self/{name}", text)


def inner(libc, order, descriptors):
    """Set up the sandbox up to the point where the process can become the job."""
    check(libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))
    file_systems(libc, order)
    loopback_up()
    os.chdir(WORK)
    for which, value in order["rlimits"]:
        resource.setrlimit(which, (value, value))
    os.setsid()
    for target, descriptor in enumerate(descriptors[:3]):
        os.dup2(descriptor, target)
    give_up_rights(libc)
    check(libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))  # a change of credentials clears it
    load_filter(libc, bytes.fromhex(order["filter"]))


def file_systems(libc, order):
    """Mount the parts of the file system that are private to the job. All other parts are read-only already."""

    def mount(kind, target, flags, data=b""):
        check(libc.mount(kind, target.encode(), kind, flags, data))

    check(libc.mount(None, b"/", None, SLAVE | REC, None))
    for target, size_mb in order["tmpfs"].items():
        mount(b"tmpfs", target, NOSUID | NODEV, f"size={size_mb << 20},mode=0755".encode())
    if order["layers"]:
        overlay(libc, [f"{TREES}/{name}" for name in order["layers"]])
        mount(b"tmpfs", TREES, RDONLY | NOSUID | NODEV, b"size=4k")  # the job must not see the trees of other jobs
    mount(b"devpts", "/dev/pts", NOSUID | NOEXEC, b"newinstance,ptmxmode=0666,mode=620")
    mount(b"proc", "/proc", NOSUID | NODEV | NOEXEC)
    write("/proc/sys/user/max_user_namespaces", "0")
    write("/proc/sys/user/max_inotify_instances", INOTIFY)  # a user may have few, and other jobs' parents need some too
    for path, text in order["counters"].items():
        write_new(STILL, text)
        check(libc.mount(STILL.encode(), path.encode(), None, BIND, None))
        check(libc.mount(None, path.encode(), None, REMOUNT | BIND | RDONLY | NOSUID | NODEV, None))
        os.unlink(STILL)  # noqa: PTH108 (pathlib is slow to import)
    check(libc.mount(None, b"/proc", None, REMOUNT | BIND | RDONLY | NOSUID | NODEV | NOEXEC, None))
    for name in DEVICES:  # otherwise a job could set their times, and other jobs read them
        locked = os.statvfs(f"/dev/{name}").f_flag & (NOSUID | NOEXEC | NODEV | NOATIME | NODIRATIME | RELATIME)
        flags = (locked & 0xFFF) | (RELATIME_MOUNT if locked & RELATIME else 0)
        check(libc.mount(None, f"/dev/{name}".encode(), None, REMOUNT | BIND | RDONLY | flags, None))


def overlay(libc, layers):
    """Mount folders over each other as the working folder, later ones on top. Writes stay in the job's own memory."""
    upper, scratch = f"{WORK}/upper", f"{WORK}/scratch"
    for folder in (upper, scratch):
        os.mkdir(folder, 0o755)  # noqa: PTH102 (pathlib is slow to import)
    options = f"userxattr,lowerdir={':'.join(reversed(layers))},upperdir={upper},workdir={scratch}"
    check(libc.mount(b"overlay", WORK.encode(), b"overlay", NOSUID | NODEV, options.encode()))


def overlays():
    """Check whether layers can be shown as overlays in this sandbox.

    That requires a folder with trees, and Linux 6.6 or newer. Only such a kernel can record in an overlay in memory
    that a folder was removed and created again.
    """
    if not os.path.isdir(TREES):  # noqa: PTH112 (pathlib is slow to import)
        return False
    pid = fork(NEWNS | NEWUSER)
    if pid == 0:
        status = 1
        try:
            become_user()
            libc, folder = ctypes.CDLL(None, use_errno=True), f"{WORK}/below/folder"
            check(libc.mount(b"tmpfs", WORK.encode(), b"tmpfs", NOSUID | NODEV, b"mode=0755"))
            os.makedirs(folder)  # noqa: PTH103 (pathlib is slow to import)
            overlay(libc, [f"{WORK}/below"])
            os.rmdir(f"{WORK}/folder")  # noqa: PTH106 (as above)
            os.mkdir(f"{WORK}/folder")  # noqa: PTH102 (as above)
            status = 0
        finally:
            os._exit(status)
    return os.waitpid(pid, 0)[1] == 0


def loopback_up():
    """Start the loopback interface of the job's own network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        name = b"lo".ljust(16, b"\0")
        answer = fcntl.ioctl(any_socket, SIOCGIFFLAGS, name + bytes(24))
        flags = struct.unpack_from("h", answer, 16)[0]
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, name + struct.pack("h", flags | IFF_UP) + bytes(22))


def give_up_rights(libc):
    """Drop all capabilities permanently, from every capability set."""
    last = int(read("/proc/sys/kernel/cap_last_cap"))
    for capability in range(last + 1):
        check(libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0))
    check(libc.prctl(PR_CAP_AMBIENT, AMBIENT_CLEAR_ALL, 0, 0, 0))
    check(libc.capset(struct.pack("Ii", CAPABILITY_VERSION_3, 0), bytes(CAPABILITIES // 32 * 12)))
    check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))


def load_filter(libc, program):
    """Load the system-call filter, which is an array of struct sock_filter of 8 bytes each."""
    text = ctypes.create_string_buffer(program, len(program))
    described = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(text))
    check(libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, described, 0, 0))


def run(argv, serve):
    """Become the job: the program in `argv`, or the trusted parent if `argv` is empty."""
    os.closerange(3, 256)
    if argv:
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)  # Python ignores these, and a program would inherit that
        os.execvp(argv[0], argv)  # noqa: S606 (no shell is wanted)
    serve()
    return 0


def check(result):
    """Return the result of a C function; raise an OSError if it is negative."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def write(path, text):
    """Write a control file without buffering, so that the kernel's refusal raises at once."""
    descriptor = os.open(path, os.O_WRONLY)
    os.write(descriptor, text.encode())
    os.close(descriptor)


def write_new(path, text):
    """Write a new file."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o444)
    os.write(descriptor, text.encode())
    os.close(descriptor)


def read(path):
    """Return a control file's text."""
    with open(path, encoding="ascii") as file:
        return file.read()
