#!/usr/bin/env python3
"""A small AMP editor (edition cli) that misbehaves as reported: editor.py MODE.

It answers `ping` and `readFile`, which is enough to be certified in part. Only the standard library is used.
"""

import base64
import hashlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading

MODE = sys.argv[1] if len(sys.argv) > 1 else "good"
TOKEN = "0123456789abcdef"
lockfile = None


def tell(word):
    """Says how far it is, to a test that waits for that."""
    if "WIRECERT_TEST_TELL" in os.environ:
        with open(os.environ["WIRECERT_TEST_TELL"], "w") as pipe:
            print(word, file=pipe)


def folder():
    path = os.path.join(os.environ["AMP_DATA_HOME"], "amp", "ide")
    os.makedirs(path, exist_ok=True)
    return path


def write_lock(port, name=None, **changes):
    global lockfile
    content = {
        "port": port,
        "authToken": TOKEN,
        "pid": os.getpid(),
        "ideName": "editor.py",
        "workspaceFolders": [os.getcwd()],
    }
    content.update(changes)
    path = os.path.join(folder(), name or f"{port}.json")
    with open(path + ".tmp", "w") as file:
        json.dump(content, file)
    os.replace(path + ".tmp", path)
    lockfile = path


def leave(*_):
    if lockfile and os.path.exists(lockfile):
        os.remove(lockfile)
    os._exit(0)


def frame(opcode, payload):
    head = bytes([0x80 | opcode])
    if len(payload) < 126:
        head += bytes([len(payload)])
    elif len(payload) < 65536:
        head += bytes([126]) + struct.pack(">H", len(payload))
    else:
        head += bytes([127]) + struct.pack(">Q", len(payload))
    return head + payload


def exactly(conn, count):
    data = b""
    while len(data) < count:
        more = conn.recv(count - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def receive(conn):
    first, second = exactly(conn, 2)
    length = second & 0x7F
    if length == 126:
        (length,) = struct.unpack(">H", exactly(conn, 2))
    elif length == 127:
        (length,) = struct.unpack(">Q", exactly(conn, 8))
    mask = exactly(conn, 4)
    payload = exactly(conn, length)
    return first & 0x0F, bytes(b ^ mask[i % 4] for i, b in enumerate(payload))


def shake_hands(conn):
    head = b""
    while b"\r\n\r\n" not in head:
        more = conn.recv(4096)
        if not more:
            raise EOFError
        head += more
    text = head.decode("latin-1")
    if f"auth={TOKEN}" not in text.split("\r\n", 1)[0]:
        conn.sendall(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        raise EOFError
    headers = dict(line.split(": ", 1) for line in text.split("\r\n")[1:] if ": " in line)
    key = next(value for name, value in headers.items() if name.lower() == "sec-websocket-key")
    accept = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
    conn.sendall(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Accept: {accept}\r\n\r\n".encode()
    )


def answer(conn, message):
    request = message["clientRequest"]
    if "ping" in request:
        result = {"ping": {"message": request["ping"].get("message")}}
        if str(request["ping"].get("message")).startswith("are you"):
            misbehave(conn)
    elif "readFile" in request:
        try:
            with open(request["readFile"]["path"]) as file:
                result = {"readFile": {"success": True, "content": file.read(), "encoding": "utf-8"}}
        except (OSError, KeyError, TypeError, ValueError) as error:
            result = {"readFile": {"success": False, "message": str(error)}}
    else:
        result = {"error": {"message": "not offered"}}
    conn.sendall(frame(1, json.dumps({"serverResponse": {"id": request["id"], **result}}).encode()))


def misbehave(conn):
    """What the mode does to a ping that asks `are you there?`."""
    tell("asked")
    if MODE == "crash":
        os._exit(7)
    elif MODE == "halt":
        os.kill(os.getpid(), signal.SIGSTOP)
        threading.Event().wait()
    elif MODE == "mute":
        raise InterruptedError
    elif MODE == "latin-1":
        conn.sendall(frame(1, '{"serverResponse":{"id":"1","ping":{"message":"grüße"}}}'.encode("latin-1")))
        raise InterruptedError
    elif MODE in ("flood", "flood-large"):
        size = 4000 if MODE == "flood" else 1 << 20
        note = frame(1, json.dumps({"serverNotification": {"pluginMetadata": {"version": "x" * size}}}).encode())
        while True:
            conn.sendall(note)
    elif MODE == "huge":
        conn.sendall(bytes([0x81, 127]) + struct.pack(">Q", 200 << 20))
        while True:
            conn.sendall(b"x" * 65536)
    elif MODE == "huge-head":
        conn.sendall(bytes([0x81, 127]) + struct.pack(">Q", 200 << 20))


def serve(conn):
    try:
        shake_hands(conn)
        while True:
            opcode, payload = receive(conn)
            if opcode == 8:
                if MODE == "never-close":
                    threading.Event().wait()
                conn.sendall(frame(8, payload[:2]))
                if MODE == "crash-on-close":
                    os._exit(9)
                return
            if opcode == 9:
                conn.sendall(frame(10, payload))
            elif opcode == 1:
                try:
                    answer(conn, json.loads(payload))
                except InterruptedError:
                    pass
                except (ValueError, KeyError, TypeError):
                    pass
    except (EOFError, OSError, StopIteration):
        pass
    finally:
        conn.close()


def spawn(script):
    """A child that outlives everything if nobody ends it."""
    return subprocess.Popen(
        [sys.executable, "-c", script, os.environ.get("WIRECERT_TEST_MARK", "")],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


STUBBORN = "import signal,threading;signal.signal(signal.SIGTERM,signal.SIG_IGN);threading.Event().wait()"
DAEMON = "import os\nos.fork() and os._exit(0)\nos.setsid()\nos.fork() and os._exit(0)\n" + STUBBORN


def main():
    signal.signal(signal.SIGTERM, (lambda *_: tell("stopping")) if MODE == "stubborn" else leave)
    if MODE == "exit":
        print("there is no display", file=sys.stderr)
        sys.exit(3)
    if MODE == "never":
        print("warming up", file=sys.stderr, flush=True)
        tell("started")
        threading.Event().wait()
    if MODE == "shout":

        def shout():
            while True:
                os.write(1, b"la " * 5000 + b"\n")

        threading.Thread(target=shout, daemon=True).start()
    if MODE == "daemons":
        for _ in range(3):
            spawn(DAEMON)
    if MODE == "forks":
        for _ in range(20):
            spawn(STUBBORN)
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(("127.0.0.1", 0))
    server.listen(64)
    port = server.getsockname()[1]
    if MODE == "torn-locks":
        with open(os.path.join(folder(), "1.json"), "w") as file:
            file.write('{"port": 80')
        for n in range(150):
            write_lock(9, f"stale-{n}.json", pid=4194303)
        write_lock(str(port), "wrong.json")
        os.mkdir(os.path.join(folder(), "1234.json"))
        os.mkfifo(os.path.join(folder(), "pipe.json"))
        os.symlink("loop.json", os.path.join(folder(), "loop.json"))
        with open(os.path.join(folder(), "huge.json"), "w") as file:
            file.truncate(1 << 40)
    write_lock(port)
    while True:
        conn, _ = server.accept()
        threading.Thread(target=serve, args=(conn,), daemon=True).start()


main()
