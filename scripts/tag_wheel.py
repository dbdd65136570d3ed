"""Sets a wheel's platform tag: manylinux_X_Y for the oldest glibc with all symbols that its
libraries need. Package indexes require such a tag.

Usage: tag_wheel.py WHEEL...

Replaces the wheel by one with the new tag. Fails if a library needs a glibc later than 2.28 or
another library that Linux systems may lack.
"""

import base64
import hashlib
import io
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

#: The libraries that every Linux has: PEP 600 and the policy of manylinux_2_28.
LIBRARIES = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2"}
NEWEST = (2, 28)


def glibc_symbols(library):
    """The symbols that a library uses from glibc, as {(2, 27): [symbols]}."""
    listed = subprocess.run(["objdump", "-T", library], check=True, capture_output=True, text=True).stdout
    versions = {}
    for line in listed.splitlines():
        found = re.search(r"\*UND\*.*\(?GLIBC_([\d.]+)\)?\s+(\S+)$", line)
        if found:
            versions.setdefault(tuple(map(int, found[1].split("."))), []).append(found[2])
    return versions


def needed_libraries(library):
    """Names of the libraries that a library is linked with."""
    headers = subprocess.run(["objdump", "-p", library], check=True, capture_output=True, text=True).stdout
    return re.findall(r"NEEDED\s+(\S+)", headers)


def problems(library):
    """Yields the reasons why a library does not run on every recent Linux."""
    for version, symbols in sorted(glibc_symbols(library).items(), reverse=True):
        if version > NEWEST:
            yield f"{library.name} needs glibc {'.'.join(map(str, version))} for {', '.join(sorted(symbols))}"
    for name in needed_libraries(library):
        if name not in LIBRARIES:
            yield f"{library.name} needs {name}, which other machines may not have"


def libraries_of(wheel, folder):
    """The libraries of a wheel, unpacked."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if re.search(r"\.so(\.\d+)*$", name)]
        return [pathlib.Path(archive.extract(name, folder)) for name in names]


def record_line(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}"


def retag(wheel, platform):
    """Writes the wheel for another platform in the same folder and returns its path."""
    head, _, old = wheel.stem.rpartition("-")
    result = wheel.with_name(f"{head}-{platform}.whl")
    if old == platform:
        return wheel
    written = io.BytesIO()
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as target:
        facts = next(name for name in source.namelist() if name.endswith(".dist-info/WHEEL"))
        record = facts.replace("/WHEEL", "/RECORD")
        text = re.sub(rf"^(Tag: .*)-{re.escape(old)}$", rf"\1-{platform}", source.read(facts).decode(), flags=re.MULTILINE)
        listed = source.read(record).decode().splitlines()
        listed = [record_line(facts, text.encode()) if line.startswith(facts + ",") else line for line in listed]
        replaced = {facts: text, record: "\n".join(listed) + "\n"}
        for entry in source.infolist():
            target.writestr(entry, replaced.get(entry.filename, source.read(entry)), zipfile.ZIP_DEFLATED)
    wheel.unlink()
    result.write_bytes(written.getvalue())
    return result


def main():
    for argument in sys.argv[1:]:
        wheel = pathlib.Path(argument)
        with tempfile.TemporaryDirectory() as folder:
            libraries = libraries_of(wheel, folder)
            if not libraries:
                sys.exit(f"{wheel.name} contains no library")
            found = [problem for library in libraries for problem in problems(library)]
            if found:
                sys.exit("\n".join(found))
            version = max(max(glibc_symbols(library)) for library in libraries)
        print(retag(wheel, f"manylinux_{version[0]}_{version[1]}_x86_64"))


if __name__ == "__main__":
    main()
