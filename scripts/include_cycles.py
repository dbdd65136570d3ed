"""Lists cycles of the #include graph of lib, include and tools, by unit.

Usage: include_cycles.py [--root=FOLDER] [--graph]

A unit is a header with the source files that implement it: those of the same name in the header's
folder or, for a header in a folder of `include/fovea`, in that folder of `lib` or below. Two or more
units that include each other, directly or not, are an error; each such component is printed with
the #include lines between its units. With `--graph`, every edge between units is printed first. The
exit code is 1 if there are cycles.
"""

import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDERS = ("lib", "include", "tools")
SUFFIXES = {".h", ".c", ".cpp"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+["<]([^">]+)[">]', re.M)


def resolve(name, file, root, headers):
    """The header that an #include names, or None for one of another project or a generated one.

    Libraries add their own folder to the include path, so folders above the file count; a library
    that adds another one's folder is found by the name, if only one header has it.
    """
    folders = [folder for folder in file.parents if root in folder.parents]
    for folder in [*folders, root / "include"]:
        if folder / name in headers:
            return folder / name
    named = [header for header in headers if header.parts[-len(pathlib.PurePath(name).parts):] == pathlib.PurePath(name).parts]
    return named[0] if len(named) == 1 else None


def include_lines(root):
    """The headers each file includes, with the first line that does so: {file: {header: line}}."""
    files = sorted(path for folder in FOLDERS for path in (root / folder).rglob("*") if path.suffix in SUFFIXES)
    headers = {path for path in files if path.suffix == ".h"}
    result = {}
    for path in files:
        text, found = path.read_text(), {}
        for include in INCLUDE.finditer(text):
            header = resolve(include[1], path, root, headers)
            if header and header != path:
                found.setdefault(header, text.count("\n", 0, include.start()) + 1)
        result[path] = found
    return result


def header_of(source, headers, root):
    """The header that a source file implements, or None."""
    public, sources = root / "include" / "fovea", root / "lib"
    folders = [source.parent]
    if sources in source.parents:
        below = source.relative_to(sources).parent
        folders += [public / folder for folder in (below, *below.parents)]
    return next((folder / f"{source.stem}.h" for folder in folders if folder / f"{source.stem}.h" in headers), None)


def units(files, root):
    """The unit of each file: a path without a suffix, relative to the root."""
    headers = {path for path in files if path.suffix == ".h"}
    named = {path: path if path in headers else header_of(path, headers, root) or path for path in files}
    return {path: header.relative_to(root).with_suffix("").as_posix() for path, header in named.items()}


def edges(includes, unit):
    """The #include lines from one unit to another: {unit: {unit: [(file, line, header)]}}."""
    graph = {name: {} for name in sorted(set(unit.values()))}
    for path, headers in includes.items():
        for header, line in headers.items():
            if unit[path] != unit[header]:
                graph[unit[path]].setdefault(unit[header], []).append((path, line, header))
    return graph


def components(graph):
    """Strongly connected components of two or more nodes, by Tarjan's algorithm without recursion."""
    index, low, open_nodes, found = {}, {}, [], []
    for root in graph:
        if root in index:
            continue
        index[root] = low[root] = len(index)
        open_nodes.append(root)
        path = [(root, iter(graph[root]))]
        while path:
            node, rest = path[-1]
            for target in rest:
                if target not in index:
                    index[target] = low[target] = len(index)
                    open_nodes.append(target)
                    path.append((target, iter(graph[target])))
                    break
                if target in open_nodes:
                    low[node] = min(low[node], index[target])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == index[node]:
                    start = open_nodes.index(node)
                    if len(open_nodes) - start > 1:
                        found.append(sorted(open_nodes[start:]))
                    del open_nodes[start:]
    return sorted(found)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=ROOT, help="the folder that has lib, include and tools")
    parser.add_argument("--graph", action="store_true", help="print every edge between units")
    options = parser.parse_args(arguments)
    root = options.root.resolve()
    includes = include_lines(root)
    graph = edges(includes, units(includes, root))
    if options.graph:
        for name, targets in graph.items():
            for target in sorted(targets):
                print(f"{name} -> {target}")
    cycles = components(graph)
    for cycle in cycles:
        print(f"cycle of {len(cycle)} units: {', '.join(cycle)}")
        for name in cycle:
            for target in sorted(set(graph[name]) & set(cycle)):
                for path, line, header in graph[name][target]:
                    print(f"  {path.relative_to(root)}:{line}: includes {header.relative_to(root)}")
    print(f"{len(includes)} files, {len(graph)} units, {len(cycles)} cycles")
    return 1 if cycles else 0


if __name__ == "__main__":
    sys.exit(main())
