# A server for tests: writes a lockfile, listens, and does what its arguments say besides.
import json, os, signal, socket, subprocess, sys, threading, time

args = sys.argv[1:]
folder = os.path.join(os.environ["XDG_DATA_HOME"], "test", "ide")
workspace = os.environ["WIRECERT_WORKSPACE"]
os.makedirs(folder, exist_ok=True)


def listen():
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    return listener


def lockfile(name, **content):
    path = os.path.join(folder, name)
    with open(path + ".new", "w") as f:
        json.dump(content, f)
    os.rename(path + ".new", path)
    return path


def note(pid):
    with open(os.path.join(workspace, "pids"), "a") as f:
        f.write(f"{pid}\n")


def daemon():
    """Leaves session, group, parent and environment behind."""
    code = "import os,sys,time\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\n"
    code += "open(sys.argv[1],'a').write(f'{os.getpid()}\\n')\ntime.sleep(600)"
    null = subprocess.DEVNULL
    subprocess.run([sys.executable, "-c", code, os.path.join(workspace, "pids")], env={}, stdout=null, stderr=null)


def has_pids(count):
    try:
        return len(open(os.path.join(workspace, "pids")).read().split()) >= count
    except FileNotFoundError:
        return False


def swarm():
    for _ in range(20):
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            os.setsid()
            for _ in range(3):
                os.fork()
            note(os.getpid())
            time.sleep(600)


def flood():
    while True:
        os.write(1, b"flood\n" * 1000)


listener = listen()
port = listener.getsockname()[1]
stop = threading.Event()

if "env" in args:
    with open(os.path.join(workspace, "env.json"), "w") as f:
        json.dump({"env": dict(os.environ), "argv": args, "cwd": os.getcwd()}, f)
if "deaf" in args:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if "daemon" in args:
    daemon()
    while not has_pids(1):
        time.sleep(0.005)
if "swarm" in args:
    swarm()
    while not has_pids(160):
        time.sleep(0.005)
if "flood" in args:
    threading.Thread(target=flood, daemon=True).start()
mine = lockfile(f"{port}.json", port=port, pid=os.getpid(), secret="hush-hush")
if "foreign" in args:
    other = listen()
    path = lockfile("foreign.json", port=other.getsockname()[1], secret="foreign")
    os.utime(path, (time.time() + 60, time.time() + 60))

if "deaf" not in args:
    def end(*_):
        if "messy" not in args:
            os.remove(mine)
        print("bye", flush=True)
        os._exit(0)
    signal.signal(signal.SIGTERM, end)
if "crash" in args:
    while not os.path.exists(os.path.join(workspace, "crash")):
        time.sleep(0.005)
    print("it broke", file=sys.stderr, flush=True)
    os._exit(7)
while True:
    time.sleep(600)
