"""What a provider does that is a JavaScript module; the cases are in `subjects/module.mjs`."""

from .kind import CONFORMS, INCOMPLETE, MODULE, UNREACHED, VIOLATED, kind

ANY = {CONFORMS, VIOLATED, UNREACHED, INCOMPLETE}
WRONG = {VIOLATED, UNREACHED, INCOMPLETE}


def module(name, about, codes=WRONG, **more):
    kind(
        f"module-{name}",
        MODULE,
        "module",
        about,
        codes=codes,
        **{"timeout": "1s", "accused": ("envelope/*", "robustness/alive"), **more},
    )(lambda: None)


module("throws-at-load", "throws when it is loaded", {UNREACHED})
module("hangs-at-load", "runs in a circle when it is loaded", {UNREACHED}, subject={"ready": {"within": "1s"}})
module("waits-at-load", "waits without end when it is loaded", {UNREACHED}, subject={"ready": {"within": "1s"}})
module("exits-at-load", "ends its process when it is loaded", {UNREACHED})
module("no-export", "exports nothing", ANY)
module("syntax", "is no JavaScript", {UNREACHED})
module("hangs", "runs in a circle when it is called")
module("waits", "never settles what it promises")
module("exits", "ends the process when it is called")
module("crashes", "sends SIGSEGV to its process when it is called")
module("eats-heap", "makes objects without end")
module("eats-buffers", "makes buffers outside the heap without end, up to its limit")
module("throws-odd", "throws things that are no errors, with getters that throw", {CONFORMS})
module("rejects-later", "leaves promises that are rejected later", ANY)
module("bigint", "gives a value that JSON does not have", ANY)
module("circular", "gives a value that contains itself", ANY)
module("proxy", "gives a proxy that throws, and one without end", ANY)
module("to-json", "gives an object whose toJSON throws, or gives itself", ANY)
module("deep", "gives a value nested 100,000 deep", ANY)
module("long", "gives a string of 100 MB")
module("surrogates", "gives unpaired surrogates, NULs and escapes", ANY)
module("stdout", "writes to stdout without end, also what looks like the harness", ANY)
module("stderr", "writes to stderr without end", ANY)
module("children", "starts daemons when it is loaded", {CONFORMS})
module("overrides", "replaces JSON, Promise and http of its process", ANY)
module("dispose-hangs", "runs in a circle when it is disposed of", {CONFORMS})
module("closes-servers", "closes the server that serves it", ANY)
module("port-thief", "connects to the port that serves it, without end", ANY)
module("removes-harness", "removes all files around it", ANY)
