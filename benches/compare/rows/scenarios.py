"""Scenarios against a server, beside hurl."""

import os
import shutil

from measure.figures import Table, goal, growth, middle, ratios, show

from . import row

SCENARIO = """\
wirecert: 1
title: A session is created, looked at and stopped
role: amplifier-server
edition: "2025-12-09"
steps:
  - request: { as: health, endpoint: health }
  - expect: { response: { to: health, status: 200, json: { status: healthy } } }
  - request: { as: created, endpoint: createSession, over: health, body: { profile: dev } }
  - expect: { response: { to: created, status: 201, json: { session_id: { $capture: id }, status: created } } }
  - request: { as: seen, endpoint: getSession, over: created, params: { session_id: "${id}" } }
  - expect: { response: { to: seen, status: 200, json: { session_id: "${id}" } } }
  - request: { as: stopped, endpoint: deleteSession, over: seen, params: { session_id: "${id}" } }
  - expect: { response: { to: stopped, status: 200 } }
"""
HURL = """\
GET http://127.0.0.1:{{port}}/health
HTTP 200
[Asserts]
jsonpath "$.status" == "healthy"

POST http://127.0.0.1:{{port}}/sessions
{"profile": "dev", "credentials": {"anthropic_api_key": "any"}}
HTTP 201
[Captures]
id: jsonpath "$.session_id"
[Asserts]
jsonpath "$.status" == "created"

GET http://127.0.0.1:{{port}}/sessions/{{id}}
HTTP 200
[Asserts]
jsonpath "$.session_id" == "{{id}}"

DELETE http://127.0.0.1:{{port}}/sessions/{{id}}
HTTP 200
"""


def write(context, count):
    """Writes so many scenarios for both, a file each; gives the two folders."""
    ours, theirs = f"scenarios-{count}/amplifier-server/compare", f"hurl-{count}"
    for n in range(count):
        context.write(f"{ours}/s{n}.yaml", SCENARIO)
        context.write(f"{theirs}/s{n}.hurl", HURL)
    return context.file(f"scenarios-{count}"), context.file(theirs)


def subject(context, port):
    """Describes the server for wirecert."""
    text = (
        f'name: server\nrole: amplifier-server\nurl: "http://127.0.0.1:{port}/"\ncredentials: {{ good: COMPARE_KEY }}\n'
    )
    return context.write("subject.yaml", text)


def evict(folder):
    """Has the system forget the files of a folder that it keeps in memory, as far as the file system allows that."""
    for name, _, files in os.walk(folder):
        for file in files:
            descriptor = os.open(os.path.join(name, file), os.O_RDONLY)
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)


@row("scenarios", "Scenarios over HTTP")
def scenarios(context):
    """Scenarios of four requests over one connection (health, create a session, look at it, stop it), a file each, two at a time,
    against the same server, `wirecert mock amplifier-server`: `wirecert run --jobs 2`, which also judges everything by the rules of the protocol, and
    `hurl --test --jobs 2`. Cold: the files are no longer in the memory of the system."""
    server = context.mock("amplifier-server")
    described = subject(context, server.port)
    table = Table(
        "scenarios",
        "",
        "hurl",
        "wirecert",
        "of the time of hurl",
        "goal",
        "processor time: hurl",
        "wirecert",
        "memory: hurl",
        "wirecert",
    )
    sizes, cost = ([2, 20] if context.quick else [20, 200, 2000]), []
    for size in sizes:
        ours, theirs = write(context, size)
        command = [context.wirecert, "run", ours, "--subject", described, "--jobs", "2", "--progress", "none", "-q"]
        rival = context.hurl and [context.hurl, "--test", "--jobs", "2", "--variable", f"port={server.port}", theirs]
        for heat in ("cold", "warm") if size in (20, 200) else ("warm",):
            run, other = [], []
            for _ in range(max(3, context.repeat // 3) if size > 200 else context.repeat):
                if heat == "cold":
                    evict(ours)
                    evict(theirs)
                if rival:
                    other.append(context.time(*rival))
                run.append(context.time(*command))
            seconds = [one["seconds"] for one in run]
            part = ratios(seconds, [one["seconds"] for one in other])
            table.row(
                size,
                heat,
                show([one["seconds"] for one in other], "ms"),
                show(seconds, "ms"),
                show(part, "x"),
                goal("≤ 0.5", middle(part), lambda value: value <= 0.5) if part else "no rival",
                show([one["processor"] for one in other], "ms"),
                show([one["processor"] for one in run], "ms"),
                show([max(one["peak"] for one in other)] if other else [], "MB"),
                show([max(one["peak"] for one in run)], "MB"),
            )
        cost.append(middle(seconds))
        shutil.rmtree(ours)
        shutil.rmtree(theirs)
    table.note(f"Growth with the number of scenarios: {growth(sizes, cost, 'one scenario')}.")
    return [table]
