"""Output of scripts that run many programs."""

from example_sizes import HINT


def report(name, command, result):
    """Prints whether the run passed, with all output of a failure; returns whether it failed."""
    failed = result.returncode != 0
    print(name, "FAILED" if failed else "passed", flush=True)
    if failed:
        print(" ".join(map(str, command)), result.stdout, result.stderr, sep="\n")
        if "imension" in result.stderr:
            print(HINT)
    return failed
