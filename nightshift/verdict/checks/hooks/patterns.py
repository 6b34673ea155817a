"""The table of forbidden commands: each with its name, the reason, and an alternative."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from nightshift.verdict.checks.hooks.commands import UNKNOWN, Command, device, outside, private
from nightshift.verdict.checks.hooks.wrappers import SHELLS


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern for forbidden commands.

    Attributes:
        name: the name of the pattern; settings and tasks can allow the command again with `command.<name>`.
        why: the reason for the ban, as the end of a sentence about the command.
        instead: the alternative that the message proposes.
        matches: checks whether a command matches the pattern.
        in_code: true if the ban applies only to commands in code; scripts for people may run the command.
    """

    name: str
    why: str
    instead: str
    matches: Callable[[Command], bool]
    in_code: bool = False


_DOWNLOADERS = frozenset({"curl", "wget", "fetch", "aria2c", "http", "https", "lwp-download"})
_DECODERS = frozenset({"base64", "base32", "xxd", "uudecode", "openssl", "gunzip", "zcat"})
_INTERPRETERS = SHELLS | {"source", ".", "eval", "python", "python3", "perl", "ruby", "node", "php"}
_GIT_VALUED = ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path")
_SETUID = re.compile(r"(?:[ugo]*a?\+[rwxX]*s|0?[2467][0-7]{3}$)")
_REMOTE_PATH = re.compile(r"^(?:[\w.-]+@)?[\w.-]{2,}:(?!//)|^rsync://|^ssh://")
_PARTITIONING = {"wipefs", "fdisk", "sfdisk", "cfdisk", "gdisk", "sgdisk", "parted", "mkswap", "cryptsetup", "lvremove",
                 "vgremove", "pvremove", "blkdiscard", "hdparm", "badblocks"}  # fmt: skip
_SYSTEM_PACKAGES = {"apt", "apt-get", "aptitude", "dpkg", "yum", "dnf", "rpm", "zypper", "pacman", "apk", "brew",
                    "snap", "flatpak", "port", "emerge"}  # fmt: skip


def _removes_outside(c: Command) -> bool:
    if c.program == "find":
        return "-delete" in c.args and any(outside(folder, c.cwd) for folder in c.operands())
    if c.program not in {"rm", "rmdir", "unlink", "shred", "trash", "srm"}:
        return False
    return any(outside(path, c.cwd) or _is_history(path) for path in c.operands()) or c.has("", "--no-preserve-root")


def _is_history(path: str) -> bool:
    return path.removeprefix("./").rstrip("/").split("/")[0] == ".git"


def _fork_bomb(c: Command) -> bool:
    return c.parallel and bool(c.argv) and (c.argv[0] in c.within or c.argv[0] in {"$0", '"$0"'})


def _pipe_to_shell(c: Command) -> bool:
    if not c.fed_by & (_DOWNLOADERS | _DECODERS) or c.program not in _INTERPRETERS:
        return False
    options_only = all(word.startswith("-") for word in c.args)
    takes_text = c.program in {"source", ".", "eval"} or c.has("c")
    return options_only or takes_text or UNKNOWN in c.args or "-" in c.args or c.has("s")


def _git(c: Command) -> tuple[str, tuple[str, ...], bool]:
    """Return git's sub-command, the arguments after it, and true if git works outside of the workspace."""
    if c.program != "git":
        return "", (), False
    words, elsewhere = list(c.args), outside(c.cwd)
    while words and words[0].startswith("-"):
        option, _, value = words.pop(0).partition("=")
        if option in _GIT_VALUED:
            value = value or (words.pop(0) if words else "")
            elsewhere = elsewhere or (option in {"-C", "--git-dir", "--work-tree"} and outside(value, c.cwd))
    return (words[0] if words else ""), tuple(words[1:]), elsewhere


def _git_force_push(c: Command) -> bool:
    sub, args, _ = _git(c)
    if sub not in {"push", "send-pack"}:
        return False
    options = Command(argv=("push", *args))
    forced = options.has("fd", "--mirror", "--delete", "--prune") or any(a.startswith("--force") for a in args)
    return forced or any(ref.startswith(("+", ":")) for ref in options.operands(("-o", "--repo", "--receive-pack")))


def _git_discard(c: Command) -> bool:
    sub, args, elsewhere = _git(c)
    if sub in {"filter-branch", "filter-repo"} or (sub == "reflog" and "expire" in args):
        return True
    losing = {
        "reset": "--hard" in args or "--merge" in args,
        "clean": Command(argv=("clean", *args)).has("f", "--force"),
        "checkout": Command(argv=("checkout", *args)).has("f", "--force") or "--" in args or "." in args,
        "restore": True,
        "stash": args[:1] in {("drop",), ("clear",)},
        "branch": Command(argv=("branch", *args)).has("D"),
        "update-ref": True,
        "worktree": args[:1] == ("remove",),
    }
    return elsewhere and losing.get(sub, False)


def _device_write(c: Command) -> bool:
    targets = [*c.writes]
    if c.program == "dd":
        targets += [word[3:] for word in c.args if word.startswith("of=")]
    if c.program in {"tee", "cp", "mv", "install", "ln", "truncate"}:
        targets += c.operands()
    return any(device(target) and not target.startswith(("/dev/tcp/", "/dev/udp/")) for target in targets)


def _mkfs(c: Command) -> bool:
    return c.program.startswith(("mkfs", "mke2fs", "newfs")) or c.program in _PARTITIONING


def _permissions(c: Command) -> bool:
    if c.program not in {"chmod", "chown", "chgrp", "setfacl", "chattr"}:
        return False
    operands = c.operands()
    setuid = c.program == "chmod" and any(_SETUID.match(word) for word in operands[:1])
    return setuid or any(outside(path, c.cwd) for path in operands[1:])


def _power(c: Command) -> bool:
    if c.program in {"shutdown", "reboot", "halt", "poweroff", "telinit", "init"}:
        return c.program != "init" or c.args[:1] in {("0",), ("6",)}
    if c.program in {"kill", "pkill", "killall", "killall5"}:
        everyone = c.program == "kill" and (c.args[-1:] == ("-1",) or "1" in c.operands(("-s", "-n")))
        return everyone or c.program in {"killall", "killall5"} or (c.program == "pkill" and c.has("u"))
    return c.program == "systemctl" and bool({"poweroff", "reboot", "halt", "suspend"} & set(c.args))


def _privilege(c: Command) -> bool:
    return c.program in {"sudo", "su", "doas", "pkexec", "runuser", "nsenter", "newgrp", "visudo", "passwd", "usermod"}


def _remote(c: Command) -> bool:
    if any(path.startswith(("/dev/tcp/", "/dev/udp/")) for path in (*c.writes, *c.args)):
        return True
    if c.program == "rsync":
        return any(_REMOTE_PATH.match(word) for word in c.operands())
    return c.program in {
        "ssh",
        "scp",
        "sftp",
        "sshpass",
        "ssh-copy-id",
        "nc",
        "ncat",
        "netcat",
        "socat",
        "telnet",
        "ftp",
    }


def _container(c: Command) -> bool:
    if c.program not in {"docker", "podman", "nerdctl"} or not {"run", "exec", "create"} & set(c.args):
        return False
    words = " ".join(c.args)
    shares_host = re.search(r"--(?:pid|net|network|ipc|uts|userns)[= ]host", words)
    mounts = [word.partition("=")[2] or following for word, following in zip(c.args, (*c.args[1:], ""), strict=True)
              if word.partition("=")[0] in {"-v", "--volume", "--mount"}]  # fmt: skip
    sources = [re.sub(r"^.*?(?:source|src)=([^,]*).*$", r"\1", mount).partition(":")[0] for mount in mounts]
    return c.has("", "--privileged", "--cap-add", "--device") or bool(shares_host) or any(map(outside, sources))


def _install(c: Command) -> bool:
    if c.program in _SYSTEM_PACKAGES:
        return bool({"install", "remove", "purge", "upgrade", "add", "del", "-i", "-S", "-U", "-e"} & set(c.args))
    if c.program in {"npm", "pnpm", "yarn"}:
        return bool({"install", "i", "add", "global"} & set(c.args)) and (c.has("g", "--global") or "global" in c.args)
    words = _pip(c)
    if "install" not in words:
        return False
    if c.has("", "--break-system-packages", "--user", "--system"):
        return True
    places = [(name, value or after) for word, after in zip(words, (*words[1:], ""), strict=True)
              for name, _, value in [word.partition("=")]]  # fmt: skip
    return any(name in {"--target", "-t", "--prefix", "--root"} and outside(value, c.cwd) for name, value in places)


def _pip(c: Command) -> tuple[str, ...]:
    """Return pip's arguments; empty if the command is not pip.

    pip may be called directly, by Python or by uv.
    """
    if re.fullmatch(r"(?:python|pypy|uv)[\d.]*", c.program) and c.args[:1] in {("-m",), ("pip",)}:
        words = c.args[1:] if c.program.startswith("uv") else c.args[2:]
        return words if "pip" in c.args[:2] else ()
    return c.args if re.fullmatch(r"pip[\d.]*", c.program) else ()


def _install_at_run_time(c: Command) -> bool:
    npm = c.program in {"npm", "pnpm", "yarn"} and bool({"install", "i", "add", "ci"} & set(c.args))
    return npm or "install" in _pip(c)


def _schedule(c: Command) -> bool:
    if c.program == "crontab":
        return c.args != ("-l",)
    if c.program in {"systemctl", "service", "launchctl", "update-rc.d", "chkconfig", "loginctl"}:
        return not {"status", "list-units", "is-active", "show", "--version"} & set(c.args)
    return c.program in {"at", "batch", "systemd-run"}


def _kernel(c: Command) -> bool:
    if c.program == "sysctl":
        return c.has("w", "--write", "--system", "--load") or any("=" in word for word in c.args)
    if c.program == "mount":
        return bool(c.args)
    return c.program in {"insmod", "modprobe", "rmmod", "umount", "iptables", "ip6tables", "nft", "ufw", "swapoff",
                         "setenforce", "kexec", "losetup"}  # fmt: skip


def _private_files(c: Command) -> bool:
    if c.program in {"echo", "printf"}:
        return any(private(path) for path in c.writes)
    words = [part for word in c.args for part in re.split(r"[=@,:]", word)]
    return any(private(word) for word in (*words, *c.writes))


def _write_outside(c: Command) -> bool:
    targets = [*c.writes, *(c.operands() if c.program == "tee" else ())]
    return any(outside(path, c.cwd) and not path.startswith("/dev/") for path in targets)


PATTERNS: tuple[Pattern, ...] = (
    Pattern("rm-outside", "removes files outside of the workspace, or the repository's history",
             "remove only relative paths below the workspace, or a folder made with mktemp", _removes_outside),
    Pattern("fork-bomb", "starts copies of itself without end", "start a fixed number of processes",
             _fork_bomb),
    Pattern("pipe-to-shell", "runs code that it has just downloaded or decoded",
             "keep the code in the repository, where it can be read", _pipe_to_shell),
    Pattern("force-push", "overwrites or deletes branches of a remote", "push without force, to a branch of your own",
             _git_force_push),
    Pattern("git-discard", "discards work in another repository, or rewrites history",
             "work in the task's own repository only", _git_discard),
    Pattern("device-write", "writes to a device", "write to a file in the workspace", _device_write),
    Pattern("mkfs", "formats or partitions a disk", "use a file in the workspace", _mkfs),
    Pattern("permissions", "changes permissions or owners outside of the workspace, or makes a file set-uid",
             "change modes of the workspace's own files only", _permissions),
    Pattern("power", "stops the machine or other people's processes", "end only processes that you started, by id",
             _power),
    Pattern("privilege", "asks for another user's rights", "use the rights that the task has", _privilege),
    Pattern("remote", "talks to another machine", "leave network access to the owner", _remote),
    Pattern("container", "gives a container access to the host", "run the container without host access", _container),
    Pattern("install-outside", "installs software outside of the project's own environment",
             "add the package to the project's dependencies", _install),
    Pattern("install-at-run-time", "installs packages while the program runs (in code only)",
            "add the package to the project's dependencies", _install_at_run_time, in_code=True),
    Pattern("schedule", "installs something that runs later", "leave schedules and services to the owner", _schedule),
    Pattern("kernel", "changes the running system", "leave the system's settings to the owner", _kernel),
    Pattern("private-files", "accesses keys or passwords", "take credentials from the settings of the program",
             _private_files),
    Pattern("write-outside", "writes outside of the workspace", "write to a relative path below the workspace",
             _write_outside),
)  # fmt: skip
