"""Faults that are injected into crawls, keyed by name. Each fault is injected into a running crawl, uses
its own random source, and returns a description and a way to undo it.

`undo` restores the original state. If possible, a fault damages a copy, and the original is set aside
meanwhile."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import redis

from e2e import failpoint
from e2e.faulted_crawl import MAIN, Crawl, Effect, Fault, resume
from e2e.output_oracle import FOREIGN
from e2e.runs import store_pid
from support.moving_clock import LIBRARY

SHORT = (1.0, 2.0, 4.0)
"""Pauses in seconds, for trials that must be short."""
LONG = (1.0, 3.0, 8.0, 16.0, 26.0, 35.0, 60.0, 120.0)
pauses: Sequence[float] = LONG


def copy(source: Path, target: Path, *words: str) -> None:
    """Copy like `cp -a`, with times, links and attributes. Files that vanish during the copy are left out."""
    subprocess.run(["cp", *(words or ("-a",)), str(source), str(target)], capture_output=True)


def remove(path: Path) -> None:
    """Remove a file, a link or a folder."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def damaged_copy(crawl: Crawl, path: Path) -> Callable[[], None]:
    """Replace a file or folder with a copy that can be damaged. Return a function that restores the
    original."""
    aside = crawl.base / f"aside-{time.monotonic_ns()}"
    path.rename(aside)
    copy(aside, path)

    def undo() -> None:
        crawl.end_all()
        remove(path)
        aside.rename(path)

    return undo


def a_file(
    crawl: Crawl,
    rng: random.Random,
    endings: Sequence[str] = ("jsonl", "csv", "sqlite", "parquet", "warc.gz"),
) -> Path | None:
    """Return a random output file. A Parquet output is a folder, so one of its files is returned."""
    ending = rng.choice([one for one in crawl.formats if one in endings] or [""])
    path = crawl.path(ending)
    if ending == "parquet" and path.is_dir():
        inside = sorted(one for one in path.iterdir() if one.is_file())
        return rng.choice(inside) if inside else None
    return path if ending and path.is_file() else None


def pause(rng: random.Random) -> float:
    return rng.choice(pauses)


def aof(crawl: Crawl, pattern: str = "*.incr.aof") -> Path | None:
    """Return the newest append-only file of the store."""
    found = sorted(
        (crawl.folder / crawl.data / "store" / "appendonlydir").glob(pattern),
        key=lambda path: path.stat().st_mtime,
    )
    return found[-1] if found else None


# kills


def killed(whom: str) -> Fault:
    def fault(crawl: Crawl, rng: random.Random) -> Effect:
        time.sleep(rng.uniform(0, 0.2))
        crawl.kill(whom)
        return Effect(f"kill -9 {whom}")

    return fault


def killed_early(crawl: Crawl, rng: random.Random) -> Effect:
    """Kill all processes three times during the start of the command."""
    for _ in range(3):
        crawl.kill()
        crawl.start()
        time.sleep(rng.uniform(0.0, 1.6))
    crawl.kill()
    return Effect("kill -9 three times within the start")


def at_failpoint(crawl: Crawl, place: str, after: int) -> bool:
    """Start the command so that it stops in a commit, and return whether the command reached that point."""
    crawl.kill()
    marker = crawl.base / f"marker-{time.monotonic_ns()}"
    was, crawl.processes = crawl.processes, 1
    run = crawl.start(code=failpoint.code(place, after, marker))
    crawl.processes = was
    deadline = time.monotonic() + 40
    while not marker.exists() and run.code() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    return marker.exists()


def killed_in_commit(place: str) -> Fault:
    def fault(crawl: Crawl, rng: random.Random) -> Effect:
        after, whom = rng.choice((1, 2, 3)), rng.choice(("all", "all", "door"))
        there = at_failpoint(crawl, place, after)
        crawl.kill(whom)
        crawl.kill("door")
        return Effect(f"kill -9 {whom} at {place} of commit {after}" + ("" if there else " (not reached)"))

    return fault


def stopped_by_hand(crawl: Crawl, rng: random.Random) -> Effect:
    code = crawl.leave()
    return Effect(f"Ctrl-C (exit {code})", note="" if code in (0, 11) else f"Ctrl-C ended with {code}")


# stopped processes


def stands(whom: str) -> Fault:
    def fault(crawl: Crawl, rng: random.Random) -> Effect:
        seconds = pause(rng)
        crawl.stand(whom, seconds)
        return Effect(f"{whom} stood still for {seconds:.0f} s", still=seconds)

    return fault


def store_stands_then_kill(crawl: Crawl, rng: random.Random) -> Effect:
    """Stop the store and continue it. A little later, kill the main process and the store whose process ID
    is in run.json."""
    seconds = pause(rng)
    crawl.stand("store", seconds)
    time.sleep(rng.uniform(0.1, 3.0))
    with contextlib.suppress(OSError):
        os.kill(store_pid(crawl.folder / crawl.data) or 0, signal.SIGKILL) if store_pid(
            crawl.folder / crawl.data
        ) else None
    crawl.kill("door")
    return Effect(
        f"store stood still for {seconds:.0f} s, then door and the store of run.json killed", still=seconds
    )


def store_stands_door_killed(crawl: Crawl, rng: random.Random) -> Effect:
    """Kill the command while its store is stopped, start the command again, and continue the store later."""
    hit = crawl.send("store", signal.SIGSTOP)
    crawl.kill("door")
    for pid in crawl.pids("child"):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    crawl.start()
    seconds = pause(rng)
    time.sleep(seconds)
    resume(hit)
    return Effect(
        f"store stood still, door killed and started again; the store went on after {seconds:.0f} s",
        still=seconds,
    )


# moves and copies


def moved(what: str, clean: bool) -> Fault:
    def fault(crawl: Crawl, rng: random.Random) -> Effect:
        how = f"after Ctrl-C (exit {crawl.leave()})" if clean else "after kill -9"
        crawl.kill()
        stamp, undo = f"{time.monotonic_ns()}", None
        if what == "all":
            new = crawl.folder.with_name(f"moved-{stamp}")
            old, crawl.folder = crawl.folder, crawl.folder.rename(new)

            def undo() -> None:
                crawl.end_all()
                crawl.folder = crawl.folder.rename(old)
        else:
            name, to = getattr(crawl, what), f"{what}-{stamp}"
            (crawl.folder / name).rename(crawl.folder / to)
            setattr(crawl, what, to)

            def undo() -> None:
                crawl.end_all()
                remove(crawl.folder / name)
                (crawl.folder / to).rename(crawl.folder / name)
                setattr(crawl, what, name)

        names = {"all": "data and output", "data": "the data folder", "out": "the outputs"}
        return Effect(f"{names[what]} moved {how}", undo)

    return fault


def moved_with_tail(crawl: Crawl, rng: random.Random) -> Effect:
    """Kill the crawl after rows were written but not committed, and rename its folder."""
    there = at_failpoint(crawl, "written", rng.choice((1, 2, 3)))
    effect = moved("all", clean=False)(crawl, rng)
    effect.did += ", with an uncommitted tail" if there else ""
    return effect


def copied(words: tuple[str, ...]) -> Fault:
    def fault(crawl: Crawl, rng: random.Random) -> Effect:
        crawl.kill()
        old, new = crawl.folder, crawl.folder.with_name(f"copied-{time.monotonic_ns()}")
        copy(old, new, *words)
        crawl.folder = new

        def undo() -> None:
            crawl.end_all()
            crawl.folder = old

        return Effect(f"cp {' '.join(words)} of data and outputs after kill -9, the copy goes on", undo)

    return fault


def copied_live(crawl: Crawl, rng: random.Random) -> Effect:
    """Copy the running crawl, and run the copy to its end elsewhere while the original continues."""
    new = crawl.folder.with_name(f"copied-{time.monotonic_ns()}")
    new.mkdir()
    order = [crawl.data, crawl.out]
    rng.shuffle(order)
    for name in order:
        copy(crawl.folder / name, new / name)
        time.sleep(rng.uniform(0, 0.5))
    run = crawl.start(folder=new, apart=True)
    effect = Effect(
        f"a live copy ({' first, then '.join('data' if one == crawl.data else 'outputs' for one in order)}) run elsewhere"
    )
    try:
        code = run.process.wait(150)
    except subprocess.TimeoutExpired:
        run.process.kill()
        effect.note = "the copy hangs"
        return effect
    if code == 0:
        effect.verdict = crawl.verdict(new / crawl.out)
        effect.note = "the copy ended with 0"
    else:
        said = run.said().strip().splitlines() or ["(nothing said)"]
        effect.note = f"the copy ended with {code}: {said[-1][:240]}"
    return effect


def copied_live_and_killed(crawl: Crawl, rng: random.Random) -> Effect:
    """Copy the running crawl, kill the original immediately, and continue with the copy."""
    old, new = crawl.folder, crawl.folder.with_name(f"copied-{time.monotonic_ns()}")
    new.mkdir()
    order = [crawl.data, crawl.out]
    rng.shuffle(order)
    for name in order:
        copy(old / name, new / name)
    crawl.kill()
    crawl.folder = new

    def undo() -> None:
        crawl.end_all()
        crawl.folder = old

    return Effect(
        f"a live copy ({'data' if order[0] == crawl.data else 'outputs'} first) goes on elsewhere, the original was killed",
        undo,
    )


def data_behind_a_link(crawl: Crawl, rng: random.Random) -> Effect:
    """Move the data folder elsewhere, and replace it with a link."""
    crawl.kill()
    path = crawl.folder / crawl.data
    aside = crawl.base / f"elsewhere-{time.monotonic_ns()}"
    path.rename(aside)
    path.symlink_to(aside)

    def undo() -> None:
        crawl.end_all()
        path.unlink()
        aside.rename(path)

    return Effect("the data folder lies elsewhere, behind a link", undo, after=lambda: undo())


def moved_while_it_runs(crawl: Crawl, rng: random.Random) -> Effect:
    """Rename the folder of the data and outputs while the crawl is running."""
    old, new = crawl.folder, crawl.folder.with_name(f"moved-{time.monotonic_ns()}")
    old.rename(new)
    crawl.folder = new

    def undo() -> None:
        crawl.end_all()
        if old.exists():  # the running crawl created the folder again
            old.rename(old.with_name(f"made-again-{time.monotonic_ns()}"))
        crawl.folder = new.rename(old)

    return Effect("the folder of data and outputs renamed while the crawl runs", undo, progress=60)


# restored backups


def restored(*what: str) -> Fault:
    def fault(crawl: Crawl, rng: random.Random) -> Effect:
        crawl.kill()
        kept = crawl.base / f"kept-{time.monotonic_ns()}"
        kept.mkdir()
        for name in what:
            copy(crawl.folder / getattr(crawl, name), kept / name)
        crawl.start()
        crawl.wait(crawl.requests() + rng.randint(20, 60))
        crawl.kill()
        undos = []
        for name in what:
            path = crawl.folder / getattr(crawl, name)
            undos.append(damaged_copy(crawl, path))
            remove(path)
            copy(kept / name, path)
        return Effect(f"{' and '.join(what)} restored from an older copy", lambda: [undo() for undo in undos])

    return fault


# the files of the store


def damaged_store(name: str, damage: Callable[[Crawl, random.Random], str]) -> Fault:
    def fault(crawl: Crawl, rng: random.Random) -> Effect:
        if rng.random() < 0.3:
            crawl.leave()
        crawl.kill()
        undo = damaged_copy(crawl, crawl.folder / crawl.data)
        return Effect(f"{name}: {damage(crawl, rng)}", undo)

    return fault


def emptied(crawl: Crawl, rng: random.Random) -> str:
    path = aof(crawl)
    assert path
    os.truncate(path, 0)
    return path.name


def torn(crawl: Crawl, rng: random.Random) -> str:
    path = aof(crawl)
    assert path
    cut = rng.choice((1, 40, 700, 5000))
    os.truncate(path, max(0, path.stat().st_size - cut))
    return f"{cut} bytes off"


def zeros_after(crawl: Crawl, rng: random.Random) -> str:
    path = aof(crawl)
    assert path
    with path.open("ab") as file:
        file.write(bytes(rng.choice((1, 512, 4096))))
    return "zeros after the end"


def zeros_at_end(crawl: Crawl, rng: random.Random) -> str:
    path = aof(crawl)
    assert path
    size, count = path.stat().st_size, rng.choice((10, 512, 4096))
    with path.open("r+b") as file:
        file.seek(max(0, size - count))
        file.write(bytes(min(size, count)))
    return f"the last {count} bytes are zeros"


def flipped(crawl: Crawl, rng: random.Random) -> str:
    path = aof(crawl, rng.choice(("*.incr.aof", "*.incr.aof", "*.base.rdb")))
    assert path
    data = path.read_bytes()
    at = rng.randrange(max(1, len(data)))
    with path.open("r+b") as file:
        file.seek(at)
        file.write(bytes([(data[at] if data else 0) ^ (1 << rng.randrange(8))]))
    return f"a bit of byte {at} of {path.name}"


def gone(*names: str) -> Callable[[Crawl, random.Random], str]:
    def damage(crawl: Crawl, rng: random.Random) -> str:
        hit = []
        for name in names:
            for path in (crawl.folder / crawl.data).glob(name):
                remove(path)
                hit.append(path.name)
        return " ".join(hit) or "nothing was there"

    return damage


def filled(text: bytes, *names: str) -> Callable[[Crawl, random.Random], str]:
    def damage(crawl: Crawl, rng: random.Random) -> str:
        hit = []
        for name in names:
            for path in (crawl.folder / crawl.data).glob(name):
                path.write_bytes(text)
                hit.append(path.name)
        return f"{' '.join(hit) or 'nothing'} is {text[:20]!r}"

    return damage


def of_another_crawl(crawl: Crawl, rng: random.Random) -> str:
    """Replace the store with that of another crawl of the same name."""
    other = crawl.base / f"other-{time.monotonic_ns()}"
    (other / "out").mkdir(parents=True)
    was, out = crawl.data, crawl.out
    crawl.data, crawl.out = "data", "out"
    run = crawl.start(folder=other, apart=True)
    crawl.data, crawl.out = was, out
    with contextlib.suppress(subprocess.TimeoutExpired):
        run.process.wait(rng.uniform(2.5, 4.0))
    crawl.kill()
    remove(crawl.folder / crawl.data / "store")
    copy(other / "data" / "store", crawl.folder / crawl.data / "store")
    return "another crawl's, of the same name"


def flushed(crawl: Crawl, rng: random.Random) -> Effect:
    """Run FLUSHALL on the store, either during the crawl or after a kill."""
    running = rng.random() < 0.5
    if not running:
        crawl.kill("door")
        for pid in crawl.pids("child"):
            os.kill(pid, signal.SIGKILL)
    pid, sockets = store_pid(crawl.folder / crawl.data), crawl.folder / crawl.data / "store" / "run.json"
    if pid and sockets.exists():
        with contextlib.suppress(redis.RedisError):
            redis.Redis(unix_socket_path=json.loads(sockets.read_text())["socket"]).flushall()
    return Effect(f"FLUSHALL {'while it runs' if running else 'after the door was killed'}", progress=60)


def removed_while_it_runs(what: str) -> Fault:
    def fault(crawl: Crawl, rng: random.Random) -> Effect:
        path = crawl.folder / getattr(crawl, what)
        remove(path)
        remove(path)

        def undo() -> None:
            crawl.end_all()
            crawl.begin_anew()

        return Effect(
            f"rm -r of {'the data folder' if what == 'data' else 'the outputs'} while it runs",
            undo,
            progress=60,
        )

    return fault


# the outputs


def damaged_output(
    name: str,
    damage: Callable[[Path, random.Random], str],
    endings: Sequence[str] = ("jsonl", "csv", "sqlite", "parquet", "warc.gz"),
    running: bool = False,
) -> Fault:
    def fault(crawl: Crawl, rng: random.Random) -> Effect:
        if not running:
            crawl.kill()
        path = a_file(crawl, rng, endings)
        if path is None:
            return Effect(f"{name}: no such output")
        if running:
            return Effect(f"{name}: {path.name}, {damage(path, rng)}", None, progress=60)
        undo = damaged_copy(crawl, crawl.folder / crawl.out)
        return Effect(f"{name}: {path.name}, {damage(path, rng)}", undo)

    return fault


def cut(path: Path, rng: random.Random) -> str:
    size = path.stat().st_size
    take = min(size, rng.choice((1, 30, 500, 8000, size)))
    os.truncate(path, size - take)
    return f"{take} of {size} bytes off"


def deleted(path: Path, rng: random.Random) -> str:
    path.unlink()
    return "deleted"


def replaced(path: Path, rng: random.Random) -> str:
    """Write the same bytes to a new file, as an editor does when it saves."""
    new = path.with_name(path.name + ".new")
    new.write_bytes(path.read_bytes())
    new.rename(path)
    return "the same bytes in a new file"


def replaced_by_others(path: Path, rng: random.Random) -> str:
    size = path.stat().st_size
    new = path.with_name(path.name + ".new")
    new.write_bytes(
        (b"nothing of the crawl\n" * (size // 20 + 2))[
            : size + rng.choice((-10, 0, 40)) if size > 20 else size
        ]
    )
    new.rename(path)
    return "other bytes in a new file"


def edited(path: Path, rng: random.Random) -> str:
    """Replace a word of a row with another word of the same length."""
    data = path.read_bytes()
    at = data.find(b"River", len(data) // 3)
    at = data.find(b"River") if at < 0 else at
    with path.open("r+b") as file:
        if at >= 0:
            file.seek(at)
            file.write(b"Rever")
    return f"a word at byte {at} is another"


def row_removed(path: Path, rng: random.Random) -> str:
    """Remove a row, either in place or by writing a new file, as different editors do."""
    rows = path.read_bytes().splitlines(keepends=True)
    if len(rows) < 4:
        return "too short"
    at, new_file = rng.randrange(1, len(rows) - 1), rng.random() < 0.5
    data = b"".join(rows[:at] + rows[at + 1 :])
    if new_file:
        path.unlink()
    path.write_bytes(data)
    return f"row {at} of {len(rows)} removed ({'a new file' if new_file else 'in place'})"


def appended(tail: str) -> Fault:
    """Append a line of another program: during the crawl, after a kill, or after a kill that left an
    uncommitted tail."""

    def fault(crawl: Crawl, rng: random.Random) -> Effect:
        if tail == "tail":
            at_failpoint(crawl, rng.choice(("written", "torn")), rng.choice((1, 2)))
        if tail != "running":
            crawl.kill()
        path = a_file(crawl, rng, ("jsonl", "csv"))
        if path is None or not path.stat().st_size:
            return Effect("a foreign line: no such output")
        undo = damaged_copy(crawl, crawl.folder / crawl.out) if tail != "running" else None
        with path.open("ab") as file:
            before = file.tell()
            file.write((f'{{"note": "{FOREIGN}"}}\n' if path.suffix == ".jsonl" else f"{FOREIGN}\n").encode())
        crawl.foreign.append(path)

        def back() -> None:
            crawl.end_all()
            crawl.foreign.clear()
            if undo:
                undo()
            else:
                take_out(path)

        return Effect(f"a foreign line after byte {before} of {path.name} ({tail})", back, progress=60)

    return fault


def take_out(path: Path) -> None:
    """Remove the line of the other program, as a user would."""
    kept = b"".join(
        line for line in path.read_bytes().splitlines(keepends=True) if FOREIGN.encode() not in line
    )
    with path.open("r+b") as file:
        file.write(kept)
        file.truncate()


# resource limits of a process


def limited(name: str, kind: int, values: Sequence[int], unit: str) -> Fault:
    def fault(crawl: Crawl, rng: random.Random) -> Effect:
        crawl.kill()
        value = rng.choice(values)
        wide = ("--per-host", "8", "--delay", "0.02") if kind == resource.RLIMIT_NOFILE else ()
        crawl.start(crawl.words(*wide), limit=lambda: resource.setrlimit(kind, (value, value)))
        return Effect(
            f"{name} {value if unit == '' else f'{value >> 20} {unit}'}",
            crawl.end_all,
            progress=120,
            after=crawl.kill,
        )

    return fault


def disk_full(crawl: Crawl, rng: random.Random) -> Effect:
    """Fill the small disk for a while. Without a small disk, limit the size of files instead."""
    disk = crawl.base.parent
    if not os.path.ismount(disk):
        crawl.kill()
        size = rng.choice((20_000, 80_000, 200_000))
        crawl.start(limit=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
        return Effect(f"files of at most {size} bytes", crawl.end_all, progress=150, after=crawl.kill)
    balloon, leave = disk / "balloon", rng.choice((0, 4096, 65536, 300_000))
    with contextlib.suppress(OSError), balloon.open("wb") as file:
        room = os.statvfs(disk)
        os.posix_fallocate(file.fileno(), 0, max(1, room.f_bavail * room.f_frsize - leave))

    def free() -> None:
        balloon.unlink(missing_ok=True)

    return Effect(f"the disk is full but for {leave} bytes", free, progress=150, after=free)


# other writers


def second_door(crawl: Crawl, rng: random.Random) -> Effect:
    """Start the same command while the first is running."""
    run = crawl.start(apart=True)
    ended = ""
    try:
        code = run.process.wait(60)
        ended = f"ended with {code}: {(run.said().strip().splitlines() or ['(nothing said)'])[-1][:200]}"
    except subprocess.TimeoutExpired:
        run.process.kill()
        ended = "killed after 60 s"
    return Effect("the same command beside it", note=f"the second {ended}")


def other_crawl_same_output(crawl: Crawl, rng: random.Random) -> Effect:
    """Start a crawl with another data folder and the same outputs. The second crawl must be refused, or
    must wait."""
    was, crawl.data = crawl.data, f"data-of-another-{time.monotonic_ns()}"
    stopped, undo = rng.random() < 0.5, None
    if stopped:
        crawl.kill()
        undo = damaged_copy(crawl, crawl.folder / crawl.out)
    before = {one.pid for one in crawl.living()}
    run = crawl.start(crawl.words(name=rng.choice(("c", "other"))), apart=True)
    crawl.data = was
    try:
        code: int | None = run.process.wait(20)
    except subprocess.TimeoutExpired:
        code = None
    note = f"the other one: {code} {(run.said().strip().splitlines() or ['(nothing said)'])[-1][:200]}"
    for one in crawl.living():
        if one.pid not in before:
            with contextlib.suppress(ProcessLookupError):
                os.kill(one.pid, signal.SIGKILL)
    did = f"another crawl writes to the same outputs {'while this one is dead' if stopped else 'beside it'}"
    # rows after the end of this crawl belong to the other crawl
    if not stopped and crawl.run and crawl.run.code() == 0:
        crawl.run = None
        crawl.begin_anew()
        return Effect(did, note=f"{note}, after the end of this one")
    return Effect(did, undo, note=note, foreign_rows=True)


def read_only(what: str) -> Fault:
    """Make a folder read-only. Only root can do this, because it needs a read-only mount."""

    def fault(crawl: Crawl, rng: random.Random) -> Effect:
        crawl.kill()
        path = crawl.folder / getattr(crawl, what)
        words = [["mount", "--bind", str(path), str(path)], ["mount", "-o", "remount,bind,ro", str(path)]]
        if os.geteuid() or any(subprocess.run(one, capture_output=True).returncode for one in words):
            return Effect("read-only: not allowed here")

        def undo() -> None:
            crawl.end_all()
            subprocess.run(["umount", "-l", str(path)], capture_output=True)

        return Effect(f"{what} cannot be written to", undo, after=undo)

    return fault


LINKED = (
    "c/kept.json",
    "c/lock",
    "c/output.lock",
    "c/attempts.jsonl",
    "c/known.jsonl",
    "c/appends.jsonl",
    "store/server.lock",
    "store/run.json",
    "store/valkey.log",
    "store/doors.lock",
    "store/start.lock",
)


def link_planted(crawl: Crawl, rng: random.Random) -> Effect:
    """Replace a file of the data folder with a link to a file outside, to which the crawl must not write."""
    crawl.kill()
    name = rng.choice(LINKED)
    path, victim = crawl.folder / crawl.data / name, crawl.base / f"victim-{time.monotonic_ns()}"
    aside = victim.with_name(victim.name + ".aside")
    dangling = rng.random() < 0.3
    if not dangling:
        victim.write_bytes(b"precious\n")
        crawl.precious[victim] = b"precious\n"
    there = path.exists()
    if there:
        path.rename(aside)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(victim)

    def undo() -> None:
        crawl.end_all()
        path.unlink(missing_ok=True)
        if there:
            aside.rename(path)

    return Effect(f"{name} is a link to {'nothing' if dangling else 'a file'} outside", undo, progress=150)


# clocks


def clock_jumps(crawl: Crawl, rng: random.Random) -> Effect:
    """Set the crawl's clock back or forward while the crawl is running, and reset it later."""
    found = glob.glob(LIBRARY)
    if not found:
        return Effect("no faketime here")
    crawl.kill()
    file = crawl.base / f"clock-{time.monotonic_ns()}"
    file.write_text("+0\n")
    env = {
        "LD_PRELOAD": found[0],
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_TIMESTAMP_FILE": str(file),
        "FAKETIME_CACHE_DURATION": "1",
    }
    # libfaketime breaks time.sleep
    awake = "import select, time; time.sleep = lambda seconds: select.select([], [], [], seconds); "
    crawl.start(env=env, code=awake + MAIN)
    crawl.wait(crawl.requests() + 15)
    jump = rng.choice((-86400, -3600, -60, 60, 3600, 86400))
    file.write_text(f"{jump:+d}\n")
    crawl.wait(crawl.requests() + 25, still=10)
    file.write_text("+0\n")
    return Effect(f"the clock goes {jump:+d} s and back", after=crawl.kill, still=60)


FAULTS: dict[str, Fault] = {
    "kill_door": killed("door"),
    "kill_store": killed("store"),
    "kill_child": killed("child"),
    "kill_all": killed("all"),
    "kill_early": killed_early,
    "kill_torn": killed_in_commit("torn"),
    "kill_written": killed_in_commit("written"),
    "kill_settled": killed_in_commit("settled"),
    "ctrl_c": stopped_by_hand,
    "store_stands": stands("store"),
    "door_stands": stands("door"),
    "child_stands": stands("child"),
    "all_stand": stands("all"),
    "store_stands_kill": store_stands_then_kill,
    "store_stands_restart": store_stands_door_killed,
    "moved": moved("all", clean=False),
    "moved_clean": moved("all", clean=True),
    "moved_with_tail": moved_with_tail,
    "moved_data": moved("data", clean=False),
    "moved_output": moved("out", clean=False),
    "moved_running": moved_while_it_runs,
    "copied": copied(("-a",)),
    "copied_plain": copied(("-r",)),
    "copied_live": copied_live,
    "copied_live_killed": copied_live_and_killed,
    "data_behind_link": data_behind_a_link,
    "restored_data": restored("data"),
    "restored_output": restored("out"),
    "restored_both": restored("data", "out"),
    "aof_emptied": damaged_store("append-only file emptied", emptied),
    "aof_torn": damaged_store("append-only file torn", torn),
    "aof_zeros_after": damaged_store("append-only file", zeros_after),
    "aof_zeros_at_end": damaged_store("append-only file", zeros_at_end),
    "aof_flipped": damaged_store("append-only file", flipped),
    "aof_manifest_gone": damaged_store("gone", gone("store/appendonlydir/*.manifest")),
    "aof_manifest_filled": damaged_store("manifest", filled(b"", "store/appendonlydir/*.manifest")),
    "aof_base_gone": damaged_store("gone", gone("store/appendonlydir/*.base.*")),
    "aof_gone": damaged_store("gone", gone("store/appendonlydir")),
    "store_gone": damaged_store("gone", gone("store")),
    "data_gone": damaged_store("gone", gone("*")),
    "crawl_folder_gone": damaged_store("gone", gone("c")),
    "locks_gone": damaged_store("gone", gone("c/*lock", "store/*lock", "store/run.json")),
    "run_json_junk": damaged_store("junk", filled(b'{"pid": 1, "socket": "/nowhere"}', "store/run.json")),
    "kept_json_junk": damaged_store("junk", filled(b'{"sites": [', "c/kept.json")),
    "attempts_junk": damaged_store("junk", filled(b'\0\0{"ts": ', "c/attempts.jsonl")),
    "store_of_another": damaged_store("store", of_another_crawl),
    "flushed": flushed,
    "data_removed_running": removed_while_it_runs("data"),
    "output_removed_running": removed_while_it_runs("out"),
    "output_torn": damaged_output("torn", cut),
    "output_torn_running": damaged_output("torn while it runs", cut, running=True),
    "output_gone": damaged_output("gone", deleted),
    "output_replaced": damaged_output("replaced", replaced),
    "output_of_others": damaged_output("replaced", replaced_by_others),
    "output_edited": damaged_output("edited", edited, ("jsonl", "csv")),
    "row_removed": damaged_output("edited", row_removed, ("jsonl", "csv")),
    "line_appended": appended("killed"),
    "line_appended_running": appended("running"),
    "line_appended_tail": appended("tail"),
    "few_descriptors": limited(
        "descriptors", resource.RLIMIT_NOFILE, (20, 24, 32, 40, 48, 56, 64, 80, 96, 128, 256), ""
    ),
    "little_memory": limited(
        "memory", resource.RLIMIT_AS, [n << 20 for n in (150, 250, 350, 450, 600, 800)], "MiB"
    ),
    "small_files": limited("files of", resource.RLIMIT_FSIZE, [1 << 20, 2 << 20], "MiB"),
    "disk_full": disk_full,
    "second_door": second_door,
    "other_crawl": other_crawl_same_output,
    "link_planted": link_planted,
    "read_only_data": read_only("data"),
    "read_only_output": read_only("out"),
    "clock_jumps": clock_jumps,
}
"""All faults, in the order of this file."""
SOLID = [
    name
    for name in FAULTS
    if name not in ("copied_live", "copied_live_killed", "little_memory", "clock_jumps")
]


def deal(seed: int, each: int, kinds: Sequence[str] | None = None) -> list[tuple[int, str, Fault]]:
    """Return the numbered faults of a crawl. Consecutive crawls share a shuffled deck, so all faults occur
    equally often."""
    names = list(kinds or FAULTS)
    first, found = (seed - 1) * each, []
    for number in range(each):
        deck, at = divmod(first + number, len(names))
        order = names.copy()
        random.Random(f"deck {deck}").shuffle(order)
        found.append((number, order[at], FAULTS[order[at]]))
    return found
