"""Writes the tables of docs/Performance.md from the results of benchmarks/forward.py and backward.py.

    python benchmarks/forward.py --json forward.json
    python benchmarks/backward.py --json backward.json
    python benchmarks/performance_tables.py forward.json backward.json --commit "$(git rev-parse --short HEAD)" --date 2026-11-29
    python benchmarks/plot_performance.py

Each table is the text between `<!-- NAME -->` and `<!-- end of NAME -->`.
"""

import argparse
import json
import math
import pathlib
import re

PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs" / "Performance.md"
#: Columns, by the names of the contestants in the JSON.
PEERS = {"cuDNN": "CUDNN_ATTENTION", "FLASH": "FLASH_ATTENTION"}
OURS = "fovea[auto]"


def cells_of(results):
    """Rates and errors by cell and contestant, in the order of the run."""
    cells = {}
    for row in results["rows"]:
        cells.setdefault(row["cell"], {})[row["name"]] = row["tflops"], row["error"]
    return cells


def error_text(error):
    return f"{error:.2e}".replace("e-0", "e-")


def table(results):
    lines = ["| head dim, tokens, mask | ours | " + " | ".join(PEERS) + " | of cuDNN | error | error of cuDNN |",
             "|---" * (5 + len(PEERS)) + "|"]
    ratios = {name: [] for name in PEERS}
    for cell, by_name in cells_of(results).items():
        ours, error = by_name[OURS]
        rates = {name: by_name[peer][0] for name, peer in PEERS.items()}
        for name, rate in rates.items():
            ratios[name].append(ours / rate)
        columns = [cell.replace(":", ", "), f"{ours:.0f}", *(f"{rate:.0f}" for rate in rates.values()), f"{ours / rates['cuDNN']:.2f}",
                   error_text(error), error_text(by_name[PEERS["cuDNN"]][1])]
        lines.append(f"| {' | '.join(columns)} |")
    means = ", ".join(f"{math.exp(sum(map(math.log, each)) / len(each)):.2f}x {name}" for name, each in ratios.items())
    return "\n".join(lines), f"Geometric means: {means}."


def replace(page, name, text):
    """The text of a page with another table `name`. Raises ValueError unless the page has one such table."""
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)", re.DOTALL)
    page, count = pattern.subn(lambda found: found[1] + text + found[2], page)
    if count != 1:
        raise ValueError(f"the page must have one table '{name}', found {count}")
    return page


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("forward", type=pathlib.Path, help="results of benchmarks/forward.py --json")
    parser.add_argument("backward", type=pathlib.Path, help="results of benchmarks/backward.py --json")
    parser.add_argument("--commit", required=True, help="the commit that was measured")
    parser.add_argument("--date", required=True, help="the day of the measurement")
    args = parser.parse_args()
    page = PAGE.read_text()
    for name in ("forward", "backward"):
        results = json.loads(getattr(args, name).read_text())
        rows, means = table(results)
        text = f"Commit `{args.commit}`, {args.date}, one run on {results['device'].split(', ')[0]}.\n\n{rows}\n\n{means}\n"
        try:
            page = replace(page, name, text)
        except ValueError as error:
            raise SystemExit(f"{PAGE}: {error}") from None
    PAGE.write_text(page)


if __name__ == "__main__":
    main()
