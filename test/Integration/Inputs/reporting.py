"""What scripts that run many programs say of each."""

from example_sizes import HINT


def report(name, command, result):
    """Prints whether it passed, and all that a failure said; whether it failed."""
    failed = result.returncode != 0
    print(name, "FAILED" if failed else "passed", flush=True)
    if failed:
        print(" ".join(map(str, command)), result.stdout, result.stderr, sep="\n")
        if "imension" in result.stderr:
            print(HINT)
    return failed
