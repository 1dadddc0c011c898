"""What a subject does to files: its run directory, its lockfile, the places where files are expected."""

import json
import os
import socket
import threading
import time

from subjects.server import write_lock

from . import documents
from .kind import CLIENTS, CONFORMS, INCOMPLETE, SERVERS, UNREACHED, VIOLATED, kind
from .process import spawn

PROCESSES = SERVERS + CLIENTS
ANY = {CONFORMS, VIOLATED, UNREACHED, INCOMPLETE}
WORKSPACE = "WIRECERT_WORKSPACE"
RUN_DIR = "WIRECERT_RUN_DIR"


# The run directory


def deep(name, depth, **more):
    @kind(
        name,
        PROCESSES,
        "start",
        f"makes folders {depth:,} deep, a path longer than the system takes",
        **{"codes": {CONFORMS}, "timeout": "5s", **more},
    )
    def act(subject):
        here = os.getcwd()
        for _ in range(depth):
            os.mkdir("deep")
            os.chdir("deep")
        os.chdir(here)


deep("deep-folders", 3_000)
deep("deeper-folders", 20_000, subject={"ready": {"within": "30s"}}, bound=120)


@kind("many-files", PROCESSES, "start", "makes 10,000 files in its workspace", codes={CONFORMS}, timeout="5s")
def many_files(subject):
    for n in range(10_000):
        os.close(os.open(f"file-{n}", os.O_CREAT | os.O_WRONLY))


@kind("closed-folders", PROCESSES, "start", "takes all rights from folders in its run directory", codes={CONFORMS})
def closed_folders(subject):
    for folder in ("closed", "home/closed"):
        path = os.path.join(os.environ[RUN_DIR], folder)
        os.makedirs(os.path.join(path, "inner"))
        os.chmod(path, 0)


@kind(
    "links-out", PROCESSES, "start", "fills its run directory with links out of it, devices and pipes", codes={CONFORMS}
)
def links_out(subject):
    out = os.environ["ABUSE_CANARY"]
    for n, target in enumerate([out, "/dev/zero", "/proc/self/fd/0", "loop", os.path.join(out, "keep")]):
        os.symlink(target, "loop" if target == "loop" else f"link-{n}")
    os.mkfifo("pipe")
    os.symlink(out, os.path.join(os.environ[RUN_DIR], "out"))


@kind("removes-run-dir", SERVERS, "start", "removes its run directory, workspace and home", codes=ANY)
def removes_run_dir(subject):
    import shutil

    shutil.rmtree(os.environ[RUN_DIR], ignore_errors=True)


@kind(
    "swaps-workspace",
    SERVERS,
    "start",
    "puts a link out of the run directory in the place of its workspace",
    codes={CONFORMS, VIOLATED, INCOMPLETE, UNREACHED},
)
def swaps_workspace(subject):
    workspace = os.environ[WORKSPACE]
    os.rename(workspace, workspace + "-away")
    os.symlink(os.environ["ABUSE_CANARY"], workspace)


@kind(
    "writes-while-removed",
    PROCESSES,
    "start",
    "has a daemon that makes files while the run directory is removed",
    codes={CONFORMS},
    timeout="5s",
)
def writes_while_removed(subject):
    script = (
        "import os,signal,itertools\nsignal.signal(15,signal.SIG_IGN)\nos.setsid()\n"
        "for n in itertools.count():\n"
        "  os.makedirs(f'{os.environ[\"WIRECERT_RUN_DIR\"]}/home/{n%50}/{n}',exist_ok=True)\n"
        "  n > 20000 and os._exit(0)\n"
    )
    spawn(script)


@kind("sparse-file", PROCESSES, "start", "makes a file of a terabyte that takes no room", codes={CONFORMS})
def sparse_file(subject):
    with open("sparse", "wb") as file:
        file.truncate(1 << 40)


@kind("full-disk", PROCESSES, "start", "fills the disk, a file system of 4 MB", codes=ANY, disk="4m", bound=40)
def full_disk(subject):
    try:
        with open(os.path.join(os.environ["WIRECERT_RUN_DIR"], "filler"), "wb", buffering=0) as file:
            while file.write(b"x" * 4096):
                pass
    except OSError:
        pass


# The lockfile

AMP = ("amp-server",)
SEEN = {"subject": {"ready": {"within": "1s"}}}


def lockfile(name, about, **more):
    return kind(name, AMP, "lock", about, **{**SEEN, **more})


@lockfile("lock-never", "writes no lockfile")
def lock_never(subject, folder, content):
    pass


@lockfile("lock-torn", "writes the first half of its lockfile")
def lock_torn(subject, folder, content):
    write_lock(folder, "1.json", json.dumps(content).encode()[:40])


@lockfile("lock-late", "writes its lockfile byte by byte", codes={CONFORMS}, subject={"ready": {"within": "10s"}})
def lock_late(subject, folder, content):
    def write():
        with open(os.path.join(folder, f"{subject.port}.json"), "wb", buffering=0) as file:
            for byte in json.dumps(content).encode():
                file.write(bytes([byte]))
                time.sleep(0.005)

    threading.Thread(target=write, daemon=True).start()


@lockfile(
    "lock-thousand",
    "writes 1,000 lockfiles of editors that are not there beside its own",
    codes={CONFORMS},
    subject={"ready": {"within": "20s"}},
    bound=60,
)
def lock_thousand(subject, folder, content):
    for n in range(1000):
        write_lock(folder, f"stale-{n}.json", json.dumps({**content, "port": 9, "pid": 4194303}).encode())
    write_lock(folder, f"{subject.port}.json", json.dumps(content).encode())


@lockfile("lock-flood", "writes 20,000 lockfiles, its own the last")
def lock_flood(subject, folder, content):
    for n in range(20_000):
        with open(os.path.join(folder, f"{n}.json"), "wb") as file:
            file.write(b'{"port": 9}')
    write_lock(folder, "z.json", json.dumps(content).encode())


@lockfile("lock-changing", "writes its lockfile anew all the time, with ports and tokens that change", codes=ANY)
def lock_changing(subject, folder, content):
    def write():
        n = 0
        while True:
            n += 1
            changed = {**content, "port": 9, "authToken": f"another-token-{n}"} if n % 2 else content
            write_lock(folder, f"{subject.port}.json", json.dumps(changed).encode())

    threading.Thread(target=write, daemon=True).start()


@lockfile("lock-blinking", "writes and removes its lockfile all the time", codes=ANY)
def lock_blinking(subject, folder, content):
    def write():
        path = os.path.join(folder, f"{subject.port}.json")
        while True:
            write_lock(folder, f"{subject.port}.json", json.dumps(content).encode())
            os.remove(path)

    threading.Thread(target=write, daemon=True).start()


def special(name, about, make, **more):
    """A kind that puts something else in the place of its lockfile."""

    @lockfile(name, about, **more)
    def put(subject, folder, content):
        make(os.path.join(folder, f"{subject.port}.json"))


special("lock-folder", "has a folder in the place of its lockfile", os.mkdir)
special("lock-pipe", "has a pipe in the place of its lockfile, which nobody writes to", os.mkfifo)
special("lock-zero", "has a link to /dev/zero in the place of its lockfile", lambda path: os.symlink("/dev/zero", path))
special("lock-loop", "has a link to itself in the place of its lockfile", lambda path: os.symlink(path, path))
special(
    "lock-memory",
    "has a link to /proc/self/mem in the place of its lockfile",
    lambda path: os.symlink("/proc/self/mem", path),
)
special("lock-socket", "has a socket in the place of its lockfile", lambda path: bind(path))
special(
    "lock-sparse",
    "has a lockfile of a terabyte",
    lambda path: os.truncate(os.open(path, os.O_CREAT | os.O_WRONLY), 1 << 40),
)


def bind(path):
    # Names of sockets are short.
    os.chdir(os.path.dirname(path))
    server = socket.socket(socket.AF_UNIX)
    server.bind(os.path.basename(path))
    server.listen(1)
    special.kept = server


@lockfile("lock-bad-name", "has lockfiles whose names are no UTF-8, and one of 255 bytes", codes={CONFORMS})
def lock_bad_name(subject, folder, content):
    for name in (b"\xff\xfe.json", b"x" * 250 + b".json", b"\x1b[2J\n.json"):
        with open(os.path.join(os.fsencode(folder), name), "wb") as file:
            file.write(b"{}")
    write_lock(folder, f"{subject.port}.json", json.dumps(content).encode())


def changed(name, about, codes=None, **members):
    """A kind whose lockfile has other members."""

    @lockfile(name, about, codes=codes)
    def write(subject, folder, content):
        write_lock(folder, f"{subject.port}.json", json.dumps({**content, **members}).encode())


changed("lock-port-0", "names the port 0", port=0)
changed("lock-port-huge", "names the port 99999999999999999999", port=99999999999999999999)
changed("lock-port-negative", "names a negative port", port=-1)
changed("lock-port-fraction", "names a port with a fraction", port=8080.5)
changed("lock-port-closed", "names a port on which nobody listens", port=9)
changed("lock-pid-huge", "names a process id of 20 digits", pid=99999999999999999999)
changed("lock-pid-init", "names the process 1", ANY, pid=1)
changed("lock-token-huge", "has a token of 500 KB", ANY, authToken="t" * 500_000)
changed(
    "lock-token-odd", "has a token with line ends, NULs and unpaired surrogates", ANY, authToken="a\r\nX: y\0\ud800"
)
changed("lock-folders-many", "names 10,000 folders", ANY, workspaceFolders=["/f"] * 10_000)
changed("lock-future", "has the times of another millennium", ANY, startedAt="9999-12-31T23:59:60Z", time=1e300)


@kind("lock-stolen-port", AMP, "lock", "names a port of another process, which speaks HTTP", **SEEN)
def lock_stolen_port(subject, folder, content):
    other = socket.socket()
    other.bind(("127.0.0.1", 0))
    other.listen(16)
    if os.fork() == 0:
        while True:
            conn, _ = other.accept()
            conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
            conn.close()
    write_lock(folder, f"{subject.port}.json", json.dumps({**content, "port": other.getsockname()[1]}).encode())


def of_document(document):
    """A kind whose lockfile is this misshapen document."""

    @lockfile(f"lock-{document.name}", f"has a lockfile that {document.about}", codes=ANY)
    def write(subject, folder, content):
        write_lock(folder, f"{subject.port}.json", document.write(content))


for one in documents.DOCUMENTS:
    of_document(one)


@kind(
    "stolen-port",
    ("openctx-provider", "amplifier-server"),
    "start",
    "lets another process take its port, and hangs",
    codes={VIOLATED, UNREACHED, INCOMPLETE},
)
def stolen_port(subject):
    spawn(
        "import socket,os\ns=socket.socket();s.bind(('127.0.0.1',int(os.environ['WIRECERT_PORT'])));s.listen(9)\n"
        "while True: c,_=s.accept();c.sendall(b'SSH-2.0-OpenSSH_9.6\\r\\n');c.close()"
    )
    time.sleep(120)
